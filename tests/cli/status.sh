# The program's exit status is ours, and so is its death by a signal.
. "$HERE/lib.sh"

for code in 0 1 7 125 126 127 255; do
    tidemark record -q sh -c "exit $code"
    echo "exit $code: $?"
done

# What a parent sees, exactly: exit status and signal.
for how in return exit _exit quick_exit abort segv term kill int fpe; do
    perl -e 'system { $ARGV[0] } @ARGV; printf "exit %d, signal %d\n", $? >> 8, $? & 127' \
        tidemark record -q -o end.tmk "$VICTIMS/endings" $how | sed "s/^exit/$how: exit/" |
        grep -v 'before the end'
done
echo "profiles: $(ls end.tmk*)"
