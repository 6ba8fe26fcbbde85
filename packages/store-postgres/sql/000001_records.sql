-- The records, the fences, and the index by which the sweep finds what has expired.
-- {{table}}, {{fences}} and {{sweepIndex}} are replaced by checked and quoted names; this runs inside a PL/pgSQL block.

CREATE SEQUENCE {{fences}} AS bigint;

CREATE TABLE {{table}} (
  -- When claim, find, list and sweep take the record for absent.
  expires_at timestamptz NOT NULL,
  -- Never later than expires_at. Only this column is indexed, and it lags behind within a minute, because an update of an
  -- indexed column costs new entries in every index (no HOT).
  sweep_after timestamptz NOT NULL,
  lease_until timestamptz NOT NULL,
  claimed_at timestamptz NOT NULL,
  completed_at timestamptz,
  fence bigint NOT NULL,
  retain_ms bigint NOT NULL,
  attempt integer NOT NULL,
  taken_over boolean NOT NULL,
  -- Somebody waits for this record: whoever changes it notifies.
  watched boolean NOT NULL DEFAULT false,
  id text COLLATE "C" NOT NULL CONSTRAINT {{primaryKey}} PRIMARY KEY,
  -- NULL: released; the row stays for its steps until expires_at.
  token text COLLATE "C",
  fingerprint text COLLATE "C" NOT NULL,
  label text COLLATE "C",
  -- Steps live in the record's own row, so that whoever locks the row sees all of them, whatever its snapshot.
  step_names text[] COLLATE "C" NOT NULL DEFAULT '{}',
  step_results bytea[] NOT NULL DEFAULT '{}',
  outcome bytea
-- Room on each page for the version that complete writes; empty pages stay, so that a cached plan never turns to a
-- sequential scan because the table was small for a moment.
) WITH (fillfactor = 70, vacuum_truncate = false);

CREATE INDEX {{sweepIndex}} ON {{table}} (sweep_after);
