# What is recorded are the program's calls, all of them and no others: a library beneath the recorder
# counts what comes to the allocator, without the recorder and with it.
. "$HERE/lib.sh"

sum() { awk -v column="$2" '$1 != "free" { n += $column } END { print n }' "$1"; } # FILE COLUMN
calls() { awk '{ print $1, $2 }' "$1"; }

compare() { # NAME PROGRAM …
    local name=$1 pid
    shift
    rm -f bare.* with.* ./*.tmt
    COUNT_FILE=bare LD_PRELOAD=$COUNT_CALLS "$@" >/dev/null
    COUNT_FILE=with LD_PRELOAD=$COUNT_CALLS "$BIN/tidemark" record -q --trace -o '%p.tmk' "$@" >/dev/null
    pid=$(basename ./*.tmt .tmt)
    mv bare.* bare
    mv "with.$pid" with
    # The recorder makes no call, and spares the program none.
    if calls bare >calls_bare && calls with | cmp -s calls_bare -; then
        echo "$name: the same calls, recorded or not"
    else
        paste bare with
    fi
    # The one difference: the C library's table of a thread's modules (its dtv) has a place more.
    grown=$(($(sum with 3) - $(sum bare 3)))
    places=$((grown / 16))
    if [ $((grown % 16)) != 0 ] || [ "$places" != "$THREADS" ]; then
        echo "the calls ask for $grown bytes more"
    elif [ "$grown" != 0 ]; then
        echo "$name: 16 bytes more for each of its $places threads, for the recorder's place in them"
    fi
    "$READ_TRACE" "$pid.tmt" >trace
    if [ "$(awk '/^(births|failed):/ { n += $2 } END { print n }' trace)" = "$(sum with 2)" ] &&
        [ "$(sed -n 's/^deaths: //p' trace)" = "$(awk '$1 == "free" { print $2 }' with)" ] &&
        { [ "$BYTES" = rounded ] || [ "$(sed -n 's/^bytes: //p' trace)" = "$(sum with 3)" ]; }; then
        echo "$name: recorded are those and no others"
    else
        cat trace with
    fi
}

BYTES=exact
THREADS=0
compare ls /bin/ls /
BYTES=rounded # operator new makes an aligned size of an odd one
compare cxx_new "$VICTIMS/cxx_new"
compare destructors "$VICTIMS/destructors"
BYTES=exact
compare dlopen "$VICTIMS/dlopen" "$VICTIMS/plugin_alpha.so" "$VICTIMS/plugin_beta.so"
THREADS=5
compare basic "$VICTIMS/basic" 5
THREADS=8
compare recursion "$VICTIMS/recursion" 8
THREADS=4
compare crossfree "$VICTIMS/crossfree" 4
