#!/bin/bash
# g++ on the shipped example: the driver, cc1plus, as and the linker, a profile each; same object code.
. "$(dirname "$0")/lib.sh"

need g++
cd "$work" || exit 1
g++ -std=c++17 -O1 -c "$SOURCE/examples/heavy.cpp" -o bare.o || fail "the example does not compile"
"$TIDEMARK" record -q --separate -o '%n.tmk' g++ -std=c++17 -O1 -c "$SOURCE/examples/heavy.cpp" -o heavy.o ||
    fail "exit status $?"
cmp bare.o heavy.o || fail "the object code differs"
for program in g++ cc1plus as; do
    # g++ is a link to what it is called on this machine.
    found=$(ls -- *"$program"*.tmk 2>/dev/null | head -1)
    [ -n "$found" ] || { fail "no profile of $program: $(ls -- *.tmk)"; continue; }
    [ "$found" = "$program.tmk" ] || cp "$found" "$program.tmk"
    check_account "$program"
done
allocations=$(value cc1plus 'SELECT alloc_count FROM program')
[ "$allocations" -gt 100000 ] || fail "cc1plus allocates more than $allocations times"
"$TIDEMARK" report cc1plus.tmk >report || fail "the report of cc1plus fails"
"$TIDEMARK" report --json cc1plus.tmk | jq -e . >/dev/null || fail "the report of cc1plus is not JSON"
exit $failed
