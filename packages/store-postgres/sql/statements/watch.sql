-- Asks to be notified. One row: the record still runs under that fence, and whoever changes it will notify.
-- $1 id, $2 fence
WITH marked AS (
  UPDATE {{table}} r SET watched = true
  WHERE r.id = $1 AND r.owner = {{owner}} AND r.fence = $2::bigint AND r.token IS NOT NULL AND r.completed_at IS NULL
    AND r.expires_at > statement_timestamp() AND NOT r.watched
  RETURNING r.fence
)
SELECT fence FROM marked
UNION ALL
-- Marked before: no second write.
SELECT r.fence FROM {{table}} r
WHERE r.id = $1 AND r.owner = {{owner}} AND r.fence = $2::bigint AND r.token IS NOT NULL AND r.completed_at IS NULL
  AND r.expires_at > statement_timestamp() AND r.watched
