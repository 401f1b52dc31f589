# What is in the memory of a Java virtual machine has names; its own accounts are the oracle: Native Memory
# Tracking (heap, code, class data archive, as committed) and the pool of the old generation. For every
# java of $TIDEMARK_JAVAS, or the one there is.
. "$HERE/lib.sh"

javas=${TIDEMARK_JAVAS:-$(command -v java)}
[ -n "$javas" ] && command -v javac >/dev/null || skip "no Java"
javac --release 11 -d . "$HERE/Spaces.java"

# The bytes that mappings of names like PATTERN take at the end: COLUMN of the table.
named() { # PATTERN [COLUMN]
    query run.tmk "SELECT coalesce(sum(${2:-virtual_bytes}), 0) FROM owner WHERE name LIKE '$1' AND kind = 1
        AND sample = (SELECT max(sample) FROM owner)"
}
# Bytes committed by mmap of a category of Native Memory Tracking.
tracked() { # CATEGORY
    awk -v category="$1" 'index($0, "- ") == 1 { found = index($0, " " category " (") } found && /mmap:/ {
        sub(/.*committed=/, ""); print $0 + 0; exit }' said
}
near() { # WHAT OURS THEIRS BYTES
    local apart=$(($2 - $3))
    [ "$3" -gt 0 ] && [ ${apart#-} -le "$4" ] || echo "$collector: $1: $2, but by its own account $3"
}

run() { # JAVA COLLECTOR
    collector=$2
    tidemark record -q -o run.tmk "$1" "-XX:+Use${2}GC" -Xms64m -Xmx64m -XX:NativeMemoryTracking=summary \
        -XX:+UnlockDiagnosticVMOptions -XX:+PrintNMTStatistics -cp . Spaces >said
    near code "$(named 'Java code cache')" "$(tracked Code)" 262144
    near "class data archive" "$(named 'Java class data archive')" "$(tracked 'Shared class space')" 65536
    [ "$collector" = Z ] || near heap "$(named 'Java heap%')" $(($(tracked 'Java Heap') + $(named '%card table'))) 4096
    if [ "$collector" = Z ]; then # its old generation is not read
        [ "$(named 'Java heap' resident_bytes)" -gt 13000000 ] || echo "Z: less in the heap than was put there"
        return
    fi
    old=$(($(named 'Java heap, old') + $(named 'Java heap, humongous')))
    near "old generation" $old "$(sed -n 's/^old //p' said)" $([ "$collector" = G1 ] && echo 2097152 || echo 8192)
    [ "$(named 'Java heap, old' resident_bytes)" -gt 10000000 ] || echo "$collector: less in the old generation than was put there"
}

for java in $javas; do
    for collector in G1 Serial Parallel Z; do
        run "$java" $collector
    done
done
tidemark report --json run.tmk | jq -r '.owners[]? | select(.name // "" | startswith("Java code")) | .name' | head -1
echo "checked"
