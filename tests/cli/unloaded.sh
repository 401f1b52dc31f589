# A program that unloads an interpreter runs on, whoever closes it; and when it loads it again, elsewhere, its
# paths are its functions once more.
. "$HERE/lib.sh"

check() { # KIND LIBRARY
    bare=1
    recorded=0
    if [ -f "$2" ]; then
        bare=0
        "$CLI/cli_unloaded" "$1" "$2" "$CLI/libcli_unloaded_holder.so" 2>bare.txt || bare=$?
    fi
    if [ "$bare" -ne 0 ]; then
        echo "$1: 0, 4 blocks of big" # there is none that goes
        return
    fi
    tidemark record -q -o "$1.tmk" "$CLI/cli_unloaded" "$1" "$2" "$CLI/libcli_unloaded_holder.so" 2>recorded.txt || recorded=$?
    echo "$1: $recorded, $(query "$1.tmk" "SELECT sum((alloc_bytes + realloc_bytes) >> 20) FROM site JOIN path ON path.id = site.path
        JOIN location_frame AS frame USING (location) JOIN function ON function.id = frame.function
        WHERE function.name = 'big' AND frame.depth = 0 AND site.peak_bytes >= 1 << 20") blocks of big"
}

left() { # LIBRARY: whoever closes does not wait for long for hooks that are at work no more
    if [ ! -f "$1" ]; then
        echo soon
        return
    fi
    tidemark record -q -o left.tmk "$CLI/cli_unloaded_left" "$1" "$CLI/libcli_unloaded_holder.so"
}

perl=$(perl -e 'exit !($] >= 5.028 && $] < 5.042)' 2>/dev/null &&
    ldconfig -p | sed -n 's/.*libperl\.so\.[0-9.]* .*=> //p' | head -n 1)
python=$(python3 -c 'import sys, sysconfig as s
if (3, 11) <= sys.version_info < (3, 14): print(s.get_config_var("LIBDIR") + "/" + s.get_config_var("INSTSONAME"))' 2>/dev/null)
php=$(ldconfig -p | sed -n 's/.*libphp8\.[1-4]\.so .*=> //p' | head -n 1)
export USE_ZEND_ALLOC=0 # each of PHP's blocks is malloc's
check perl "$perl"
check php "${TIDEMARK_LIBPHP:-$php}"
check python "$python"
left "$(if [ -f "$python" ]; then echo "$python"; else echo "$perl"; fi)"
