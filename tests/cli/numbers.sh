# Numbers are decimal, and what does not fit is refused: never taken for another number.
. "$HERE/lib.sh"

tidemark record -q --max-depth=010 -o deep.tmk "$VICTIMS/recursion" 30 >/dev/null
query deep.tmk "WITH RECURSIVE deep(id, depth) AS (SELECT id, 1 FROM path WHERE parent = 0
    UNION ALL SELECT path.id, depth + 1 FROM path JOIN deep ON path.parent = deep.id)
    SELECT max(depth) FROM deep"
for wrong in --exit-wait=4294967296ms --exit-wait=18446744074s --exit-wait=0x10ms --max-depth=0x10 \
    --max-depth=4294967296 --max-depth=18446744073709551616 --ring=0x10000 --sample=99999999999999999999 \
    --trace\ --compress=zstd:4294967297 --budget-cpu=0x1% --for=1e999; do
    tidemark record $wrong -q -o wrong.tmk touch ran 2>err
    echo "$wrong $? $(wc -l <err)"
done
ls ran 2>/dev/null

# As many words as one likes, also by hand: the last counts.
export TIDEMARK_OPTIONS="$(yes -- --quiet | head -100 | tr '\n' ' ') -o many.tmk"
LD_PRELOAD="$(dirname "$BIN")/lib/libtidemark.so" ls / >/dev/null
until_true test -s many.tmk && ls many.tmk
# As many variables as one likes: the collector gets them all.
env -i $(seq -f 'VARIABLE_%g=' 1500) PATH="$PATH" TIDEMARK_CONFIG= TIDEMARK_OPTIONS="-o late.tmk" \
    LD_PRELOAD="$(dirname "$BIN")/lib/libtidemark.so" /bin/ls / >/dev/null
until_true test -s late.tmk && ls late.tmk
