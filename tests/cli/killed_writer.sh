# Whoever writes a file is killed in the middle of it: there is no file then, and nothing beside it.
. "$HERE/lib.sh"
tidemark record -q -o run.tmk "$VICTIMS/basic" >/dev/null 2>&1
mkdir place
export TMPDIR=$PWD/place

# The kernel kills at the first write behind so many KiB.
killed() { # KIB COMMAND…
    echo "--- $2"
    {
        (
            ulimit -c 0 -f "$1"
            shift
            exec tidemark "$@" >/dev/null 2>&1
        )
    } 2>/dev/null
    echo "status $?, $(ls place | wc -l) files"
}
killed 64 unpack run.tmk place/rows.db
killed 64 query run.tmk 'SELECT count(*) FROM path'
killed 64 export --to sqlite -o place/rows.db run.tmk
killed 1 export --to chrome -o place/run.chrome run.tmk
killed 1 html -o place/run.html run.tmk
tidemark export --to heaptrack -o run.heaptrack run.tmk 2>/dev/null
killed 4 import -o place/run.tmk run.heaptrack
for i in {1..40}; do # at any moment
    tidemark import -o place/run.tmk run.heaptrack >/dev/null 2>&1 &
    sleep 0.0$((RANDOM % 6))$((RANDOM % 10))
    kill -KILL $!
    wait $!
    ls place | grep -vx run.tmk
    [ ! -e place/run.tmk ] || tidemark report place/run.tmk >/dev/null || echo "it is not whole"
    rm -f place/*
done 2>/dev/null
touch empty
tidemark import -o empty run.heaptrack 2>/dev/null || echo "it is there too"

echo "--- whole ones"
tidemark export --to sqlite -o place/rows.db run.tmk 2>/dev/null
tidemark export --to jsonl -o place/run.json run.tmk 2>/dev/null
chmod 600 place/run.json
tidemark export --to jsonl -o place/run.json run.tmk 2>/dev/null || echo "it is there"
(umask 027; tidemark export --to jsonl --force -o place/run.json run.tmk 2>/dev/null)
stat -c '%a %n' place/*

# The program runs on, and what it counted goes all the same.
echo "--- count and doctor"
gone() { # DIRECTORY…
    local tries=0
    while ls -d "$@" >/dev/null 2>&1; do
        [ $((tries += 1)) -le 1200 ] || { echo "left: $*"; return; }
        sleep 0.1
    done
}
tidemark count sh -c 'echo $TIDEMARK_COUNT_DIRECTORY >made; mv made where; exec sleep 20' 2>/dev/null &
counter=$!
until [ -s where ]; do sleep 0.01; done
[ -d "$(cat where)" ] || echo "no directory"
sleeper=$(pgrep -P $counter)
kill_hard $counter
gone "$(cat where)"
kill -0 "$sleeper" && kill "$sleeper"
rm -f place/*
for i in {1..15}; do
    setsid tidemark doctor >/dev/null 2>&1 &
    doctor=$!
    sleep 0.$((RANDOM % 3))$((RANDOM % 10))
    kill -KILL $doctor 2>/dev/null
    wait $doctor
done 2>/dev/null
gone place/tidemark-doctor.*

# A trace is replayed into a directory of their own.
echo "--- html and serve"
tidemark record -q --trace -o big.tmk perl -e 'push @x, "a" x ($_ % 50) for 1 .. 500000'
killed_soon() { # COMMAND…
    setsid tidemark "$@" >/dev/null 2>&1 &
    local killed=$!
    sleep 0.$((RANDOM % 4))$((RANDOM % 10))
    kill_hard $killed
}
for i in {1..15}; do
    killed_soon html -o place/run.html big.tmt
    [ ! -e place/run.html ] || [ "$(tail -c 8 place/run.html)" = "</html>" ] || echo "half of a page"
    rm -f place/run.html
    killed_soon serve --port=0 big.tmt
done
setsid tidemark serve --port=0 big.tmt >served 2>&1 &
server=$!
until_true grep -q http served
ls -d place/tidemark-show.* >/dev/null || echo "no directory"
kill_hard $server
gone place/*
