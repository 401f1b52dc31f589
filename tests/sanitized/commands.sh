#!/bin/bash
# The collector and the commands as they are built with sanitizers, on recordings of several kinds: whatever
# they find ends the command with 99. The recorder is in none of it: it has no sanitizer.
#
#   commands.sh DIRECTORY       where that tidemark is
export PATH=$1:$PATH PAGER=cat
# use_sigaltstack: clang 14 finds its own at the end of a thread.
export ASAN_OPTIONS=exitcode=99:detect_leaks=0:abort_on_error=0:use_sigaltstack=0
export UBSAN_OPTIONS=halt_on_error=1:exitcode=99:print_stacktrace=1
export TSAN_OPTIONS=exitcode=99
work=$(mktemp -d "${TMPDIR:-/tmp}/tidemark-sanitized.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
count=0 failed=0

# Runs a command; any end but by a sanitizer is as good as another here.
run() {
    "$@" >out 2>err </dev/null
    status=$?
    count=$((count + 1))
    if [ $status = 99 ] || [ $status -ge 128 ] || grep -Eq 'runtime error|ERROR: [A-Za-z]*Sanitizer' err out; then
        failed=$((failed + 1))
        echo "status $status: $*"
        grep -E -A25 'runtime error|ERROR: [A-Za-z]*Sanitizer' err out | head -40
    fi
}

cat >work.sh <<'S'
list=
for i in $(seq 300); do list="$list word$i"; done
(for word in $list; do echo "$word"; done) | sort | uniq -c | awk '{ sum[$2] += $1 } END { for (w in sum) n++; print n }'
S
run tidemark record -q -o plain.tmk sh work.sh
run tidemark record -q --trace -o traced.tmk sort work.sh
run tidemark record -q --trace --no-follow -o awk.tmk awk 'BEGIN { for (i = 0; i < 20000; i++) a[i % 777] = i "x"; print length(a) }'
run tidemark record -q --sample=4K -o sampled.tmk awk 'BEGIN { for (i = 0; i < 20000; i++) a[i] = i; print length(a) }'
run tidemark record -q --stacks=none --free-stacks -o none.tmk sh work.sh
run tidemark record -q --embed-sources --snapshot-at=peak=1M -o snap.tmk awk 'BEGIN { for (i = 0; i < 50000; i++) a[i] = i; print length(a) }'
run tidemark record -q --on-full=drop --until=no-mark -o window.tmk sh work.sh
PMI_SIZE=1 PMI_RANK=0 run tidemark record -q --job=job sh work.sh
run tidemark count sh work.sh
printf '[program]\npeak = 0\n' >budget.toml

for file in plain.tmk sampled.tmk none.tmk snap.tmk awk.tmk; do
    run tidemark report --show=all -n 50 $file
    run tidemark report --json $file
    run tidemark report --tree $file
    run tidemark insight $file
    run tidemark annotate $file
    run tidemark check -b budget.toml $file
    run tidemark query $file "SELECT * FROM meta"
    run tidemark plot --terminal $file
    run tidemark plot -o $file.svg $file
    run tidemark html -o $file.html $file
    run tidemark diff awk.tmk $file
    for format in pprof folded speedscope callgrind massif heaptrack dhat perfetto chrome openmetrics csv jsonl dot; do
        run tidemark export --to $format -o $file.$format $file
    done
done
for format in pprof massif heaptrack dhat; do run tidemark import -o in.$format.tmk plain.tmk.$format; done
for trace in traced.tmt awk.tmt; do
    run tidemark replay -q -o again.tmk --force $trace
    run tidemark at peak $trace
    run tidemark blocks $trace
    run tidemark events $trace
    run tidemark events --json --stacks $trace
done
run tidemark replay --under=glibc awk.tmt
run tidemark job job
run tidemark job --json job
run tidemark ps
run tidemark ps --json
run tidemark html -o job.html job
run tidemark html -o traced.html traced.tmk
run tidemark blocks --json awk.tmt
run tidemark job --redact=names job
run tidemark maps self
run tidemark doctor
run tidemark unpack plain.tmk plain.db
head -c 3000 plain.tmk >cut.tmk
run tidemark report cut.tmk
echo "$count commands, $failed found wanting"
[ "$failed" = 0 ] && [ "$count" -gt 100 ]
