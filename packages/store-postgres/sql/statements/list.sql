-- A page of at most $2 rows, of which those that match are returned, and last the id at which the next page begins (in a
-- row of its own, without a fence). Whatever the filter, the work is bounded. No row: that was all.
-- $1 id after which the page begins, $2 rows to look at, $3 state or NULL
WITH page AS MATERIALIZED (
  SELECT r.* FROM {{table}} r WHERE r.id > $1 AND r.owner = {{owner}} ORDER BY r.id LIMIT $2::int
)
SELECT {{record}}
FROM page r
WHERE r.token IS NOT NULL AND r.expires_at > statement_timestamp()
  AND ($3::text IS NULL OR $3::text = {{state}})
UNION ALL
SELECT NULL, max(r.id), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM page r HAVING count(*) > 0
