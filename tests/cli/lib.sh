# What the scenarios share. A scenario prints what it sees; NAME.out is what it must see.

ulimit -c 0

# Runs a command; keeps stdout in `out`, stderr in `err`, prints its exit status.
try() {
    "$@" >out 2>err
    echo "status $?"
}

# One sentence on stderr (a second line may say how to get help) that speaks of PATTERN.
sentence() {
    local lines
    lines=$(wc -l <err)
    if [ "$lines" -lt 1 ] || [ "$lines" -gt 2 ]; then
        echo "not one sentence but $lines lines:"
        cat err
    elif ! head -1 err | grep -Eq "$1"; then
        echo "a sentence, but not about '$1':"
        cat err
    else
        echo "one sentence about $1"
    fi
}

# Waits until a command succeeds, a minute at most: the machine may be busy.
until_true() {
    local tries=0
    until "$@" 2>/dev/null; do
        tries=$((tries + 1))
        if [ $tries -gt 1200 ]; then
            echo "in vain: $*"
            return 1
        fi
        sleep 0.05
    done
}

# SQL on a profile, packed or (while it is written, or left by a killed collector) plain.
query() {
    rm -f query.db
    tidemark unpack "$1" query.db && sqlite3 query.db "$2"
    rm -f query.db
}

# What these files have: FILE, or of a session's file FILE@PID for each of its rows.
profiles_in() {
    local file
    for file in "$@"; do
        case $file in
        *.session.tmk) tidemark report --json "$file" | jq -r '.profiles[] | select(.row).profile' ;;
        *) echo "$file" ;;
        esac
    done
}

# The entries of all processes below these directories, of files of their own and of nodes' files.
job_entries() {
    find "$@" -name '*.entry' -o -name '*.session.tmk' | sort |
        xargs -r perl -0777 -ne 'print for /tidemark entry 1\n.*?\n\.\n/gs'
}

# Kills background processes and waits for them; when the shell would say "Killed" is its choice.
kill_hard() {
    kill -KILL "$@"
    wait "$@"
} 2>/dev/null

# The process that collects for a `tidemark record`.
collector_of() { # PID
    pgrep -P "$1" -x tidemark-coll
}

skip() {
    echo "skip: $*"
    exit 77
}
