# sqlite3: a million rows, indices, joins, a full-text index, JSON
echo "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO t SELECT i, hex(i * 7919), i * 0.5 FROM n;
CREATE INDEX ti ON t(b); CREATE VIRTUAL TABLE f USING fts5(text); INSERT INTO f SELECT b FROM t LIMIT 20000;
SELECT count(*), sum(c) FROM t JOIN t AS u USING (b); SELECT count(*) FROM f WHERE f MATCH '3*';
SELECT json_group_array(b) FROM (SELECT b FROM t ORDER BY c DESC LIMIT 5); PRAGMA integrity_check; SELECT nope;" >input
same memory sqlite3 :memory:
same cli sqlite3 -header -column :memory: "SELECT sqlite_version() <> '' AS version; EXPLAIN QUERY PLAN SELECT 1"
