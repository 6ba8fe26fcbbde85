-- The record with its outcome; no row when it is absent.
-- $1 id
SELECT {{record}}, r.outcome
FROM {{table}} r
WHERE r.id = $1 AND r.owner = {{owner}} AND r.token IS NOT NULL AND r.expires_at > statement_timestamp()
