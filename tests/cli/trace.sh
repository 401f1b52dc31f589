# Traces: what the replay of the recording was fed with, all of it, beside the profile.
. "$HERE/lib.sh"

# The profile's own figures of each call path, and those that a replay of the trace gives.
same() { # NAME
    query "$1.tmk" "SELECT path, alloc_count, alloc_bytes, free_count, peak_bytes, live_bytes
        FROM site; SELECT 'program', peak_bytes FROM program" | sort >told
    "$READ_TRACE" "$1.tmt" --sites | sort >replayed
    [ -s told ] && cmp told replayed && echo "$1: the trace says what the profile says"
}
record() { # NAME PROGRAM …
    local name=$1
    shift
    tidemark record -q --trace -o "$name.tmk" "$@" >/dev/null || echo "status $?"
}
method() { od -An -tu4 -j16 -N8 "$1"; } # how it is packed, and zstd's level

record basic "$VICTIMS/basic" 5
same basic
stat -c '%n %a' basic.tmt
record realloc "$VICTIMS/realloc"
same realloc
record threads "$VICTIMS/crossfree" 4
same threads
record free_stacks --free-stacks "$VICTIMS/crossfree" 2
same free_stacks
record sampled --sample=4K "$VICTIMS/sampled"
same sampled
bash -c 'tidemark record -q --trace -o killed.tmk sh -c "kill -9 \$\$"; :' 2>/dev/null
same killed
"$READ_TRACE" killed.tmt | grep -E '^(damage|end)'

# The one that was there steps aside; the closing words name it.
try tidemark record --trace -o basic.tmk "$VICTIMS/basic" 1
grep -cE '^  trace +basic.tmt \([0-9.]+ KiB\)$' err
ls basic.tmt basic.tmt.old

# Without --trace there is none.
tidemark record -q -o plain.tmk "$VICTIMS/basic" 1 >/dev/null
ls plain.*

# One for each process image that has a profile, and none for forks that do next to nothing.
record 'c.%n.%p' "$VICTIMS/spawn"
ls c.*.tmk | sed 's/tmk$//' >profiles
ls c.*.tmt | sed 's/tmt$//' | cmp profiles - && echo "as many traces as profiles"
record one "$VICTIMS/fork" 4
ls one.*.tmt | wc -l

# How it is packed: the same one thread each time, whose stream is the same but for the times.
for how in none lz4 zstd zstd:1 zstd:19; do
    record "$how" --compress=$how perl -e \
        'my %h; for my $i (1 .. 60000) { $h{"key$i"} = "v" x ($i % 97) }'
    echo "$how:$(method $how.tmt)"
    "$READ_TRACE" $how.tmt | grep damage
done
[ $(($(stat -c %s none.tmt) * 2)) -gt $(($(stat -c %s lz4.tmt) * 3)) ] &&
    [ "$(stat -c %s lz4.tmt)" -gt "$(stat -c %s zstd.tmt)" ] && echo "none > lz4 > zstd"
for how in gzip zstd:0 zstd:23 zstd:x lz4:3 ''; do
    tidemark record --trace --compress=$how "$VICTIMS/basic" 1 >out 2>err
    echo "status $?"
    sentence "zstd:LEVEL"
done
tidemark record --trace -o x.tmt "$VICTIMS/basic" 1 >out 2>err
echo "status $?"
sentence "the trace gets the same name"

# Preloaded by hand.
TIDEMARK_OPTIONS='--trace --compress=lz4 -o hand.tmk' LD_PRELOAD="$BIN/../lib/libtidemark.so" \
    "$VICTIMS/basic" 1 >/dev/null
same hand
method hand.tmt

# Who takes it for a profile is told what to do.
tidemark report basic.tmt >out 2>err
echo "status $?"
sentence 'tidemark replay basic.tmt'

# Where no trace can be written the profile is as ever.
mkdir dir.tmt
try tidemark record --trace -o dir.tmk "$VICTIMS/basic" 1
grep dir.tmt err >said && mv said err
sentence "cannot write the trace dir.tmt.*; there is no trace, and the profile is whole"
query dir.tmk "SELECT alloc_count > 100 FROM program"
