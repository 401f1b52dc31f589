#!/bin/bash
# run.sh NAME COMMAND…: runs a torture program bare and recorded. Output and exit status must be the
# same, nothing lost, and what all profiles say together must be what the program counted
# (torture.h). RECORD_OPTIONS are options of tidemark record, SETUP a shell command that is run
# before the program, in its process (limits).
#
# Facts that change what is expected: slack=N, up to N allocations more than counted (threads that the
# end of the process took by surprise); unfollowed=1: some of it was not recorded, so profiles may say
# less; program_allocations=N: so many in all, but for a few of the libraries'; misses_frees=1: a free's record may be cut off; within_NAME=N: so many of the blocks are asked
# for by the function NAME; mapped_bytes=N: so much, all of it touched, is the program's own mmap at its end; unrecorded=1: there may be no profile at all, and a sentence says so.
set -u
name=$1
shift
ulimit -c 0
export LC_ALL=C
unset LD_PRELOAD TIDEMARK_OPTIONS TIDEMARK_SESSION
work=$(mktemp -d "${TMPDIR:-/tmp}/tidemark-torture.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 777 "$work"
failed=0
say() {
    echo "$name: $*"
    failed=1
}

setup=${SETUP:-:}
(eval "$setup"; exec "$@") >"$work/bare.out" 2>"$work/bare.err" </dev/null
bare=$?
if [ $bare = 77 ]; then
    tail -1 "$work/bare.out"
    exit 77
fi
# What is limited is the program, not the recording: the limits are set behind tidemark, unless they
# are meant for both.
if [ -n "${LIMIT_BOTH:-}" ]; then
    (eval "$setup"; VICTIM_FACTS=$work/facts exec "$TIDEMARK" record -q ${RECORD_OPTIONS:-} -o "$work/%p.%n.tmk" -- "$@") \
        >"$work/out" 2>"$work/err" </dev/null
elif [ "$setup" != : ]; then
    VICTIM_FACTS=$work/facts "$TIDEMARK" record -q ${RECORD_OPTIONS:-} -o "$work/%p.%n.tmk" -- \
        bash -c "$setup; exec \"\$@\"" bash "$@" >"$work/out" 2>"$work/err" </dev/null
else
    VICTIM_FACTS=$work/facts "$TIDEMARK" record -q ${RECORD_OPTIONS:-} -o "$work/%p.%n.tmk" -- "$@" \
        >"$work/out" 2>"$work/err" </dev/null
fi
status=$?
[ $status = $bare ] || say "exit status $status, bare run $bare: $(tail -3 "$work/err")"
cmp "$work/bare.out" "$work/out" || say "standard output differs: $(diff "$work/bare.out" "$work/out" | head -5)"
if [ -z "${MAY_SAY:-}" ] || ! grep -q "$MAY_SAY" "$work/err"; then
    cmp "$work/bare.err" "$work/err" || say "standard error differs: $(head -3 "$work/err")"
fi

fact() { # NAME: its sum over all processes that told
    awk -F = -v name="$1" '$1 == name { sum += $2 } END { print sum + 0 }' "$work/facts" 2>/dev/null || echo 0
}

counted="FROM site JOIN path ON path.id = site.path JOIN location_frame USING (location)
    JOIN function ON function.id = location_frame.function
    WHERE function.name = 'torture_counted' OR function.linkage = 'torture_counted'"
profiles=0 allocations=0 frees=0 failures=0 live=0
# A file each, or FILE@PID of a row of the session's file.
"$TIDEMARK" report --json "$work" >"$work/overview" || say "no overview of what was recorded"
mapfile -t recorded < <(jq -r '.profiles[].profile' "$work/overview")
[ "$(jq '.unread | length' "$work/overview")" = 0 ] || say "unread: $(jq -c .unread "$work/overview")"
for profile in "${recorded[@]}" "$work"/*.tmk.old*; do
    case $profile in *.tmk.old*) [ -f "$profile" ] || continue ;; esac
    rm -f "$work/db"
    "$TIDEMARK" unpack "$profile" "$work/db" || { say "$profile cannot be unpacked"; continue; }
    "$TIDEMARK" report "$profile" >"$work/report" 2>&1 || say "report: $(head -1 "$work/report")"
    profiles=$((profiles + 1))
    IFS='|' read -r a f x l <<<"$(sqlite3 "$work/db" "SELECT coalesce(sum(alloc_count), 0),
        coalesce(sum(free_count), 0), coalesce(sum(failed_count), 0), coalesce(sum(live_count), 0) $counted")"
    allocations=$((allocations + a)) frees=$((frees + f)) failures=$((failures + x)) live=$((live + l))
    wrong=$(sqlite3 "$work/db" "
        SELECT lost_events || ' events lost' FROM program WHERE lost_events > 0
        UNION ALL SELECT late_events || ' events late' FROM program WHERE late_events > 0
        UNION ALL SELECT replaced_blocks || ' frees missed' FROM program
            WHERE replaced_blocks > 0 AND NOT $(fact misses_frees)
        UNION ALL SELECT 'live is not allocated - freed' FROM program
            WHERE live_bytes <> alloc_bytes + realloc_bytes - free_bytes
        UNION ALL SELECT 'the call paths do not add up'
            WHERE (SELECT coalesce(sum(alloc_bytes), 0) FROM site) <> (SELECT alloc_bytes FROM program)
        UNION ALL SELECT alloc_count || ' allocations in all' FROM program
            WHERE $(fact program_allocations) > 0 AND NOT alloc_count BETWEEN $(fact program_allocations)
                AND $(fact program_allocations) + 10
        UNION ALL SELECT mmap_bytes || ' bytes mapped at the end' FROM sample
            WHERE $(fact mapped_bytes) > 0 AND id = (SELECT max(id) FROM sample)
                AND NOT mmap_bytes BETWEEN $(fact mapped_bytes) AND $(fact mapped_bytes) + 65536")
    [ -z "$wrong" ] || [ "$(fact may_lose)" != 0 ] || say "$(basename "$profile"): $wrong"
    for function in $(sed -n 's/^within_\(.*\)=.*/\1/p' "$work/facts" 2>/dev/null | sort -u); do
        sqlite3 "$work/db" "SELECT '$function=' || coalesce(sum(alloc_count), 0) FROM site
            JOIN path AS leaf ON leaf.id = site.path JOIN path ON path.id = leaf.parent
            JOIN location_frame ON location_frame.location = path.location
            JOIN function ON function.id = location_frame.function WHERE function.name = '$function'"
    done >>"$work/within"
done
for function in $(sed -n 's/^within_\(.*\)=.*/\1/p' "$work/facts" 2>/dev/null | sort -u); do
    said=$(awk -F = -v name="$function" '$1 == name { sum += $2 } END { print sum + 0 }' "$work/within")
    [ "$said" = "$(fact "within_$function")" ] || say "$function called for $said blocks, not $(fact "within_$function")"
done
slack=$(fact slack)
expect() { # WHAT SAID COUNTED
    if [ "$(fact unfollowed)" != 0 ]; then
        [ "$2" -le $(($3 + slack)) ] || say "profiles have $2 $1, the program counted only $3"
    else
        [ "$2" -ge "$3" ] && [ "$2" -le $(($3 + slack)) ] ||
            say "profiles have $2 $1, the program counted $3${slack:+ (+ $slack)}"
    fi
}
[ -s "$work/facts" ] || [ "$bare" != 0 ] || say "the program told nothing"
if [ $profiles = 0 ]; then
    [ "$(fact unrecorded)" != 0 ] || say "no profile: $(head -3 "$work/err")"
elif [ "$(fact unrecorded)" = 0 ]; then
    expect allocations "$allocations" "$(fact allocations)"
    expect frees "$frees" "$(fact frees)"
    expect failures "$failures" "$(fact failures)"
fi
echo "$name: $profiles profiles, $allocations of $(fact allocations) allocations, $frees frees, $failures failures"
exit $failed
