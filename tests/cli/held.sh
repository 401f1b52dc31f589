# Who holds what, as a victim with known answers leaves it: at the end, of a process that waits, of two
# snapshots, by call path and library, the chain to a block, and where it is not known.
. "$HERE/lib.sh"

top_rows() { # JQ of one row
    jq -r ".holders[] | select(.parent == 0 and (.kind == \"thread-local\" or (.name // \"\" | test(\"^(table|of_pool|shared_)\")))) | $1" | sort
}

begin() { # MODE: records the victim, which waits; its pid and an address
    rm -f to from live.tmk*
    mkfifo to from
    tidemark record -q --separate -o live.tmk "$VICTIMS/held" "$1" <to >from &
    recorder=$!
    exec 7>to 8<from
    read -r pid address <&8
}

go_on() {
    printf x >&7
}

end() {
    exec 7>&- 8<&-
    wait "$recorder"
}

echo "== at the end: what the variables hold"
tidemark record -q --held -o run.tmk "$VICTIMS/held"
tidemark held --json run.tmk | top_rows '"\(.kind) \(.name) \(.retained_blocks) \(.retained_bytes)"'
echo "== what two of them hold has both, and what each reaches, points to and keeps alone"
tidemark held --json run.tmk | jq -r '.holders[] | select(.kind == "several" and .own_blocks + .retained_blocks == 1 and .retained_bytes == 5000) |
    (.sharers | sort_by(.name)[] | "\(.kind) \(.name) \(.reached_blocks) \(.reached_bytes) \(.direct_bytes) \(.alone_bytes)"), "and \(.more_sharers) more"'
tidemark held -w 80 run.tmk | grep -A2 'shared_b, shared_a$' | tr -s ' '
echo "== what hangs below"
tidemark held --json run.tmk | jq -r '.holders as $all | $all[] | select(.kind == "mapping" or .kind == "blocks") |
    "\(.function // "") \(.own_blocks) \(.own_bytes) below \($all[.parent - 1] | .name // .function // .kind)"' | grep '^make_\|^fill_' | sort
echo "== own bytes add up to all that is alive"
tidemark query -f csv run.tmk "SELECT (SELECT sum(own_bytes) FROM holder WHERE kind < 10) = live_bytes,
    (SELECT sum(own_count) FROM holder WHERE kind < 10) = live_count FROM program" | tail -1 | tr -d "\r"
echo "== by call path"
tidemark held --json --by path run.tmk | jq -r '.holders[] | "\(.function) \(.own_bytes) \(.retained_bytes)"' | grep '^make_' | sort
echo "== by library"
tidemark held --by library run.tmk | grep -c '  held$'
echo "== by type: what a type's blocks keep counts once, whoever made them; of the rest none is known"
strip -o held_types "$VICTIMS/held_types"
tidemark record -q --held -o types.tmk ./held_types
by_type() { # PROFILE…
    tidemark held --json --by type "$@" | jq -r '.holders[] | select(.type | test("^(Node|Scene)$")) |
        "\(.type) \(.own_blocks) \(.own_bytes) keeps \(.retained_blocks) \(.retained_bytes)\(if .old_retained_bytes then ", before \(.old_retained_bytes)" else "" end)"' | sort
}
by_type types.tmk
by_type types.tmk types.tmk
tidemark held --json --by type types.tmk | jq '([.holders[].own_bytes] | add) + .untyped.bytes == .held.bytes'
tidemark held -w 80 --by type types.tmk | grep -E ' (Node|Scene)$|^Of ' | tr -s ' ' | sed 's/[0-9.]* [KM]*iB in [0-9,]* blocks/some/; s/ [0-9.]* %//'
echo "== by type, of the blocks that one function made"
tidemark record -q --held -o made.tmk "$VICTIMS/held_types"
by_type --filter 'make_odd' made.tmk
by_type --filter 'make_odd|make_even|main' made.tmk
by_type --filter 'make_odd' made.tmk made.tmk
tidemark held -w 80 --by type --filter make_odd made.tmk | grep -E '^only| Node$|^Of ' | tr -s ' '
try tidemark held --by library --filter make_odd made.tmk
sentence "not with --by=library or --path-to"
echo "== a type's rows of the tree: who holds its blocks"
tidemark held --json made.tmk >tree.json
tidemark held --json --by type made.tmk | jq -r --slurpfile tree tree.json '$tree[0].holders as $all | .holders[] | select(.type | test("^(Node|Scene)$")) |
    [.rows[] as $id | $all[$id - 1]] as $rows | "\(.type): \($rows | map(.own_blocks) | add) blocks, held by \([$rows[] | $all[.parent - 1].name // "blocks"] | unique | join(", "))"' | sort
echo "== text"
tidemark held -w 80 run.tmk | sed -n '4,$p' | grep ' table ' | tr -s ' '
echo "== report says who holds most, and what is lost"
tidemark report run.tmk | sed -n 's/^  never freed  /never freed  /p; s/^  held by  */held by  /p'
echo "== where the loader had its list of libraries, nothing of it is left"
tidemark record -q --held -o behind.tmk "$VICTIMS/held" behind
tidemark held --json behind.tmk | top_rows '"\(.kind) \(.name) \(.retained_blocks) \(.retained_bytes)"'
echo "== stdio's buffers hold nothing, though old addresses are in them; leaks sees these as memcheck does"
echo "short" >short
tidemark record -q --held -o stdio.tmk "$VICTIMS/held_stdio" "$PWD/short"
tidemark held --json stdio.tmk | jq -r '.holders as $all | .holders[] | select(.through == "make_kept") |
    "\(.own_bytes) below \($all[.parent - 1] | .name // .kind)"' | sort
tidemark held -w 120 stdio.tmk | sed -n 's/.* are held, //p'
tidemark leaks stdio.tmk | head -1
echo "== few blocks, and nobody asked: one sentence"
tidemark record -q -o few.tmk "$VICTIMS/basic" 1
try tidemark held few.tmk
sentence "not known: nobody asked"
echo "== nothing was alive"
tidemark record -q --held -o none.tmk "$VICTIMS/lost" freed_at_exit
try tidemark held none.tmk
sentence "not known: no block was alive"
echo "== of a process"
begin wait
tidemark held --json "$pid" | top_rows '"\(.kind) \(.name) \(.retained_blocks) \(.retained_bytes)"'
echo "== what only a stack holds"
tidemark held --json "$pid" | jq -r '.holders as $all | $all[] | select(.own_bytes == 2000) | "\(.function) below \($all[.parent - 1].kind)"'
echo "== what is lost"
tidemark leaks "$pid" | head -1
echo "== the chain"
tidemark held --json --path-to "$address" "$pid" |
    jq -r '.chain[] | "\(.kind) \(.name) \(.function) \(.bytes) +\(.pointer_offset) \(.target_offset)"'
tidemark held --path-to "$address" "$pid" | wc -l
tidemark held --path-to "$((address))" "$pid" | wc -l # as JSON has it
try tidemark held --path-to 0x10 "$pid"
sentence "0x10 is in no block"
echo "== its snapshots are gone"
ls live.snap-* 2>/dev/null | wc -l
go_on
end
echo "== two snapshots"
begin grow
old=$(tidemark snapshot "$pid")
go_on
read -r pid address <&8
new=$(tidemark snapshot "$pid")
tidemark held --json "$old" "$new" | top_rows '"\(.name) \(.old_retained_bytes) \(.retained_bytes)"'
tidemark held -w 80 "$old" "$new" | grep ' table ' | tr -s ' '
go_on
end
echo "== rows that would be the same line say which caller they are of"
for mode in few more; do
    tidemark record -q --held -o $mode.tmk "$VICTIMS/held_apart" $mode
done
shown() { # the rows of the blocks
    tidemark held --color=never -w 80 "$@" | grep -A1 'make_one' | tr -s ' ' | sed 's/^ //; s|[^ ]*/held_apart|…/held_apart|'
}
shown few.tmk
echo "-- of two recordings"
shown few.tmk more.tmk
echo "== refused"
try tidemark held --path-to 0x10 run.tmk
sentence "needs a process"
try tidemark held
sentence "no profile and no process given"
try tidemark held 999999999
sentence "there is no process"
# By a collector's name somebody listens who takes nobody: a process that is not there is asked of nobody.
cat >deaf.py <<'EOF'
import socket, subprocess
kind = (socket.AF_UNIX, socket.SOCK_SEQPACKET)
deaf, callers = socket.socket(*kind), [socket.socket(*kind) for _ in range(4)]
deaf.bind("\0tidemark-deaf")
deaf.listen(0)
for caller in callers:
    caller.setblocking(False)
    caller.connect_ex("\0tidemark-deaf")
print(subprocess.run(["timeout", "20", "tidemark", "held", "999999999"], stderr=-1).stderr.decode(), end="")
EOF
if unshare -rn true 2>/dev/null; then
    unshare -rn python3 deaf.py
else
    echo "tidemark held: there is no process 999999999"
fi
tidemark record -q --sample=1 -o sampled.tmk "$VICTIMS/held"
try tidemark held sampled.tmk
sentence "not known: .*--sample"
