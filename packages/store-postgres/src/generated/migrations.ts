// Made from sql/ by `pnpm generate`; edit the .sql files.

export const migrations = [
  {
    "track": "records",
    "version": 1,
    "name": "000001_records",
    "sql": "-- The records, the fences, and the index by which the sweep finds what has expired.\n-- {{table}}, {{fences}} and {{sweepIndex}} are replaced by checked and quoted names; this runs inside a PL/pgSQL block.\n\nCREATE SEQUENCE {{fences}} AS bigint;\n\nCREATE TABLE {{table}} (\n  -- When claim, find, list and sweep take the record for absent.\n  expires_at timestamptz NOT NULL,\n  -- Never later than expires_at. Only this column is indexed, and it lags behind within a minute, because an update of an\n  -- indexed column costs new entries in every index (no HOT).\n  sweep_after timestamptz NOT NULL,\n  lease_until timestamptz NOT NULL,\n  claimed_at timestamptz NOT NULL,\n  completed_at timestamptz,\n  fence bigint NOT NULL,\n  retain_ms bigint NOT NULL,\n  attempt integer NOT NULL,\n  taken_over boolean NOT NULL,\n  -- Somebody waits for this record: whoever changes it notifies.\n  watched boolean NOT NULL DEFAULT false,\n  id text COLLATE \"C\" NOT NULL CONSTRAINT {{primaryKey}} PRIMARY KEY,\n  -- NULL: released; the row stays for its steps until expires_at.\n  token text COLLATE \"C\",\n  fingerprint text COLLATE \"C\" NOT NULL,\n  label text COLLATE \"C\",\n  -- Steps live in the record's own row, so that whoever locks the row sees all of them, whatever its snapshot.\n  step_names text[] COLLATE \"C\" NOT NULL DEFAULT '{}',\n  step_results bytea[] NOT NULL DEFAULT '{}',\n  outcome bytea\n-- Room on each page for the version that complete writes; empty pages stay, so that a cached plan never turns to a\n-- sequential scan because the table was small for a moment.\n) WITH (fillfactor = 70, vacuum_truncate = false);\n\nCREATE INDEX {{sweepIndex}} ON {{table}} (sweep_after);"
  },
  {
    "track": "archive",
    "version": 1,
    "name": "000001_archive",
    "sql": "-- Where the sweep moves expired records, one row for each life of a record. Nobody sweeps it but you.\n\nCREATE TABLE {{archive}} (\n  archived_at timestamptz NOT NULL DEFAULT statement_timestamp(),\n  expires_at timestamptz NOT NULL,\n  claimed_at timestamptz NOT NULL,\n  completed_at timestamptz,\n  fence bigint NOT NULL,\n  attempt integer NOT NULL,\n  id text COLLATE \"C\" NOT NULL,\n  fingerprint text COLLATE \"C\" NOT NULL,\n  label text COLLATE \"C\",\n  step_names text[] COLLATE \"C\" NOT NULL,\n  step_results bytea[] NOT NULL,\n  outcome bytea\n);"
  },
  {
    "track": "rls",
    "version": 1,
    "name": "000001_records_owner",
    "sql": "-- Records belong to whoever made them, and nobody else sees, changes or even meets them: the owner joins the key.\n-- {{owner}} says who asks: the role, or a setting that the application makes.\n\nALTER TABLE {{table}}\n  ADD COLUMN owner text COLLATE \"C\" NOT NULL DEFAULT {{owner}},\n  DROP CONSTRAINT {{primaryKey}},\n  ADD CONSTRAINT {{primaryKey}} PRIMARY KEY (id, owner),\n  ENABLE ROW LEVEL SECURITY,\n  FORCE ROW LEVEL SECURITY;\n\nCREATE POLICY owner_only ON {{table}} USING (owner = {{owner}}) WITH CHECK (owner = {{owner}});"
  },
  {
    "track": "rls-archive",
    "version": 1,
    "name": "000001_archive_owner",
    "sql": "-- What sql/rls does to the records, for the archive.\n\nALTER TABLE {{archive}}\n  ADD COLUMN owner text COLLATE \"C\" NOT NULL DEFAULT {{owner}},\n  ENABLE ROW LEVEL SECURITY,\n  FORCE ROW LEVEL SECURITY;\n\nCREATE POLICY owner_only ON {{archive}} USING (owner = {{owner}}) WITH CHECK (owner = {{owner}});"
  }
] as const;
