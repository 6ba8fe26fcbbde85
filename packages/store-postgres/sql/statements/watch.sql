-- Asks to be notified. One row: the record still runs under that fence, and whoever changes it will notify.
-- Locked first, so that the answer is about the record as it is now: marks that others make meanwhile count.
-- $1 id, $2 fence
WITH running AS MATERIALIZED (
  SELECT r.id, r.owner, r.watched FROM {{table}} r
  WHERE r.id = $1 AND r.owner = {{owner}} AND r.fence = $2::bigint AND r.token IS NOT NULL AND r.completed_at IS NULL
    AND r.expires_at > statement_timestamp()
  FOR NO KEY UPDATE
), marked AS (
  UPDATE {{table}} r SET watched = true
  FROM running WHERE r.id = running.id AND r.owner = running.owner AND NOT running.watched
)
SELECT 1 FROM running
