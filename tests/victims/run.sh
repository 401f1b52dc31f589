#!/bin/bash
# run.sh EXPECT THREADS VICTIM [ARGS…]: runs a victim bare and recorded, compares output and exit
# status, and checks each profile against EXPECT (lib/check.sh). TIDEMARK names the command;
# everything is left in the current directory under run/ for a look afterwards. RECORD_OPTIONS are
# options of tidemark record.
set -u
here=$(cd "$(dirname "$0")" && pwd)
expect=$1 threads=$2
shift 2
work=run/$(basename "$expect" .expect)${RECORD_OPTIONS:-}.$(printf '%s' "$*" | sed 's|[^ ]*/||g' | tr -c 'A-Za-z0-9_\n' '-')
rm -rf "$work"
mkdir -p "$work/db"
failed=0

say() {
    echo "$*"
    failed=1
}

ulimit -c 0 # no core files
("$@" >"$work/bare.out" 2>"$work/bare.err")
bare=$? 2>/dev/null
VICTIM_FACTS=$work/facts "$TIDEMARK" record -q ${RECORD_OPTIONS:-} -o "$work/%p.tmk" -- "$@" >"$work/out" 2>"$work/err"
status=$?
[ $status = $bare ] || say "exit status $status, bare run $bare"
cmp "$work/bare.out" "$work/out" || say "standard output differs"
cmp "$work/bare.err" "$work/err" || say "standard error differs: $(head -5 "$work/err")"

# FILE, or FILE@PID of a row of the session's file. A process that execs has two profiles with one pid: of
# files the older is .old.
"$TIDEMARK" report --json "$work" >"$work/overview.json" || say "no overview"
mapfile -t profiles < <(jq -r '.profiles[].profile' "$work/overview.json")
for profile in "${profiles[@]}" "$work"/*.tmk.old*; do
    case $profile in *.tmk.old*) [ -f "$profile" ] || continue ;; esac
    "$TIDEMARK" unpack "$profile" "$work/db/$(basename "$profile").db" || say "unpack failed"
done
set -- "$work"/db/*.db
[ -f "$1" ] || { say "no profile"; exit 1; }

allocates() { # DATABASE FUNCTION: does it have allocations of its own in this profile?
    sqlite3 "$1" "SELECT count(*) FROM site JOIN path ON path.id = site.path
        JOIN location_frame USING (location) JOIN function ON function.id = location_frame.function
        WHERE function.name IN ('$2', '$2(void)', '$2()')
        AND coalesce(alloc_count, sample_count) > 0" | grep -qv '^0$'
}

sections=$(awk '$1 == "process" { print $2 ":" $3 }' "$expect")
for database in "$@"; do
    section=
    if [ -n "$sections" ]; then
        section=other
        for candidate in $sections; do
            if allocates "$database" "${candidate%:*}"; then
                section=${candidate%:*}
                break
            fi
        done
        echo "$section" >>"$work/sections"
        [ "$section" = other ] && continue
    elif [ $# != 1 ]; then
        say "$# profiles instead of one"
    fi
    SECTION=$section "$here/../lib/check.sh" "$expect" "$database" "$threads" "$work/facts" || failed=1
done
for candidate in $sections; do
    wanted=${candidate#*:}
    count=$(grep -cx "${candidate%:*}" "$work/sections")
    [ "$wanted" = any ] || [ "$count" = "$wanted" ] || say "$count profiles of ${candidate%:*} instead of $wanted"
done
if [ -n "$sections" ] && ! echo "$sections" | grep -q '^other:' && grep -qx other "$work/sections"; then
    say "$(grep -cx other "$work/sections") profiles of something else"
fi
exit $failed
