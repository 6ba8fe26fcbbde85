-- Starts the lease and the retention anew. One row: done.
-- $1 id, $2 token, $3 leaseMs
UPDATE {{table}} r SET
  lease_until = statement_timestamp() + $3::float8 * interval '1 millisecond',
  expires_at = statement_timestamp() + greatest($3::float8, r.retain_ms) * interval '1 millisecond',
  sweep_after = CASE
    WHEN statement_timestamp() + greatest($3::float8, r.retain_ms) * interval '1 millisecond'
      BETWEEN r.sweep_after AND r.sweep_after + interval '1 minute'
    THEN r.sweep_after
    ELSE statement_timestamp() + greatest($3::float8, r.retain_ms) * interval '1 millisecond' END
WHERE r.id = $1 AND r.owner = {{owner}} AND r.token = $2 AND r.completed_at IS NULL AND r.expires_at > statement_timestamp()
RETURNING r.fence
