# What we say at the end may find nobody who reads it, or a file that is as large as files may be. The kernel
# ends who writes there by a signal. The program has not written, and its status is its own.
. "$HERE/lib.sh"
lib=$BIN/../lib

# Standard error is a pipe without a reader.
unread() {
    perl -e 'pipe R, W; close R; open STDERR, ">&", W; exec @ARGV' "$@"
    echo "status $?"
}
# Standard error is a file of 20 MB, and larger ones are not allowed.
full() {
    rm -f full && truncate -s 20480000 full
    { (ulimit -c 0; ulimit -f 20000; exec "$@" 2>>full); } 2>/dev/null
    echo "status $?"
}

for way in unread full; do
    echo "--- $way"
    $way sh -c 'exit 3'
    $way tidemark record -o run.tmk sh -c 'exit 3'
    $way tidemark count sh -c 'exit 3'
    $way env LD_PRELOAD="$lib/libtidemark-count.so" sh -c 'exit 3'
    $way env LD_PRELOAD="$lib/libtidemark-malloc-count.so" sh -c 'exit 3'
    $way env LD_PRELOAD="$lib/libtidemark.so" sh -c 'exit 3'
    # The program's own signals are the program's.
    $way perl -e 'syswrite STDERR, "x" or exit 4'
    $way tidemark record -q -o run.tmk perl -e 'syswrite STDERR, "x" or exit 4'
done
