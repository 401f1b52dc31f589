# How long ago memory was written, of a victim with a known pattern and of its child; and where the kernel
# cannot tell.
. "$HERE/lib.sh"

if ! tidemark record -q --heat=1s -o try.tmk true 2>err; then
    echo "skip: $(cat err)"
    exit 77
fi

# A page that is half full when it is looked at is written again.
rows() { # FILE: in KiB, of the last look
    query "$1" "SELECT function, (resident_bytes + 512) / 1024, (unwritten_1s_bytes + 32768) / 65536 * 64,
        unwritten_10s_bytes, (filled_bytes + 32768) / 65536 * 64 FROM owners
        WHERE kind = 'blocks' AND function LIKE 'victim_%' AND sample = (SELECT max(id) FROM sample) ORDER BY function"
}

echo "== memory that is written once, again, and half of it all the time"
for _ in 1 2 3; do # on a busy machine the last look may come a second after the last write
    tidemark record -q --heat=100ms -o run.tmk "$VICTIMS/warm"
    rows run.tmk >found
    ! grep -q 'half|4096|2048' found || break
done
cat found
echo "== a child has a watch of its own"
tidemark record -q --heat=100ms --separate -o both.tmk "$VICTIMS/warm" fork
for file in both*.tmk; do
    rows "$file" | cut -d'|' -f1,5
done
echo "== watches count as descriptors: none of many processes is lost for them"
(ulimit -n 128 && tidemark record --heat=100ms -o many.tmk sh -c 'i=0
    while [ $i -lt 40 ]; do perl -e "select undef, undef, undef, 1.5" & i=$((i + 1)); done; wait' 2>said)
grep 'not recorded' said
tidemark report --json . | jq '[.profiles[] | select(.program == "perl")] | length'
rm -f many*
echo "== text"
tidemark report --show=heat -n 3 -w 80 run.tmk | sed -n '/not 1 s/,$p' | cut -c1-49 | sed 's/ *$//; s/[0-9.]* MiB/N MiB/g' | tr -s ' '
tidemark report --json run.tmk | jq '[.owners[] | select(.kind == "blocks") | .unwritten_1s_bytes != null] | unique'
echo "== of shared memory and files it is not known"
tidemark report --json run.tmk | jq -c '[.owners[] | select(.kind == "file") | .unwritten_1s_bytes] | unique'
echo "== nobody asked"
try tidemark record -q -o none.tmk "$VICTIMS/basic" 1
tidemark report --show=heat none.tmk | grep -c 'is not known'
echo "== too often"
try tidemark record --heat=1ms true
sentence "10ms"
echo "== in a sandbox the program is left alone"
try tidemark record -q --heat=100ms -o sand.tmk "$CLI/cli_sandboxed" "$VICTIMS/basic" 1
query sand.tmk "SELECT count(unwritten_1s_bytes) FROM owner WHERE resident_bytes > 0"
try "$CLI/cli_sandboxed" tidemark record --heat=1s true
sentence "heat: .*(Linux 6.7|not permitted)"
