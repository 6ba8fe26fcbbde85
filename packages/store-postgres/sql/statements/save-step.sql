-- Records a step's result, or replaces it. One row: done.
-- $1 id, $2 token, $3 name, $4 result
UPDATE {{table}} r SET
  step_names = CASE WHEN $3::text = ANY (r.step_names) THEN r.step_names ELSE array_append(r.step_names, $3::text) END,
  step_results = CASE
    WHEN $3::text = ANY (r.step_names)
    THEN array_append(r.step_results[:array_position(r.step_names, $3::text) - 1], $4::bytea)
      || r.step_results[array_position(r.step_names, $3::text) + 1:]
    ELSE array_append(r.step_results, $4::bytea) END
WHERE r.id = $1 AND r.owner = {{owner}} AND r.token = $2 AND r.completed_at IS NULL AND r.expires_at > statement_timestamp()
RETURNING r.fence
