-- Asked when complete found nothing to do. One row: this token has completed the record before.
-- $1 id, $2 token
SELECT r.fence FROM {{table}} r
WHERE r.id = $1 AND r.owner = {{owner}} AND r.token = $2 AND r.completed_at IS NOT NULL AND r.expires_at > statement_timestamp()
