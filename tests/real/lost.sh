#!/bin/bash
# lost.sh: blocks and bytes that are lost, indirectly lost, possibly lost and reachable at the end agree
# with valgrind's memcheck, on victims with known answers and on real programs.
#
# Known reasons for a difference, and what is done about each:
# - At exit valgrind makes libc and libstdc++ free what they hold: switched off.
# - The table of a thread's TLS blocks has 16 bytes for each module with thread-local variables, and
#   we are one more: of a victim with a thread, living or ended, bytes that are possibly lost are not
#   compared. Of real programs with threads these are 16 bytes a thread.
# - GLib under valgrind keeps a pointer to the beginning of each object: programs that use it are left
#   out here.
# - The environment: recorded runs have LD_PRELOAD and TIDEMARK_SESSION. Programs here that copy their
#   environment (bash) are compared by what is lost only.
# - A number may look like an address, and then a block is possibly lost by chance: memcheck, whose
#   addresses are small, said so of 1 of some 2,000 runs. Where they differ both are asked again.
# - Perl frees the structure that points to all that it has; memcheck looks behind that, and we before
#   it. A Perl by another name is no interpreter for us, and is looked at as it exits.
# - Of five registers that hold a pointer each when _exit() is called, memcheck knows one: that
#   victim has its answer in cli/leaks alone.
# Tolerance: none.
. "$(dirname "$0")/lib.sh"
need valgrind
need sqlite3

ours() { # COMMAND…
    rm -f "$work/run.tmk"*
    "$TIDEMARK" record -q --separate -o "$work/run.tmk" -- "$@" >/dev/null 2>"$work/err" </dev/null
    "$TIDEMARK" query -f csv "$work/run.tmk" "SELECT lost_count, lost_bytes, indirect_count, indirect_bytes,
        possible_count, possible_bytes, reachable_count, reachable_bytes FROM sample WHERE lost_count IS NOT NULL ORDER BY id DESC LIMIT 1" |
        tail -1 | tr , ' ' | tr -d '\r'
}

theirs() { # COMMAND…
    valgrind --leak-check=full --show-leak-kinds=none --run-libc-freeres=no --run-cxx-freeres=no "$@" \
        2>"$work/memcheck" >/dev/null </dev/null
    if grep -q 'no leaks are possible' "$work/memcheck"; then
        echo 0 0 0 0 0 0 0 0
        return
    fi
    local kind
    for kind in 'definitely lost' 'indirectly lost' 'possibly lost' 'still reachable'; do
        grep "$kind:" "$work/memcheck" | tail -1 | sed 's/.*: \(.*\) bytes in \(.*\) blocks.*/\2 \1/; s/,//g'
    done | tr '\n' ' ' | sed 's/ $//'
}

agree() { # FIELDS COMMAND…
    local fields=$1 we they
    shift
    for _ in 1 2 3; do
        we=$(ours "$@" | cut -d' ' -f"$fields")
        they=$(theirs "$@" | cut -d' ' -f"$fields")
        [ -z "$we" ] || [ "$we" != "$they" ] || break
    done
    [ -n "$we" ] && [ "$we" = "$they" ] || fail "$*: we say '$we', memcheck '$they'"
    compared=$((compared + 1))
}

compared=0
cd "$work" || exit 1
for victim in lost lost_cxx; do
    for each in $("$VICTIMS/$victim"); do
        case $each in
        in_registers_at_fast_exit) ;;
        on_waiting_stack | on_ended_stack) agree 1-5,7-8 "$VICTIMS/$victim" "$each" ;;
        *) agree 1-8 "$VICTIMS/$victim" "$each" ;;
        esac
    done
done
[ ! -x "$VICTIMS/lost_fortran" ] || agree 1-8 "$VICTIMS/lost_fortran"

seq 1 500 >numbers
printf 'int f(int x){return x*2;}\nint main(void){return f(3);}\n' >a.c
for program in "sort numbers" "grep -c 1 numbers" "sed s/1/2/ numbers" "ls -l $SOURCE/src" "tar cf /dev/null numbers" \
    "find /etc -maxdepth 1" "mawk {n+=\$1}END{print(n)} numbers" "sqlite3 :memory: .tables" "file a.c" "m4 a.c"; do
    ! command -v ${program%% *} >/dev/null || agree 1-8 $program
done
! command -v bash >/dev/null || agree 1-4 bash -c 'a=(1 2 3); echo ${a[@]}'
if command -v perl >/dev/null; then
    script='%h = map { $_ => 1 } 1 .. 1000; print scalar keys %h'
    cp "$(command -v perl)" by_another_name
    agree 1-4 ./by_another_name -e "$script"
    lost=$(ours perl -e "$script" | cut -d' ' -f1-2)
    [ "$lost" = '0 0' ] || fail "perl loses $lost"
fi
[ "$compared" -ge 45 ] || fail "only $compared were compared"
exit $failed
