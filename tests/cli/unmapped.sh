# What munmap gives back is what was memory: neither reserved addresses nor what is unmapped already.
. "$HERE/lib.sh"
"$BIN/tidemark" record -q -o unmapped.tmk "$CLI/cli_unmapped"
"$BIN/tidemark" report --width=200 unmapped.tmk | sed -n 's/.*calls of mmap, //p'
