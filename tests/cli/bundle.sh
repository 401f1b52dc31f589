# Recording where nothing is installed: a bundle in a directory, elsewhere, and in a chroot that has a C
# library and one program.
. "$HERE/lib.sh"

try tidemark bundle tm
grep -c '^tm: [0-9]* files, .*; tm/bin/tidemark record PROGRAM' out
ls tm/bin tm/lib | grep -v '^tm/'
file=$(ls tm/lib/tidemark | grep -c '^libc\.so\.6$')
echo "its C library: $file"

echo "--- it needs neither its place nor what it was made of"
mv tm moved
mkdir -p other/place && mv moved other/place/tm
: >empty.conf
try env -i PATH=/nowhere LD_LIBRARY_PATH=/nowhere "$PWD/other/place/tm/bin/tidemark" record -q -o a.tmk "$VICTIMS/basic" 1
tidemark report --json a.tmk | jq -c '[.program.alloc_count > 0, .end]'
(cd other/place/tm/bin && ./tidemark version) | grep -c tidemark
ln -s other/place/tm/bin/tidemark link
./link version | grep -c tidemark
LD_PRELOAD=$PWD/other/place/tm/lib/libtidemark.so TIDEMARK_OPTIONS='-q -o hand.tmk' "$VICTIMS/basic" 1
cmp <(tidemark report --json a.tmk | jq .program.alloc_count) <(tidemark report --json hand.tmk | jq .program.alloc_count) &&
    echo "by hand the same"

echo "--- into an empty directory, which may be the one that we are in"
mkdir empty
(cd empty && tidemark bundle -q . && ls bin)
echo "--- the doctor of a bundle tries the bundle"
empty/bin/tidemark doctor -j | jq -r '.findings[] | select(.area == "recording") | [.state, .what] | @tsv'
echo "--- in a chroot"
loader=$(ldd "$VICTIMS/basic" | sed -n 's/^\s*\(\/[^ ]*ld-[^ ]*\) .*/\1/p')
mkdir -p root/out root/tmp "root$(dirname "$loader")" root/bin
cp "$VICTIMS/basic" root/bin/
cp "$loader" "root$loader"
ldd "$VICTIMS/basic" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | while read -r library; do
    mkdir -p "root$(dirname "$library")"
    cp "$library" "root$library"
done
mv other/place/tm root/tm
if [ "$(id -u)" = 0 ]; then into=chroot; else into='unshare -r chroot'; fi
if $into root /bin/basic 1 >/dev/null 2>&1; then
    $into root /tm/bin/tidemark record -q -o /out/b.tmk /bin/basic 1 >out 2>err
    echo "status $?"
    cat err
    cmp <(tidemark report --json a.tmk | jq .program.alloc_count) <(tidemark report --json root/out/b.tmk | jq .program.alloc_count) &&
        echo "the same figures"
    tidemark report root/out/b.tmk >/dev/null && echo "a report outside"
    $into root /tm/bin/tidemark report /out/b.tmk >/dev/null && echo "a report inside"
else
    printf 'status 0\nthe same figures\na report outside\na report inside\n' # no chroot may be made
fi

echo "--- refused"
mkdir full && touch full/file
try tidemark bundle full
cat err
try tidemark bundle
head -1 err
try root/tm/bin/tidemark bundle again
cat err
try tidemark bundle nowhere/deep
cat err
