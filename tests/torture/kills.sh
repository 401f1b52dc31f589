#!/bin/bash
# `tidemark attach` is killed at random moments of its calls into a service, with one thread and with many
# that wait in all ways. After each kill the service must answer, not be stopped, and block no signal; and
# it does not grow. KILLS makes more of it (`make check-attach`: 500).
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "attaching is written for x86-64"
kills=${KILLS:-40}

answers() {
    (echo question) >&"$to" # where nobody reads any more a signal ends who writes
    read -r -t 60 answer <&"$from" && [ "$answer" = here ]
}
mappings() { wc -l <"/proc/$pid/maps"; }
descriptors() { find "/proc/$pid/fd" -mindepth 1 | wc -l; }
runs_freely() { ! grep -q '^State:.[Tt]\|^TracerPid:.[1-9]' "/proc/$pid/task/"*/status; }

# Undisturbed, to the end.
is_recorded() { grep -q 'being recorded' attach.err; }
attach_once() {
    rm -f attach.err
    "$TIDEMARK" attach -o once.tmk "$pid" 2>attach.err {to}>&- {from}<&- &
    local attached=$!
    until_true is_recorded || { kill_hard $attached; fail "not attached: $(cat attach.err)"; return; }
    answers || fail "no answer while it is recorded: '$answer'"
    "$TIDEMARK" attach --detach "$pid" {to}>&- {from}<&- || fail "not detached"
    wait $attached || fail "attach ended with $?: $(cat attach.err)"
}

# The sooner half falls into loading, the other one into what follows.
kill_within() { # MILLISECONDS COMMAND…
    local most=$1
    shift
    "$@" >killed.out 2>&1 {to}>&- {from}<&- &
    sleep "0.$(printf %04d $((RANDOM % (most * 10))))"
    kill_hard $!
}

for threads in 0 6 24; do
    coproc SERVICE { exec "$BUILD/../torture/torture_service" $threads 2>&1; }
    pid=$SERVICE_PID
    # Of our own: the shell closes its ends when the service is gone, and what that said last with them.
    exec {to}>&"${SERVICE[1]}" {from}<&"${SERVICE[0]}"
    eval "exec ${SERVICE[1]}>&- ${SERVICE[0]}<&-"
    answers || { fail "no service: $answer"; exit 1; }
    attach_once # what the library takes for good
    before=$(mappings) open=$(descriptors)
    for ((turn = 1; turn <= kills; turn++)); do
        kill_within 150 "$TIDEMARK" attach -q -o "killed.tmk" "$pid"
        [ $((turn % 3)) != 0 ] || kill_within 100 "$TIDEMARK" attach --detach "$pid"
        answers || {
            fail "$threads threads, after $turn kills: '$answer'"
            kill -KILL "$pid" 2>/dev/null
            wait "$pid" 2>/dev/null
            fail "it ended with $? (137: by us)"
            exit 1
        }
        until_true runs_freely || { fail "$threads threads, after $turn kills: stopped"; break; }
        rm -f killed.tmk*
    done
    attach_once # and then everything is as it was
    answers || fail "$threads threads: no answer in the end"
    echo "$threads threads: mappings $before -> $(mappings), descriptors $open -> $(descriptors)"
    [ "$(mappings)" -le $((before + 12)) ] || fail "$threads threads: mappings $before -> $(mappings)"
    [ "$(descriptors)" = "$open" ] || fail "$threads threads: descriptors $open -> $(descriptors)"
    eval "exec $to>&-"
    wait "$pid" || fail "$threads threads: the service ended with $?"
    exec {from}<&-
    rm -f ./*.tmk*
done
exit $failed
