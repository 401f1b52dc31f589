# truth: healthy
# what: gdb reads its own symbols
# needs: gdb
printf 'int f(int a) { return a; }\nint main(void) { return f(0); }\n' >p.c; cc -g p.c -o p
record gdb -batch -nx -ex 'break f' -ex run -ex bt ./p >/dev/null 2>&1
