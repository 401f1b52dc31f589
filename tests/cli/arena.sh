# Allocators that a program brings itself, named with --allocator-functions.
. "$HERE/lib.sh"

ALL='arena_alloc(2,pool=1) arena_zalloc(2*3,pool=1) arena_out(3,out=1,pool=2)
    arena_resize(3,block=2,pool=1) arena_free arena_reset(end=1) arena_jump(2,pool=1) hidden_alloc(1)
    tail_alloc(2,pool=1)'

events() { # OPTIONS: what the program did
    "$BIN/tidemark" record -q --trace -o arena.tmk "$@" "$CLI/cli_arena" >/dev/null
    "$BIN/tidemark" events --json -k pool,free,malloc,mmap,munmap arena.tmt |
        jq -r '[.kind, .size_bytes, .frames[0].function] | map(select(. != null)) | join(" ")'
}

"$CLI/cli_arena" >bare
"$BIN/tidemark" record -q --allocator-functions="$ALL" "$CLI/cli_arena" | cmp - bare
# Threads take turns as they like.
events --allocator-functions="$ALL" >all
sed '/munmap/,$d' all | uniq -c | sed 's/^ *//'
sed -n '/munmap/,$p' all | sort | uniq -c | sed 's/^ *//'
# Divided among the blocks, and not counted twice.
"$BIN/tidemark" report --json arena.tmk | jq -c '[.unseen, .peak_bytes < 70000]'

echo "refused:"
for functions in 'arena_alloc(2) arena_loop(end=1)' 'arena_chosen(1)' 'no_such(1) arena_alloc(2)'; do
    "$BIN/tidemark" record -o refused.tmk --allocator-functions="$functions" "$CLI/cli_arena" 2>said >/dev/null
    "$BIN/tidemark" report --json refused.tmk | jq -r '.unseen[] | .what + ": " + .why'
    grep 'not there' said
done
"$BIN/tidemark" record -o refused.tmk --allocator-functions='arena_alloc(2)' "$CLI/cli_arena_stripped" 2>&1 >/dev/null |
    grep 'not there'

echo "words:"
for functions in 'a(9)' 'a(pool=1)' '(1)' 'a(1' '@nowhere' 'a(1,2,x=3)'; do
    "$BIN/tidemark" record --allocator-functions="$functions" true 2>&1 | head -1
done
"$BIN/tidemark" record --sample=4K --allocator-functions='a(1)' true 2>&1 | head -1
"$BIN/tidemark" record --allocator-functions=list | sort | tr '\n' ' '
echo
echo "$ALL # a comment" >list
events --allocator-functions=@list | grep -c '^pool [0-9]'
