# Blocks that only the kernel points to are not lost: stacks of signal handlers, what epoll and timers
# give back. As soon as the kernel has let go of them they are.
. "$HERE/lib.sh"

for each in $("$VICTIMS/kernel_held"); do
    tidemark record -q -o run.tmk "$VICTIMS/kernel_held" "$each"
    echo "$each: $(tidemark leaks --json run.tmk | jq -r '.lost | "\(.blocks) \(.bytes)"') lost"
done
echo "== who holds it"
tidemark record -q --held -o run.tmk "$VICTIMS/kernel_held" signal_stack
tidemark held --json run.tmk | jq -r '.holders as $all | $all[] | select(.own_bytes == 20000) | "\(.function) below \($all[.parent - 1].kind)"'
tidemark held run.tmk | grep -c ' registers, or only the kernel$'
