-- The record with its outcome; no row when it is absent.
-- $1 id
SELECT {{record}}, r.outcome
FROM {{table}} r
WHERE r.id = $1{{own}} AND r.token IS NOT NULL AND r.expires_at > statement_timestamp()
