# truth: healthy
# what: sqlite3 fills a table, indexes and joins it
# needs: sqlite3
# small: yes
cat >script <<'S'
CREATE TABLE t(a INTEGER, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) INSERT INTO t SELECT i, 'text ' || i FROM n;
CREATE INDEX i ON t(b);
SELECT count(*) FROM t JOIN t AS u ON t.b = u.b WHERE t.a % 7 = 0;
S
record sqlite3 base ".read script" >/dev/null
