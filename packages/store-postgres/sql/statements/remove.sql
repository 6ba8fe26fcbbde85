-- Forgets the record. One row that says whether there was one to find.
-- $1 id
DELETE FROM {{table}} r
WHERE r.id = $1 AND r.owner = {{owner}}
RETURNING r.token IS NOT NULL AND r.expires_at > statement_timestamp() AS found,
  CASE WHEN r.watched THEN pg_notify('{{channel}}', r.id) END
