-- Makes the caller the runner, or tells who is. NULL: another claim came in between; ask again.
-- LIMIT 1 makes the first half an answer without a write, at little more than the cost of a lookup by key; an INSERT in
-- this statement would be set up, at the threefold cost, for every replay too.
-- $1 id, $2 token, $3 fingerprint, $4 leaseMs, $5 retainMs, $6 takeover, $7 label
SELECT
  concat_ws(' ', r.fingerprint, r.fence, r.attempt, date_part('epoch', r.lease_until - statement_timestamp()),
    date_part('epoch', r.expires_at), date_part('epoch', r.completed_at)) AS head,
  r.outcome
FROM {{table}} r
WHERE r.id = $1 AND r.owner = {{owner}} AND r.token IS NOT NULL AND r.expires_at > statement_timestamp()
  AND (r.completed_at IS NOT NULL OR r.lease_until > statement_timestamp() AND r.token <> $2)
UNION ALL
SELECT {{take}}($1, {{owner}}, $2, $3, $4, $5, $6, $7, '{{channel}}'), NULL
LIMIT 1
