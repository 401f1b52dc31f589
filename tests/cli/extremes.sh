# Metrics that do not add up, by call site, function, file and line: a program with known answers.
. "$HERE/lib.sh"

tidemark record -q -o run.tmk "$VICTIMS/extremes"
of_ours='select(.function | startswith("victim_"))'
for metric in largest smallest own-peak; do
    echo "$metric:"
    tidemark report --json --sort $metric run.tmk |
        jq -r ".sections[0].sites[] | $of_ours"' | "  \(.function):\(.line) \(.value)"'
done
tidemark report --json --sort longest run.tmk |
    jq -r '.sections[0].sites[0] | "longest: \(.function), 30 ms or more: \(.value >= 30e6)"'
tidemark report --json --sort shortest run.tmk |
    jq -r "[.sections[0].sites[] | $of_ours"'] | "shortest: the last is \(last.function)"'

echo "A caller has the most of what it calls, not the sum:"
tidemark report --inclusive --sort own-peak --columns largest,smallest,own-peak,alloc_bytes run.tmk |
    grep -E ' (main|victim_waves|victim_small) ' | sed 's/  */ /g; s/ [^ ]*extremes.c.*//'
tidemark report --sort own-peak --columns largest,own-peak --show sites run.tmk |
    grep -A1 victim_waves | sed 's/^ *//; s/  *(.*//; s/ [^ ]*extremes.c:.*//'

echo "by line:"
tidemark annotate --json --metric largest run.tmk |
    jq -r '.lines[] | select(.file | endswith("extremes.c")) |
        "  \(.line) \(.exclusive | [.largest, .smallest, ."own-peak", .bytes])"'
tidemark annotate --json --metric smallest run.tmk |
    jq -r '.files[] | select(.file | endswith("extremes.c")) |
        .inclusive | "file: \([.largest, .smallest, ."own-peak", .bytes])"'
tidemark annotate --metric smallest run.tmk | grep -m1 -A1 '^ exclusive.*line' | tail -1 | sed 's/ *[^ ]*extremes/ extremes/'

echo "The tree and comparisons are of what adds up:"
tidemark report --sort largest --tree run.tmk | grep -o '^Call tree.*peak'
try tidemark diff --sort largest run.tmk run.tmk
sentence 'largest'
