# What the scenarios share, beside tests/real/lib.sh (bare against recorded): waiting, blocks counted by
# victims/killed, and their profiles.
. "$(dirname "$0")/../real/lib.sh"
victims=$BUILD/../victims
cd "$work" || exit 1

# Until a command succeeds; a minute is only for what never will.
until_true() {
    local tries=0
    until "$@" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -le 1200 ] || { fail "in vain: $*"; return 1; }
        sleep 0.05
    done
}

# How many times as long as alone a process takes here and now: 1 on a machine that is not busy.
times_as_long() {
    local TIMEFORMAT='%R %U' i real user
    read -r real user < <({ time (for ((i = 0; i < 100000; i++)); do :; done); } 2>&1)
    awk -v real="$real" -v user="$user" 'BEGIN { print int(real / (user > 0.01 ? user : 0.01) + 0.5) }'
}

# Background processes are ended whatever happens; what the shell would say of it is not wanted.
kill_hard() {
    kill -KILL "$@"
    wait "$@"
} 2>/dev/null

# The process that collects for a `tidemark record`.
collector_of() { # PID
    pgrep -P "$1" -x tidemark-coll
}

# victims/killed THREADS counters: counts its allocations in a file, until it is killed.
word() { # N: the Nth uint64 there
    od -An -tu8 -j $((8 * $1)) -N 8 counters | tr -d ' '
}
counted() { # THREADS
    local sum=0 thread
    for ((thread = 1; thread <= $1; thread++)); do sum=$((sum + $(word $((8 * thread))))); done
    echo $sum
}
counted_more_than() { [ "$(counted "$1")" -gt "$2" ]; } # THREADS COUNT
runs() { [ -s counters ] && [ "$(word 0)" != 0 ]; }

# SQL on a profile, finished or not.
query() { # PROFILE SQL
    rm -f query.db
    "$TIDEMARK" unpack "$1" query.db && sqlite3 query.db "$2"
    rm -f query.db
}
# Of a function and of what it calls (another profiler's malloc).
allocations_of() { # PROFILE FUNCTION
    query "$1" "WITH RECURSIVE inside(path) AS (
        SELECT path.id FROM path JOIN location_frame USING (location)
        JOIN function ON function.id = location_frame.function
        WHERE function.name IN ('$2', '$2()', '$2(void)') OR function.linkage = '$2'
        UNION SELECT path.id FROM path JOIN inside ON path.parent = inside.path)
        SELECT coalesce(sum(alloc_count), 0) FROM site JOIN inside USING (path)"
}
one_sentence_about() { # FILE PATTERN
    [ "$(wc -l <"$1")" -le 2 ] && head -1 "$1" | grep -Eq "$2" || fail "no sentence about $2: $(head -5 "$1")"
}
