-- Ends the claim without an outcome. One row: done.
-- $1 id, $2 token
UPDATE {{table}} r SET
  token = NULL,
  -- Without steps there is nothing to keep: absent from now on, and the next sweep's.
  expires_at = statement_timestamp()
    + CASE WHEN cardinality(r.step_names) = 0 THEN 0 ELSE r.retain_ms END * interval '1 millisecond',
  sweep_after = statement_timestamp()
    + CASE WHEN cardinality(r.step_names) = 0 THEN 0 ELSE r.retain_ms END * interval '1 millisecond'
WHERE r.id = $1 AND r.owner = {{owner}} AND r.token = $2 AND r.completed_at IS NULL AND r.expires_at > statement_timestamp()
RETURNING CASE WHEN r.watched THEN pg_notify('{{channel}}', r.id) END
