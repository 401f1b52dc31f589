# Libraries whose paths are as long as paths can be: their functions have names, and a dlclose of
# another library does not split their call sites.
. "$HERE/lib.sh"

cp "$ATTACHED_PLUGIN" other.so
here=$(pwd)
for bytes in 100 511 512 513 2000 4095; do
    [ "$bytes" -gt $((${#here} + 10)) ] || continue
    path=$here
    while [ $((bytes - ${#path})) -gt 220 ]; do
        path=$path/$(printf '%0200d' "$bytes")
    done
    while [ $((bytes - ${#path})) -gt 210 ]; do path=$path/12345; done
    # No longer than a name can be.
    path=$path/$(printf "%0$((bytes - ${#path} - 4))d" 0).so
    mkdir -p "$(dirname "$path")" && cp "$ATTACHED_PLUGIN" "$path" || continue
    tidemark record -q --trace -o long.tmk "$CLI/cli_long_paths" "$path" "$here/other.so"
    echo "status $?"
    tidemark replay -q -o again.tmk long.tmt || echo "the trace is not good"
    for profile in long.tmk again.tmk; do
        query $profile "SELECT module.path = '$path', count(DISTINCT path.id), sum(alloc_count) FROM site
        JOIN path ON path.id = site.path JOIN location ON location.id = path.location
        JOIN location_frame ON location_frame.location = location.id
        JOIN function ON function.id = location_frame.function
        JOIN module ON module.id = location.module
        WHERE function.name = 'victim_plugin' AND module.path LIKE '%0.so'"
    done
    rm -f long.* again.*
done
