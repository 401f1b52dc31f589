# truth: healthy
# what: clang-format reads a long file, and its heap shrinks all at once while it is looked at
# needs: clang-format
for i in $(seq 1 4000); do echo "static int f$i(int a, int b) { return a * $i + b; }"; done >long.c
record clang-format --dry-run long.c >/dev/null
