# What the tests of real programs share: run bare, run recorded, compare. TIDEMARK names the command,
# BUILD is where the test programs are built, SOURCE the repository.
set -u
ulimit -c 0
export LC_ALL=C
unset LD_PRELOAD TIDEMARK_OPTIONS TIDEMARK_SESSION
work=$(mktemp -d "${TMPDIR:-/tmp}/tidemark-real.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0

skip() {
    echo "skip: $*"
    exit 77
}

fail() {
    echo "$*"
    failed=1
}

need() {
    command -v "$1" >/dev/null || skip "$1 is not installed"
}

# The program's profile (not its children's) as a database: $work/NAME.db.
profile_of() { # NAME
    rm -f "$work/$1.db"
    "$TIDEMARK" unpack "$work/$1.tmk" "$work/$1.db" || fail "$1: its profile cannot be unpacked"
}

value() { # NAME SQL
    sqlite3 "$work/$1.db" "$2"
}

# The account balances and nothing is lost; something was recorded.
check_account() { # NAME
    profile_of "$1"
    local wrong
    wrong=$(value "$1" "
        SELECT 'events lost' FROM program WHERE lost_events > 0
        UNION ALL SELECT 'events late' FROM program WHERE late_events > 0
        UNION ALL SELECT 'a free was missed' FROM program WHERE replaced_blocks > 0
        UNION ALL SELECT 'no allocation' WHERE (SELECT coalesce(sum(alloc_count), 0) FROM program) = 0
        UNION ALL SELECT 'live is not allocated - freed' FROM program
            WHERE live_bytes <> alloc_bytes + realloc_bytes - free_bytes
        UNION ALL SELECT 'the call paths do not add up'
            WHERE (SELECT sum(alloc_bytes) FROM site) <> (SELECT alloc_bytes FROM program)
        UNION ALL SELECT 'the lifetimes do not add up'
            WHERE (SELECT sum(lifetime_sum_ns) FROM site) <>
                  (SELECT lifetime_sum_ns FROM program)")
    [ -z "$wrong" ] || fail "$1: $wrong"
}

# unharmed NAME COMMAND…: output and exit status of the recorded run are those of the bare run.
# Input, if $work/input exists, is that file. RECORD_OPTIONS are options of tidemark record.
unharmed() {
    local name=$1 input=/dev/null bare status
    shift
    [ -f "$work/input" ] && input=$work/input
    "$@" <"$input" >"$work/bare.out" 2>"$work/bare.err"
    bare=$?
    # shellcheck disable=SC2086
    "$TIDEMARK" record -q ${RECORD_OPTIONS:-} -o "$work/$name.tmk" -- "$@" <"$input" >"$work/out" 2>"$work/err"
    status=$?
    [ $status = $bare ] || fail "$name: exit status $status, bare run $bare: $(tail -3 "$work/err")"
    cmp "$work/bare.out" "$work/out" || fail "$name: standard output differs"
    cmp "$work/bare.err" "$work/err" || fail "$name: standard error differs: $(head -3 "$work/err")"
}

# The same, and the account balances.
same() {
    unharmed "$@"
    check_account "$1"
}
