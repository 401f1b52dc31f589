# truth: healthy
# what: objdump and nm read a program with debug information
# needs: objdump nm cc
echo 'int main(void) { return 0; }' >p.c && cc -g p.c -o p
record objdump -dS p >/dev/null
record nm -a p >/dev/null
