-- Ends the claim without an outcome. One row: done.
-- $1 id, $2 token
-- Locked first: what a step that came in between has added is seen by both ways to end.
WITH mine AS MATERIALIZED (
  SELECT r.id, r.owner, cardinality(r.step_names) > 0 AS has_steps FROM {{table}} r
  WHERE r.id = $1 AND r.owner = {{owner}} AND r.token = $2 AND r.completed_at IS NULL AND r.expires_at > statement_timestamp()
  FOR UPDATE
), gone AS (
  DELETE FROM {{table}} r USING mine WHERE r.id = mine.id AND r.owner = mine.owner AND NOT mine.has_steps
  RETURNING CASE WHEN r.watched THEN pg_notify('{{channel}}', r.id) END
), kept AS (
  UPDATE {{table}} r SET
    token = NULL,
    expires_at = statement_timestamp() + r.retain_ms * interval '1 millisecond',
    sweep_after = statement_timestamp() + r.retain_ms * interval '1 millisecond'
  FROM mine WHERE r.id = mine.id AND r.owner = mine.owner AND mine.has_steps
  RETURNING CASE WHEN r.watched THEN pg_notify('{{channel}}', r.id) END
)
SELECT * FROM gone UNION ALL SELECT * FROM kept
