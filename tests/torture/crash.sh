#!/bin/bash
# Crash safety. The program, its collector, or both are killed at random moments: what could be read of the
# profile before can be read after. Then files as a power cut leaves them, cut off at every block: what is
# left of them is read, or refused with a sentence; no file is changed by being read; nothing that lay there
# before is touched. SEED repeats the random moments, ROUNDS makes more of them.
. "$(dirname "$0")/lib.sh"
threads=2
RANDOM=${SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
seed=$RANDOM
RANDOM=$seed
echo "SEED=$seed (of the first number drawn)"
rounds=${ROUNDS:-1}

# What a reader is told of a profile that is being written, or was: 0 if there is nothing yet.
told() { # PROFILE
    [ -s "$1" ] || { echo 0; return; }
    local number
    number=$(allocations_of "$1" victim_counted 2>/dev/null)
    echo "${number:-0}"
}
tells() { [ "$(told "$1")" -gt 0 ]; }
# A command of ours on a damaged file: it succeeds, or one or two lines say why not.
reads() { # WHAT COMMAND…
    local what=$1
    shift
    "$@" >reads.out 2>reads.err
    local status=$?
    [ $status -lt 128 ] || fail "$what: $2 ended with status $status"
    [ $status = 0 ] || [ $status -ge 125 ] || fail "$what: $2 has status $status"
    [ $status = 0 ] || [ "$(wc -l <reads.err)" -le 2 ] || fail "$what: no sentence: $(head -3 reads.err)"
    [ $status = 0 ] || [ -s reads.err ] || fail "$what: $2 failed without a word"
    return $status
}

# ---- Random kills ----

# What was there: an earlier profile (a file that is none is refused).
"$TIDEMARK" record -q -o older.tmk true && mv older.tmk older
kill_round() { # WHOM
    rm -f counters run.tm*
    cp older run.tmk
    "$TIDEMARK" record -q --trace -o run.tmk -- "$victims/killed" $threads counters 2>err &
    local recorder=$! before after program collector
    disown $recorder
    until_true runs
    collector=$(collector_of $recorder)
    program=$(word 0)
    until_true tells run.tmk
    sleep "0.$(printf %03d $((RANDOM % 1000)))"
    before=$(told run.tmk)
    case $1 in
    program) kill -KILL "$program" ;;
    collector) kill -KILL "$collector" ;;
    both) kill -KILL "$collector" "$program" ;;
    both_later) kill -KILL "$program"; kill -KILL "$collector" ;; # in the middle of its completion
    completing) kill -KILL "$program"; sleep "0.$(printf %03d $((RANDOM % 150)))"; kill -KILL "$collector" 2>/dev/null ;;
    esac
    [ "$1" = program ] && until_true [ ! -d "/proc/$recorder" ]
    until_true [ ! -d "/proc/$collector" ]
    [ "$1" = collector ] && { until_true counted_more_than $threads $(($(counted $threads) + 100000)); kill -KILL "$program"; }
    after=$(told run.tmk)
    [ "$after" -ge "$before" ] || fail "$1 killed: $before allocations were in the profile before, $after after"
    if [ "$1" = program ]; then
        [ "$after" -ge "$(counted $threads)" ] || fail "program killed: $after of $(counted $threads)"
    fi
    cmp older run.tmk.old || fail "$1 killed: what was there is not what it was"
    reads "$1 killed" "$TIDEMARK" report run.tmk || fail "$1 killed: $(cat reads.err)"
    reads "$1 killed" "$TIDEMARK" replay -o "replayed.$1.tmk" run.tmt || fail "$1 killed, its trace: $(cat reads.err)"
    rm -f replayed.*
}
for ((round = 0; round < rounds; round++)); do
    whoms="program collector both completing"
    [ -z "${TORTURE_LONG:-}" ] || whoms="$whoms both_later"
    for whom in $whoms; do
        kill_round $whom
        # As a crash left it, for below.
        [ $whom != both ] || { mkdir -p left && cp run.tm* left/; }
    done
done

# ---- Cut off ----

cut_at_every() { # FILE BYTES: names of copies, one at a time, in `cut`
    local size at
    size=$(stat -c %s "$1")
    step=$2
    # Some dozens of a large file; every one with TORTURE_LONG.
    [ -n "${TORTURE_LONG:-}" ] || while [ $((size / step)) -gt 24 ]; do step=$((step * 2)); done
    for ((at = 0; at < size; at += step)); do echo $at; done
}
unchanged() { # WHAT FILE ORIGINAL
    cmp "$2" "$3" || fail "$1: reading it changed it"
}

"$TIDEMARK" record -q --trace -o whole.tmk "$victims/basic" 4 >/dev/null 2>&1
"$TIDEMARK" record -q --no-pack -o plain.tmk "$victims/basic" 4 >/dev/null 2>&1
for name in whole.tmk plain.tmk; do
    some=0 none=0
    for at in $(cut_at_every $name 512); do
        head -c "$at" $name >cut.tmk && cp cut.tmk original
        if reads "$name cut off after $at bytes" "$TIDEMARK" report cut.tmk; then some=$((some + 1)); else none=$((none + 1)); fi
        unchanged "$name cut off after $at bytes" cut.tmk original
        rm -f cut.tmk*
    done
    echo "$name: $((some + none)) lengths, $some read in part"
done
# A trace: whatever is left of it, the whole blocks before the cut are replayed; never fewer of a longer one.
last=0 some=0 none=0
for at in $(cut_at_every whole.tmt 512); do
    head -c "$at" whole.tmt >cut.tmt && cp cut.tmt original
    if reads "trace cut off after $at bytes" "$TIDEMARK" replay -q -o cut.tmk cut.tmt; then
        some=$((some + 1))
        number=$(query cut.tmk 'SELECT alloc_count FROM program')
        [ "${number:-0}" -ge $last ] || fail "trace cut off after $at bytes: $number allocations, of a shorter one $last"
        last=${number:-0}
    else
        none=$((none + 1))
    fi
    unchanged "trace cut off after $at bytes" cut.tmt original
    rm -f cut.tm*
done
echo "whole.tmt: $((some + none)) lengths, $some replayed"

# A profile as a killed collector leaves it, with its log cut off. (What the cut part of the log had already
# brought into the file itself is not taken back: any number may be read, or a sentence.)
if [ -s left/run.tmk-wal ]; then
    for at in $(cut_at_every left/run.tmk-wal 4120); do
        rm -rf cutting && mkdir cutting && cp left/run.tmk cutting/
        head -c "$at" left/run.tmk-wal >cutting/run.tmk-wal
        reads "log cut off after $at bytes" "$TIDEMARK" report cutting/run.tmk
    done
fi
exit $failed
