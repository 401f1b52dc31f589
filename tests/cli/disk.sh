# A full disk: one sentence, and the program is unharmed.
. "$HERE/lib.sh"

[ "$(id -u)" = 0 ] || skip "not root: no file system to fill"
mkdir small
mount -t tmpfs -o size=1m tmpfs small 2>/dev/null || skip "cannot mount here"
trap 'umount small' EXIT

try tidemark record -q -o small/full.tmk "$VICTIMS/recursion" 8
cat out
sentence "small/full"
rm -f small/*
head -c 2M /dev/zero >small/filler 2>/dev/null
try tidemark record -q -o small/full.tmk "$VICTIMS/basic" 8
cat out
sentence "small/full"
ls small
try tidemark record -q --trace -o trace.tmk "$VICTIMS/basic" 8
try tidemark replay trace.tmt -o small/replayed.tmk
sentence "there is no profile"
rm small/filler
head -c 700K /dev/zero >small/filler
try tidemark replay trace.tmt -o small/replayed.tmk
sentence "small/replayed.tmk"
ls small

# A directory that is not there, or cannot be written: a sentence, before or after the program ran.
"$BIN/tidemark" record -q -o no/such/place.tmk "$VICTIMS/basic" 1 >out 2>err
sentence "no/such/place"
"$BIN/tidemark" record -q -o /proc/place.tmk "$VICTIMS/basic" 1 >out 2>err
sentence "/proc/place"
