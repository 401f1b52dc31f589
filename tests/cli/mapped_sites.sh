# Mappings as call paths have them, cut, replaced, reserved and given back; live as from a trace.
. "$HERE/lib.sh"

tell() { # FILE: of each function that maps, in pages
    rm -f "$1.db"
    "$BIN/tidemark" unpack "$1" "$1.db"
    sqlite3 -separator ' ' "$1.db" "SELECT function.name, 'made', alloc_count, alloc_bytes / 4096, 'again', realloc_count,
        realloc_bytes / 4096, 'ended', free_count, free_bytes / 4096, 'live', live_count, live_bytes / 4096,
        'peak', peak_bytes / 4096, 'unmapped here', freed_count, freed_bytes / 4096,
        'reserved', reserved_bytes / 4096, 'discarded', discarded_bytes / 4096
        FROM mapped_site JOIN path ON path.id = mapped_site.path JOIN location_frame USING (location)
        JOIN function ON function.id = location_frame.function
        WHERE depth = 0 AND function.name IN ('map', 'maps_and_cuts', 'is_replaced', 'replaces', 'reserves', 'commits',
        'grows', 'attaches') ORDER BY function.name, mapped_site.path"
}

"$BIN/tidemark" record -q --trace -o live.tmk "$CLI/cli_mapped_sites"
tell live.tmk
"$BIN/tidemark" replay -o again.tmk live.tmt >out 2>&1 || cat out
tell again.tmk >of_trace
tell live.tmk | diff - of_trace
