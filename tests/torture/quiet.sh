#!/bin/bash
# Standard error is the program's. With -q nothing else is ever written there, whatever happens to the
# recording; without it what we say comes behind all that the program has said, and is one text.
. "$(dirname "$0")/lib.sh"
command -v perl >/dev/null || skip "no perl"

cat >talks.sh <<'S'
echo one >&2
perl -e '$x = "x" x 3e6; if (!fork) { print STDERR "two\n"; exit } wait'
env -i /bin/true
for i in 1 2 3 4 5 6; do perl -e 'kill 9, $$' & done
wait
echo three >&2
exit 7
S
printf 'one\ntwo\nthree\n' >said

# The program's alone; its status.
alone() { # WHAT COMMAND…
    local what=$1 status
    shift
    "$@" sh talks.sh >out 2>err
    status=$?
    [ $status = 7 ] || fail "-q, $what: status $status: $(head -3 err)"
    grep -v '^Killed\|Killed *perl' err | cmp -s - said || fail "-q, $what: $(cat err)"
    rm -rf ./*.tmk*
}
# The program's first, then ours.
behind() { # WHAT COMMAND…
    local what=$1 status
    shift
    "$@" sh talks.sh >out 2>err
    status=$?
    [ $status = 7 ] || fail "$what: status $status: $(head -3 err)"
    grep -v '^Killed\|Killed *perl' err | head -3 | cmp -s - said || fail "$what: $(cat err)"
    grep -q '^tidemark' err || fail "$what: nothing is said"
    rm -rf ./*.tmk*
}
few() (ulimit -Sn 16; exec "$@")
small_files() (ulimit -f 2000; exec "$@")

alone "as usual" "$TIDEMARK" record -q -o q.tmk
behind "as usual" "$TIDEMARK" record -o q.tmk
alone "a trace" "$TIDEMARK" record -q --trace -o q.tmk
alone "few descriptors" few "$TIDEMARK" record -q -o q.tmk
alone "small files" small_files "$TIDEMARK" record -q --trace -o q.tmk
mkdir gone
alone "its directory goes" "$TIDEMARK" record -q -o gone/q.tmk sh -c 'rmdir gone; exec "$@"' -
mkdir gone
behind "its directory goes" "$TIDEMARK" record -o gone/q.tmk sh -c 'rmdir gone; exec "$@"' -
rm -rf gone
alone "the time is up" "$TIDEMARK" record -q --for=1ms -o q.tmk
behind "the time is up" "$TIDEMARK" record --for=1ms -o q.tmk
alone "no such mark" "$TIDEMARK" record -q --until=never -o q.tmk
alone "only what does not run" "$TIDEMARK" record -q --only=nothing -o q.tmk
behind "only what does not run" "$TIDEMARK" record --only=nothing -o q.tmk
for signal in ABRT SEGV BUS; do
    alone "its collector gets SIG$signal" "$TIDEMARK" record -q -o q.tmk sh -c "kill -$signal \$(pgrep -P \$PPID -x tidemark-coll); exec \"\$@\"" -
    behind "its collector gets SIG$signal" "$TIDEMARK" record -o q.tmk sh -c "kill -$signal \$(pgrep -P \$PPID -x tidemark-coll); exec \"\$@\"" -
done
alone "in a recording" "$TIDEMARK" record -q -o q.tmk "$TIDEMARK" record -q -o r.tmk
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    mkdir small
    alone "its disk is full" unshare -m sh -c 'mount -t tmpfs -o size=64k none small && exec "$@"' - \
        "$TIDEMARK" record -q --trace -o small/q.tmk
fi
if [ "$(id -u)" = 0 ] && [ -w /proc/self/oom_score_adj ]; then
    alone "little address space" sh -c 'ulimit -v 60000; exec "$@"' - "$TIDEMARK" record -q -o q.tmk
fi
# Before the program starts there is nobody else's text: what is refused is said in spite of -q.
"$TIDEMARK" record -q -o q.tmk /nowhere/at/all 2>err
[ $? = 127 ] && [ "$(wc -l <err)" = 1 ] || fail "refused: $(cat err)"
# One text, also where many processes write at once and longer than the program named.
if command -v parallel >/dev/null; then
    parallel --will-cite -j4 'echo {} >&2' ::: 1 2 3 4 5 6 7 8 2>&1 >/dev/null | sort >bare
    "$TIDEMARK" record -o p.tmk parallel --will-cite -j4 'echo {} >&2' ::: 1 2 3 4 5 6 7 8 2>err
    head -8 err | sort | cmp -s - bare || fail "parallel: $(head -12 err)"
    "$TIDEMARK" record -q -o p.tmk parallel --will-cite -j4 'echo {} >&2' ::: 1 2 3 4 5 6 7 8 2>err
    sort err | cmp -s - bare || fail "parallel -q: $(head -12 err)"
fi
# Streams that are closed are nobody's: no socket of ours gets their numbers.
"$TIDEMARK" record -q -o q.tmk sh -c 'exec 3</dev/null; ls /proc/self/fd >fds; exit 3' 2>&- >&- <&-
[ $? = 3 ] && "$TIDEMARK" report q.tmk >report 2>&1 || fail "closed streams: $(head -3 report)"
rm -f q.tmk*

# ---- By hand ----
library=$(dirname "$TIDEMARK")/../lib/libtidemark.so
LD_PRELOAD=$library TIDEMARK_OPTIONS='-q -o /nowhere/at/all/q.tmk' sh talks.sh 2>err >out
[ $? = 7 ] && grep -v '^Killed\|Killed *perl' err | cmp -s - said || fail "by hand: $(cat err)"

# ---- What is limited is said beforehand, and not with -q ----
(ulimit -v 4000000; ulimit -t 1000; "$TIDEMARK" record -o q.tmk true 2>err)
head -1 err | grep -q 'recording takes a part: .*address space.* (limited to 3.81 GiB); the time .*(limited to 1000 s)' || fail "limits: $(head -2 err)"
(ulimit -v 4000000; "$TIDEMARK" record -q -o q.tmk true 2>err)
[ ! -s err ] || fail "limits, -q: $(cat err)"
exit $failed
