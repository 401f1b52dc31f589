# A full disk: one sentence, and the program is unharmed. A profile that just fits is whole.
. "$HERE/lib.sh"

[ "$(id -u)" = 0 ] || skip "not root: no file system to fill"
mkdir small
mount -t tmpfs -o size=1m tmpfs small 2>/dev/null || skip "cannot mount here"
trap 'umount small' EXIT

try tidemark record -o small/full.tmk "$VICTIMS/recursion" 8
cat out
tidemark report small/full.tmk | grep -c 'exit status 0'
rm -f small/*
head -c 2M /dev/zero >small/filler 2>/dev/null
try tidemark record -o small/full.tmk "$VICTIMS/basic" 8
cat out
sentence "small/full.*No space left on device; there is no profile$"
ls small
try tidemark record -q --trace -o trace.tmk "$VICTIMS/basic" 8
try tidemark replay trace.tmt -o small/replayed.tmk
sentence "there is no profile"
rm small/filler
head -c 700K /dev/zero >small/filler
try tidemark replay trace.tmt -o small/replayed.tmk
sentence "small/replayed.tmk"
ls small

# A directory that is not there, or cannot be written: a sentence, and nothing is begun that may take days;
# of /proc, and of a name that is known when the program is, it can be said in the end only.
try tidemark record -q -o no/such/place.tmk "$VICTIMS/basic" 1
sentence "no/such/place.tmk: no file can be made in no/such: No such file"
try tidemark record -q -o small "$VICTIMS/basic" 1
sentence "small: it is there already and is no regular file"
try tidemark record -q -o err/place.tmk "$VICTIMS/basic" 1
sentence "in err: Not a directory"
mkdir gone
(cd gone && rmdir ../gone && tidemark record "$VICTIMS/basic" 1 >../out 2>../err || echo "status $?")
sentence "in .: No such file"
try tidemark record -o '%h/no/%p.tmk' "$VICTIMS/basic" 1
cat out
sentence "/no/[0-9]*.tmk"
"$BIN/tidemark" record -o /proc/place.tmk "$VICTIMS/basic" 1 >out 2>err
sentence "/proc/place"
