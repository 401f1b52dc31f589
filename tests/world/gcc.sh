# gcc: compiles one of our files, at two levels; a wrong one
for level in 0 3; do
    same "o$level" gcc -S -O$level -D_GNU_SOURCE -I "$SOURCE/src/common" "$SOURCE/src/common/base/strbuf.c" -o -
done
echo 'int f(void) { return x; }' >wrong.c
same wrong gcc -c wrong.c
