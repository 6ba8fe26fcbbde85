-- Stores the outcome of a record that is running. One row: done. No row: see completed.sql.
-- $1 id, $2 token, $3 outcome, $4 ttlMs
UPDATE {{table}} r SET
  outcome = $3,
  completed_at = statement_timestamp(),
  expires_at = statement_timestamp() + $4::float8 * interval '1 millisecond',
  -- Since the claim, which set it, at most a minute has passed: near enough.
  sweep_after = CASE
    WHEN r.retain_ms = $4::float8 AND r.claimed_at > statement_timestamp() - interval '1 minute' THEN r.sweep_after
    ELSE statement_timestamp() + $4::float8 * interval '1 millisecond' END,
  step_names = '{}',
  step_results = '{}'
WHERE r.id = $1 AND r.owner = {{owner}} AND r.token = $2 AND r.completed_at IS NULL AND r.expires_at > statement_timestamp()
RETURNING CASE WHEN r.watched THEN pg_notify('{{channel}}', r.id) END
