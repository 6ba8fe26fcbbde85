-- The newest migration of each track that this table has seen.
SELECT track, max(version) FROM {{ledger}} GROUP BY track
