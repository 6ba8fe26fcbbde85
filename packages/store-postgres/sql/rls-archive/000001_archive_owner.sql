-- What sql/rls does for the records, for the archive.

ALTER TABLE {{archive}} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_only ON {{archive}} USING (owner = {{owner}}) WITH CHECK (owner = {{owner}});
