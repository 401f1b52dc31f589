# --embed-sources: the profile shows the text where the sources are gone, and says what had changed.
. "$HERE/lib.sh"
command -v cc >/dev/null || skip "no C compiler"

printf '#include <stdlib.h>\n#include "late.h"\nint main(void)\n{\n    char *a = malloc(1000);\n    late();\n    return a == 0;\n}\n' >main.c
printf 'static void *volatile kept;\nstatic void late(void)\n{\n    kept = malloc(500);\n}\n' >late.h
cc -g -O0 -o main "$PWD/main.c"
touch -d '1 hour ago' main.c
touch -d '1 hour' late.h
tidemark record -q --embed-sources -o with.tmk ./main
tidemark record -q --embed-sources --no-embed-sources -o without.tmk ./main
rm main.c late.h

tidemark annotate with.tmk main.c
tidemark annotate with.tmk late --json | jq -c '[.text_from, .text_changed, .lines[].text]'
tidemark annotate with.tmk late -w 200 | grep -o 'changed after the program was built'
tidemark annotate without.tmk main.c -w 200 | grep -o 'is not on this machine'

# A library preloaded by hand takes it from TIDEMARK_OPTIONS; what is not there any more is counted.
library=$(dirname "$BIN")/lib/libtidemark.so
LD_PRELOAD=$library TIDEMARK_OPTIONS='-q --embed-sources -o hand.tmk' ./main
query hand.tmk "SELECT value >= 2 FROM meta WHERE key = 'skipped_sources'"
