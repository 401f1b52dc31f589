# What users type for what they mean: --show has a word for it, and --force of record keeps what is there.
. "$HERE/lib.sh"
tidemark record -q -o run.tmk "$VICTIMS/basic" >/dev/null
for word in leaks realloc function owners mapped nonsense; do
    tidemark report --show $word run.tmk 2>&1
done
echo mine >notes
try tidemark record -q -o notes "$VICTIMS/basic"
sentence "choose another name, or --force, which keeps it as .old"
cat notes
try tidemark record --force -q -o notes "$VICTIMS/basic"
cat notes.old
tidemark report notes | grep -c requested.in
mkdir directory
try tidemark record --force -q -o directory "$VICTIMS/basic"
sentence "no regular file"
