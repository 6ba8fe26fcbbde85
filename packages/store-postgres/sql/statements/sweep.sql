-- Deletes a batch of expired records; says how many. Rows that somebody works on are left for another time, and so is
-- everything while another instance sweeps.
-- $1 limit
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended('onceward sweep {{table}}', 0)) AS mine
), due AS MATERIALIZED (
  SELECT r.id, r.owner FROM {{table}} r
  WHERE (SELECT mine FROM turn) AND r.sweep_after <= statement_timestamp() AND r.expires_at <= statement_timestamp()
    AND r.owner = {{owner}}
  ORDER BY r.sweep_after
  LIMIT $1::int
  FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM {{table}} r USING due WHERE r.id = due.id AND r.owner = due.owner
  RETURNING r.*, CASE WHEN r.watched AND r.completed_at IS NULL THEN pg_notify('{{channel}}', r.id) END
){{archived}} SELECT count(*) FROM gone
