# Annotated source of a program whose lines and figures are known; where its text comes from.
. "$HERE/lib.sh"
command -v cc >/dev/null || skip "no C compiler"

mkdir -p src/left src/right
cat >src/tree.c <<'END'
#include <stdlib.h>
#include <string.h>
#include "keep.h"

static void *tree(int depth)
{
    if (depth)
        return tree(depth - 1);
    return malloc(1000);
}

/* Much that









   asks for nothing. */

int left(void), right(void);

int main(void)
{
    char *text = strdup("ten bytes");
    keep(tree(5));
    keep(tree(2));
    keep(malloc(3000));
    left();
    right();
    free(text);
    return 0;
}
END
printf 'static inline void keep(void *block)\n{\n\tstatic void *volatile kept;\n\tkept = block;\n}\n' >src/keep.h
printf '#include <stdlib.h>\nstatic void *fill(void)\n{\n    return malloc(500);\n}\nint left(void)\n{\n    return fill() != 0;\n}\n' >src/left/part.c
printf '#include <stdlib.h>\nstatic void *fill(void)\n{\n    return malloc(200);\n}\nint right(void)\n{\n    return fill() != 0;\n}\n' >src/right/part.c
cc -g -O0 -o tree "$PWD/src/tree.c" "$PWD/src/left/part.c" "$PWD/src/right/part.c"
touch -d '1 hour ago' src/*.c src/*.h src/*/*.c
tidemark record -q -o r.tmk ./tree

# Files and lines with most; a file; a function, recursion counted once; a line.
tidemark annotate r.tmk
tidemark annotate r.tmk src/tree.c --metric bytes
tidemark annotate r.tmk tree --metric leaked -C 1
tidemark annotate r.tmk left/part.c:4 -C 1 -w 110
tidemark annotate r.tmk main --with count -C 0 | sed -n '/exclusive/,$p'
tidemark annotate r.tmk tree.c --full | grep -c '│'
tidemark annotate r.tmk keep.h 2>&1

# More than one, or nothing, or wrong use: one sentence.
try tidemark annotate r.tmk fill
sentence 'left/part.c:4.*right/part.c:4'
try tidemark annotate r.tmk part.c:4
sentence 'left/part.c.*right/part.c'
try tidemark annotate r.tmk mian
sentence "did you mean 'main'"
try tidemark annotate r.tmk src/tree.c --metric freed
sentence 'free-stacks'
try tidemark annotate r.tmk --source-path nothing
sentence 'OLD=NEW'
try tidemark annotate r.tmk --with count,sideways
sentence 'sideways'
try tidemark annotate
sentence 'no profile'

# JSON says the same.
try tidemark annotate r.tmk src/tree.c --json
jq -c '[.text_from, .text_changed, .totals.peak, .placed.peak, .inclusive.peak, .exclusive.peak]' out
jq -c '.lines[] | [.line, .exclusive.peak, .inclusive.peak, .exclusive.count, .callee.function, .inclusive.freed]' out
tidemark annotate r.tmk --json | jq -c '[.files[].file, (.lines | length)] | map(if type == "string" then split("/")[-2:] | join("/") else . end)'

# The text: moved, changed, gone, binary.
mv src moved
tidemark annotate r.tmk tree.c:9 -C 0 | sed "s|$PWD|.|; s|on this machine.*|on this machine|" | head -4
tidemark annotate r.tmk tree.c:9 -C 0 --source-path "$PWD/src=$PWD/moved" | grep -c 'return malloc(1000);'
touch -d '1 hour' moved/tree.c
tidemark annotate r.tmk tree.c:9 -C 0 -S "$PWD/src=$PWD/moved" -w 300 | grep -o 'the file on disk is newer than the recording'
printf 'a\0b' >moved/tree.c
tidemark annotate r.tmk tree.c:9 -C 0 -S "$PWD/src=$PWD/moved" | grep -o 'looks binary'
# Nothing of a source drives the terminal.
printf '\033[2J\n%.0s' 1 2 3 4 5 6 7 8 9 10 >moved/tree.c
tidemark annotate r.tmk tree.c --full -S "$PWD/src=$PWD/moved" | grep -c "$(printf '\033')"
# To a pipe that closes early.
tidemark annotate r.tmk main | head -1 >/dev/null
echo "status ${PIPESTATUS[0]}" | sed 's/status \(0\|141\)$/ended quietly/'
