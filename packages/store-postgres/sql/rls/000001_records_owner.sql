-- Records belong to whoever made them, and nobody else sees, changes or even meets them: the owner joins the key.
-- {{owner}} says who asks: the role, or a setting that the application makes.

ALTER TABLE {{table}}
  ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT {{owner}},
  DROP CONSTRAINT {{primaryKey}},
  ADD CONSTRAINT {{primaryKey}} PRIMARY KEY (id, owner),
  ENABLE ROW LEVEL SECURITY,
  FORCE ROW LEVEL SECURITY;

CREATE POLICY owner_only ON {{table}} USING (owner = {{owner}}) WITH CHECK (owner = {{owner}});
