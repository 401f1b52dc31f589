# No program or library of ours has the loader look in the current directory: no RUNPATH (or RPATH) with an
# entry that is empty or relative. $ORIGIN is the folder of the file itself.
. "$HERE/lib.sh"
command -v readelf >/dev/null || skip "no readelf"

# What is wrong with each file that has the loader look somewhere.
wrong_places() {
    local file places
    for file; do
        places=$(readelf -dW "$file" 2>/dev/null | sed -n 's/.*(\(RPATH\|RUNPATH\)).*\[\(.*\)\]$/\2/p')
        if [ -n "$places" ] && printf '%s\n' "$places" | tr : '\n' | grep -qv '^/\|^\$ORIGIN'; then
            echo "$(basename "$file"): $places"
        fi
    done
}

build=$(dirname "$BIN")
wrong_places "$BIN"/* "$build"/lib/lib*.so*
echo "built: $(readelf -h "$BIN"/* "$build"/lib/lib*.so* 2>/dev/null | grep -c 'Class:.*ELF' | awk '{ print ($1 > 8) }')"

# The test finds what it looks for.
echo 'int main(void) { return 0; }' >main.c
for place in '' : /usr/lib: lib /usr/lib:lib '/usr/lib:$ORIGIN/../lib'; do
    cc -o linked main.c ${place:+"-Wl,-rpath,$place"}
    [ -z "$(wrong_places linked)" ] && echo "'$place': right" || echo "'$place': wrong"
done

# Of libmpi.so in the current directory nothing is run.
if [ -x "$BIN/tidemark-mpi" ]; then
    mkdir here && cd here
    echo '#include <unistd.h>
__attribute__((constructor)) static void stranger(void) { write(2, "run: a stranger\n", 16); _exit(3); }' >stranger.c
    for library in $(readelf -dW "$BIN/tidemark-mpi" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | grep mpi); do
        cc -shared -fPIC -o "$library" stranger.c
    done
    "$BIN/tidemark-mpi" --version 2>&1 | grep stranger
fi
exit 0
