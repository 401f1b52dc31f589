# Where most of the memory stands at addresses of a program without symbols, the first screen says what
# gives them names; of one with symbols it does not.
. "$HERE/lib.sh"

names() { tidemark report "$1" | sed -n '/^  names/,/^$/p'; }

cp "$VICTIMS/wrapped" bare
strip bare
echo "== stripped"
tidemark record -q -o bare.tmk ./bare
names bare.tmk
echo "== with symbols"
tidemark record -q -o named.tmk "$VICTIMS/wrapped"
names named.tmk
echo "== a name that is hostile to terminals"
cp bare "$(printf 'ba\033[31mre')"
tidemark record -q -o hostile.tmk "./$(printf 'ba\033[31mre')"
names hostile.tmk | grep -c "$(printf '\033')" || true
