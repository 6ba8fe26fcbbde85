-- What sql/rls does to the records, for the archive.

ALTER TABLE {{archive}}
  ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT {{owner}},
  ENABLE ROW LEVEL SECURITY,
  FORCE ROW LEVEL SECURITY;

CREATE POLICY owner_only ON {{archive}} USING (owner = {{owner}}) WITH CHECK (owner = {{owner}});
