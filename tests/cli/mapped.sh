# What a program maps, and what it does to mappings, is told with its kind: each call once.
. "$HERE/lib.sh"

said() { # TRACE: size, kind and what else is said of the program's calls, in its order. What an
         # allocator maps is told without a path.
    "$BIN/tidemark" events --json -k mmap,munmap,mprotect,madvise,brk "$1" |
        jq -r 'select(.allocator != true and .frames[0].function != "[no call path]") | [.kind, (if .failed then "failed" else .size_bytes / 4096 | tostring end), .mapping,
            (if .reserved then "reserved" else null end), (if .moved then "moved" else null end),
            (if .stack then "stack" else null end), (if .fixed then "fixed" else null end),
            (if .access == null then null elif .access then "access" else "none" end), .advice,
            .frames[0].function] | map(select(. != null)) | join(" ")'
}

"$CLI/cli_mapped"
"$BIN/tidemark" record -q --trace -o mapped.tmk "$CLI/cli_mapped"
said mapped.tmt
"$BIN/tidemark" events -k madvise mapped.tmt | awk '{ print $4, $6, $7, $8 }'

echo "in handlers:"
"$BIN/tidemark" record -q --trace -o barriers.tmk "$CLI/cli_mapped" barriers
said barriers.tmt | sort | uniq -c | sed 's/^ *//'

# What allocators map is theirs, in whatever thread and before anybody has called them.
export MALLOC_CONF=background_thread:true,dirty_decay_ms:50,muzzy_decay_ms:0 TCMALLOC_RELEASE_RATE=100
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
    path=$(ldconfig -p | sed -n "s/.*$library .*=> //p" | head -1)
    if [ -n "$path" ]; then
        LD_PRELOAD=$path "$BIN/tidemark" record -q --trace -o "$library.tmk" "$CLI/cli_mapped" >/dev/null
        said "$library.tmt" >of_allocator
        said mapped.tmt | diff - of_allocator >&2
        LD_PRELOAD=$path "$BIN/tidemark" record -q --trace -o "$library.tmk" "$CLI/cli_mapped" churn >/dev/null
        said "$library.tmt" >&2
        case $library in
        libtcmalloc*) ;; # it moves the break
        *) "$BIN/tidemark" events -k mmap "$library.tmt" | grep -q "anonymous, the allocator's" || echo "$library maps nothing" >&2 ;;
        esac
    fi
done
"$BIN/tidemark" record -q --allocator=bfm --trace -o bfm.tmk "$CLI/cli_mapped" churn
said bfm.tmt
for events in all pages; do
    "$BIN/tidemark" record -q --allocator=bfm --events=$events -o $events.tmk "$CLI/cli_mapped"
    "$BIN/tidemark" query $events.tmk "SELECT sum(map_count), sum(map_bytes) FROM site"
done
