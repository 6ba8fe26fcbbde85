-- Joins the sweep when records are to be moved and not deleted.
, archived AS (
  INSERT INTO {{archive}} ({{archiveColumns}})
  SELECT {{archiveColumns}} FROM gone
)
