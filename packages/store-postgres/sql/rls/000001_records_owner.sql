-- Nobody sees, changes or even meets the records of another: the owner is part of the key.
-- {{owner}} says who asks: the role, or a setting that the application makes.

ALTER TABLE {{table}} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_only ON {{table}} USING (owner = {{owner}}) WITH CHECK (owner = {{owner}});
