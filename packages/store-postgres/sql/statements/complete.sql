-- Stores the outcome. One row: done, now or before by the same token.
-- $1 id, $2 token, $3 outcome, $4 ttlMs
UPDATE {{table}} r SET
  -- A repeated complete meets a completed record and must change nothing.
  outcome = CASE WHEN r.completed_at IS NULL THEN $3::bytea ELSE r.outcome END,
  expires_at = CASE WHEN r.completed_at IS NULL THEN statement_timestamp() + $4::float8 * interval '1 millisecond' ELSE r.expires_at END,
  sweep_after = CASE
    WHEN r.completed_at IS NOT NULL
      OR statement_timestamp() + $4::float8 * interval '1 millisecond' BETWEEN r.sweep_after AND r.sweep_after + interval '1 minute'
    THEN r.sweep_after
    ELSE statement_timestamp() + $4::float8 * interval '1 millisecond' END,
  completed_at = coalesce(r.completed_at, statement_timestamp()),
  step_names = '{}',
  step_results = '{}'
WHERE r.id = $1 AND r.owner = {{owner}} AND r.token = $2 AND r.expires_at > statement_timestamp()
RETURNING CASE WHEN r.watched THEN pg_notify('{{channel}}', r.id) END
