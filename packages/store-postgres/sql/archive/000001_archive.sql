-- Where the sweep moves expired records, one row for each life of a record. Nobody sweeps it but you.

CREATE TABLE {{archive}} (
  archived_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  expires_at timestamptz NOT NULL,
  claimed_at timestamptz NOT NULL,
  completed_at timestamptz,
  fence bigint NOT NULL,
  attempt integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  label text COLLATE "C",
  step_names text[] COLLATE "C" NOT NULL,
  step_results bytea[] NOT NULL,
  outcome bytea
);
