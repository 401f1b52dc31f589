# truth: healthy
# what: clang -O1 compiles two hundred functions
# needs: clang
for i in $(seq 200); do echo "int f$i(int a, int *b) { int s = $i; for (int i = 0; i < a; i++) s += b[i] * (i ^ $i) % 7; return s; }"; done >many.c
record clang -O1 -c many.c -o many.o
