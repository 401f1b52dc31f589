#!/bin/bash
# What a program may have in its control group bare it may have recorded: memory, and processes. Where we
# may not leave the group, recording goes on by samples, and a trace, which cannot, ends before the kernel
# would kill. And whoever kills program and
# collector at once, what is in the file is at most two seconds old, and a few hundred milliseconds for
# a machine that is busy.
. "$(dirname "$0")/lib.sh"
program=$BUILD/../torture/torture_group
groups=()
with_options=()

# A group below our own, where version 1 has its controller; into $group.
new_group() { # CONTROLLER
    local top=/sys/fs/cgroup/$1
    [ "$(id -u)" = 0 ] || skip "not root"
    group=$top/tidemark-test-$$-${#groups[@]}
    mkdir "$group" 2>/dev/null || skip "no control groups of version 1 that may be made"
    groups+=("$group")
}
remove_groups() {
    local each
    for each in "${groups[@]}"; do until_true rmdir "$each"; done
    rm -rf "$work"
}
trap remove_groups EXIT

inside() { # COMMAND…: in $group
    (echo $BASHPID >"$group/cgroup.procs" && exec "$@")
}
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# Bare and recorded in turn; the profile is NAME.tmk.
same_in_group() { # NAME COMMAND… -- PROGRAM…
    local name=$1 status with=()
    shift
    while [ "$1" != -- ]; do with+=("$1"); shift; done
    shift
    inside "${with[@]}" "$@" >bare 2>&1 || { skip "$name: the bare program fails: $(head -1 bare)"; }
    inside "${with[@]}" "$TIDEMARK" record -q "${with_options[@]}" -o "$work/out/$name.tmk" "$@" >recorded 2>&1
    status=$?
    [ $status = 0 ] || fail "$name: status $status: $(head -3 recorded)"
    cmp -s bare recorded || fail "$name: $(head -3 recorded)"
}
end_of() { # NAME
    "$TIDEMARK" query -f csv "$work/out/$1.tmk" "SELECT value FROM meta WHERE key = '$2'" | tail -1 | tr -d '\r'
}

mkdir out && chmod 777 . out
new_group memory
echo $((150 << 20)) >"$group/memory.limit_in_bytes" || skip "no limit can be set"
same_in_group memory -- "$program" need 105 32
[ "$(end_of memory end)" = exit ] || fail "memory: ended by $(end_of memory end)"
if command -v setpriv >/dev/null && "${as_nobody[@]}" test -x "$TIDEMARK" -a -x "$program"; then
    # 2,752,512 blocks of 32 bytes: with 70 bytes of ours for each the group would be too small.
    same_in_group bounded "${as_nobody[@]}" -- "$program" need 105 32
    [ "$(end_of bounded end)" = exit ] || fail "bounded: ended by $(end_of bounded end) $(end_of bounded ended_on) $(end_of bounded sample_why) $(end_of bounded sample_changes)"
    end_of bounded sample_why | grep -q 'to keep the collector within .* (an eighth of what its control group allows)' ||
        fail "bounded: $(end_of bounded sample_why)"
    end_of bounded sample_changes | grep -Eq '^"?[1-9][0-9]* 524288' || fail "bounded: $(end_of bounded sample_changes)"
    "$TIDEMARK" report --json out/bounded.tmk | jq -e '.program | .live_bytes > 60e6 and .live_bytes < 130e6
        and .live_bytes_error > 0' >estimate || fail "bounded: $(cat estimate) $("$TIDEMARK" report out/bounded.tmk | grep peak)"
    "$TIDEMARK" report out/bounded.tmk | grep -q '^  loss  *none' && fail "bounded: loss none"
    # Not those who cannot be drawn from.
    with_options=(--trace)
    same_in_group short "${as_nobody[@]}" -- "$program" need 105 32
    with_options=()
    [ "$(end_of short end)" = detached ] || fail "short: ended by $(end_of short end)"
    end_of short ended_on | grep -q 'memory of its control group' || fail "short: $(end_of short ended_on)"
    # Nothing ends that has enough.
    same_in_group enough "${as_nobody[@]}" -- "$program" need 40 4096
    [ "$(end_of enough end)" = exit ] || fail "enough: ended by $(end_of enough end)"
fi

new_group pids
echo 10 >"$group/pids.max" || skip "no limit can be set"
same_in_group tasks -- "$program" tasks 10

# Both at once, as the kernel does with a group. The call paths make each commit take a while.
"$TIDEMARK" record -q -o killed.tmk "$program" paths 17 &
recorder=$!
until_true test -s killed.tmk
sleep 4
victim=$(pgrep -f "^$program paths" | head -1)
children=$(pgrep -P $recorder)
start=$(stat -c %Y /proc/"$victim")
crowd=$(times_as_long)
kill -KILL "$victim" $recorder $children 2>/dev/null
now=$(date +%s%N)
wait $recorder 2>/dev/null
age_ms=$("$TIDEMARK" query -f csv killed.tmk "SELECT ($now - (SELECT value FROM meta WHERE key = 'start_unix_ns')
    - (SELECT value FROM meta WHERE key = 'duration_ns')) / 1000000" | tail -1 | tr -d '\r')
[ "$age_ms" -le $((2000 + 500 * crowd)) ] ||
    fail "killed: what is in the file is $age_ms ms old (start $start, $crowd times as long as alone)"
# Nobody was left to say so: the file does it itself, and once it was read it is the only one.
[ "$("$TIDEMARK" report --json killed.tmk | jq -r .state)" = 'cut short' ] ||
    fail "killed: $("$TIDEMARK" report --json killed.tmk | jq -c .state)"
"$TIDEMARK" report killed.tmk | grep -q 'cut short' || fail "killed: $("$TIDEMARK" report killed.tmk | head -4)"
[ "$(echo killed.*)" = killed.tmk ] || fail "killed: $(echo killed.*) are left"
exit $failed
