# 64 GiB reserved as Go's runtime does it, committed by mprotect and by MAP_FIXED, touched and given back in
# part: each level says what it is of that, to the byte.
. "$HERE/lib.sh"

M=1048576
tidemark record -o run.tmk "$CLI/cli_reservations" 2>summary
rm -f run.db
tidemark unpack run.tmk run.db
echo "in MiB, by call path: mapped at the peak, live, reserved, given back:"
sqlite3 -separator ' ' run.db "SELECT function.name, at_peak_bytes / $M.0, live_bytes / $M.0, reserved_bytes / $M.0,
    discarded_bytes / $M.0 FROM mapped_site JOIN path ON path.id = mapped_site.path
    JOIN location_frame USING (location) JOIN function ON function.id = location_frame.function
    WHERE depth = 0 AND function.name IN ('reserves', 'protects', 'fixes', 'gives_back') ORDER BY 1, 2"
tidemark report --json run.tmk >report.json
echo "the program's: mapped at the peak, live, given back:"
jq -c "[.mapped | (.metrics.peak_bytes, .metrics.live_bytes, .discard_bytes) / $M]" report.json
echo "resident, by owner:"
jq -r "[.owners[] | select(.kind == \"mapping\" and .function)] | group_by(.function)[] |
    \"\(.[0].function) \(map(.resident_bytes) | add / $M)\"" report.json
jq '.resident_bytes == ([.owners[].resident_bytes] | add)' report.json
echo "in words:"
tidemark report --width=200 run.tmk >out
sed -n '/^  mapped/p' out | grep -o 'mapped  *82.0 MiB at most\|82.0 MiB at the end\|63.9 GiB reserved and not used'
sed -n '/^Resident  /,/^Held/p' out | grep -o '22.0 MiB .* mapping  *protects' | sed 's/  .*  / … /'
tidemark report --of=mapped run.tmk | grep -o '^  peak  *82.0 MiB in 3 mappings\|^  never unmapped 82.0 MiB in 3 mappings'
tidemark report --of=mapped --show=sites -s mmap run.tmk | grep -o '^Bytes mapped  [0-9.]* GiB'
lines() {
    grep -oE "^  (mapped( by|   .*| )|peak|allocations)" | sed 's/, after.*//'
}
echo "what is resident comes first:"
lines <summary
tidemark report run.tmk | sed -n '/^ *[0-9.]* [KM]iB ┤/q;p' | lines
echo "addresses come after the heap:"
tidemark record -o more.tmk "$CLI/cli_reservations" addresses 2>&1 | lines
tidemark report more.tmk | sed -n '/^ *[0-9.]* [KM]iB ┤/q;p' | lines
echo "what was resident for a moment, which the kernel alone has seen, is no address space:"
tidemark record -o moment.tmk "$CLI/cli_reservations" moment 2>&1 | lines
tidemark report moment.tmk | sed -n '/^ *[0-9.]* [KM]iB ┤/q;p' | lines
echo "without looks only samples say what was:"
tidemark record --no-looks -o more.tmk "$CLI/cli_reservations" addresses 2>&1 | lines
