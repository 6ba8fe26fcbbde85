-- Makes the caller the runner, or tells who is. No row: another claim came in between; ask again.
-- $1 id, $2 token, $3 fingerprint, $4 leaseMs, $5 retainMs, $6 takeover, $7 label
WITH known AS MATERIALIZED (
  -- Whoever may not have the record gets its answer from here, and nothing is written.
  SELECT
    CASE WHEN r.completed_at IS NOT NULL THEN 'completed'
         WHEN r.lease_until > statement_timestamp() THEN 'running'
         ELSE 'abandoned' END AS state,
    r.fence, r.attempt, r.fingerprint, r.lease_until, r.completed_at, r.expires_at, r.outcome
  FROM {{table}} r
  WHERE r.id = $1{{own}} AND r.expires_at > statement_timestamp() AND r.token IS NOT NULL
    AND (r.completed_at IS NOT NULL
      OR r.token <> $2 AND (r.lease_until > statement_timestamp() OR NOT $6::boolean OR r.fingerprint <> $3))
), turn AS MATERIALIZED (
  -- One claim of an id at a time, so that fences are given in the order of the claims.
  SELECT pg_advisory_xact_lock(hashtextextended('onceward claim {{table}} ' || $1, 0)) WHERE NOT EXISTS (SELECT FROM known)
), taken AS (
  INSERT INTO {{table}} AS r (
    expires_at, sweep_after, lease_until, claimed_at, fence, retain_ms, attempt, taken_over, id, token, fingerprint, label)
  SELECT
    statement_timestamp() + greatest($4::float8, $5::float8) * interval '1 millisecond',
    statement_timestamp() + greatest($4::float8, $5::float8) * interval '1 millisecond',
    statement_timestamp() + $4::float8 * interval '1 millisecond',
    statement_timestamp(),
    nextval('{{fences}}'), $5::float8, 1, false, $1, $2, $3, $7
  FROM turn
  ON CONFLICT ({{key}}) DO UPDATE SET
    -- The conditions are spelled out again: here they are about the newest version of the row, now locked.
    fence = CASE WHEN r.token = excluded.token AND r.expires_at > excluded.claimed_at THEN r.fence ELSE excluded.fence END,
    claimed_at = CASE WHEN r.token = excluded.token AND r.expires_at > excluded.claimed_at THEN r.claimed_at ELSE excluded.claimed_at END,
    attempt = CASE WHEN r.expires_at <= excluded.claimed_at THEN 1
                   WHEN r.token = excluded.token THEN r.attempt
                   WHEN r.fingerprint = excluded.fingerprint THEN r.attempt + 1
                   ELSE 1 END,
    taken_over = CASE WHEN r.expires_at <= excluded.claimed_at OR r.token IS NULL THEN false
                      WHEN r.token = excluded.token THEN r.taken_over
                      ELSE true END,
    step_names = CASE WHEN r.expires_at > excluded.claimed_at AND (r.token = excluded.token OR r.fingerprint = excluded.fingerprint)
                      THEN r.step_names ELSE '{}' END,
    step_results = CASE WHEN r.expires_at > excluded.claimed_at AND (r.token = excluded.token OR r.fingerprint = excluded.fingerprint)
                        THEN r.step_results ELSE '{}' END,
    expires_at = excluded.expires_at,
    sweep_after = excluded.sweep_after,
    lease_until = excluded.lease_until,
    completed_at = NULL,
    retain_ms = excluded.retain_ms,
    token = excluded.token,
    fingerprint = excluded.fingerprint,
    label = excluded.label,
    outcome = NULL
  WHERE r.expires_at <= excluded.claimed_at OR r.token IS NULL
    OR r.completed_at IS NULL AND (r.token = excluded.token
      OR r.lease_until <= excluded.claimed_at AND $6 AND r.fingerprint = excluded.fingerprint)
  RETURNING r.fence, r.attempt, r.taken_over, r.step_names, r.step_results,
    CASE WHEN r.watched THEN pg_notify('{{channel}}', r.id) END
)
SELECT state, fence, attempt, false AS taken_over, NULL::text[] AS step_names, NULL::bytea[] AS step_results, fingerprint,
  extract(epoch FROM lease_until - statement_timestamp()) * 1000 AS lease_remaining_ms,
  extract(epoch FROM completed_at) * 1000 AS completed_at, extract(epoch FROM expires_at) * 1000 AS expires_at, outcome
FROM known
UNION ALL
SELECT 'claimed', fence, attempt, taken_over, step_names, step_results, NULL, NULL, NULL, NULL, NULL
FROM taken
