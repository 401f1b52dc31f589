# truth: healthy
# what: gcc -O2 compiles three hundred functions
# needs: gcc
for i in $(seq 300); do echo "int f$i(int a, int *b) { int s = $i; for (int i = 0; i < a; i++) s += b[i] * (i ^ $i) % 7; return s; }"; done >many.c
record gcc -O2 -c many.c -o many.o
