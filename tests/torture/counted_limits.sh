#!/bin/bash
# Programs that use each limit to the brim may do so under tidemark count as well (brim.c).
. "$(dirname "$0")/lib.sh"
program=$BUILD/../torture/torture_brim

for case in memlock_future memlock_onfault memlock_current memlock_both as data stack nofile nproc sigpending \
    msgqueue fsize cpu; do
    "$program" brim_$case >bare 2>&1
    bare=$?
    "$TIDEMARK" count "$program" brim_$case >counted 2>err
    status=$?
    [ $status = $bare ] || fail "$case: status $status, bare $bare: $(head -3 err)"
    cmp -s bare counted || fail "$case: $(head -3 counted) and not $(head -3 bare)"
done
exit $failed
