#!/bin/bash
# Programs that use each limit to the brim may do so under tidemark count as well (brim.c), and those
# whose pointers lead nowhere get the same answers (pointers.c).
. "$(dirname "$0")/lib.sh"

same() { # PROGRAM CASE
    "$1" "$2" >bare 2>/dev/null
    bare=$?
    "$TIDEMARK" count "$1" "$2" >counted 2>err
    status=$?
    [ $status = $bare ] || fail "$2: status $status, bare $bare: $(head -3 err)"
    cmp -s bare counted || fail "$2: $(diff bare counted | head -3)"
}

for case in memlock_future memlock_onfault memlock_current memlock_both as data stack nofile nproc sigpending \
    msgqueue fsize cpu; do
    same "$BUILD/../torture/torture_brim" "brim_$case"
done
for case in bad_pointers bad_pointers_vfork bad_pointers_else exec_to_the_brim exec_in_handler \
    exec_with_many_variables exec_behind_filter; do
    same "$BUILD/../torture/torture_pointers" "$case"
done
exit $failed
