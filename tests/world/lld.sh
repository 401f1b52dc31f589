# lld gcc: a linker whose threads map their output
printf 'int f(void); int main(void) { return f(); }\n' >a.c && printf 'int f(void) { return 6; }\n' >b.c
gcc -g -c a.c b.c || skip "no compiler"
same link sh -c 'gcc -fuse-ld=lld -o prog a.o b.o; ./prog; echo $?'
