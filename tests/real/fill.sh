#!/bin/bash
# fill.sh: how full Rust's vectors, strings and maps are, as the program itself says.
. "$(dirname "$0")/lib.sh"
need jq
need rustc

cd "$work" || exit 1
for level in 0 1 3; do
    rustc -g -C opt-level=$level -o "filled$level" "$SOURCE/tests/victims/filled_rust.rs" || skip "rustc does not build"
    "$TIDEMARK" record -q -o "filled$level.tmk" "./filled$level" | sort >said
    "$TIDEMARK" report --json "filled$level.tmk" | jq -r '.fill.containers | group_by(.function)[] |
        "\(.[0].function | sub("^filled_rust::"; "")) \(map(.count) | add) \(map(.bytes) | add) \(map(.used_bytes) | add)"' |
        grep '^make_' | sort >found
    diff found said || fail "-O$level: not as it says"
done
exit $failed
