# truth: healthy
# what: mariadbd makes a table and joins it
# needs: mariadbd mariadb-install-db mariadb
mariadb-install-db --user=root --datadir=$PWD/d --auth-root-authentication-method=normal >/dev/null 2>&1 || skip "no database"
record mariadbd --no-defaults --user=root --datadir=$PWD/d --socket=$PWD/s --skip-networking --pid-file=$PWD/pid >log 2>&1 &
for i in $(seq 200); do mariadb -S $PWD/s -u root -e 'select 1' >/dev/null 2>&1 && break; sleep 0.1; done
mariadb -S $PWD/s -u root -e 'create database t; use t; create table a(i int primary key, m char(32)); insert into a select seq, md5(seq) from seq_1_to_20000; create index x on a(m); select count(*) from a join a b using(m); select sum(length(a.m)) from a order by m;'
kill $(cat pid); wait
