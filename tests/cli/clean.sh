# A program that forgets nothing is said to be clean, though its run-times keep pools for themselves; one
# that forgets 100 bytes is not.
. "$HERE/lib.sh"
command -v c++ >/dev/null || skip "no C++ compiler"
cat >hello.cpp <<'END'
#include <iostream>
int main() { std::cout << "hello, world\n"; }
END
cat >leak.cpp <<'END'
#include <iostream>
int main() { std::cout << "hello, world\n"; char *volatile forgotten = new char[100]; forgotten = nullptr; }
END
printf '#include <stdio.h>\nint main(void) { printf("hello, world\\n"); return 0; }\n' >plain.c
printf '[program]\nlive = "0 B"\nlive_blocks = 0\n' >budget.toml
c++ -O1 -g -o hello hello.cpp
c++ -O1 -g -static-libstdc++ -o inside hello.cpp
c++ -O1 -g -o leak leak.cpp
cc -O1 -g -o plain plain.c
for program in hello inside leak plain; do
    echo "--- $program"
    tidemark record -o $program.tmk ./$program 2>summary >/dev/null
    grep 'never freed' summary
    tidemark report $program.tmk | grep 'never freed' | sed 's/ (.*of its run-time/ (… of its run-time/'
    tidemark report $program.tmk | grep -c 'not freed at the end'
    tidemark leaks $program.tmk | sed -n '1p; /run-times/s/^.*of all/… of all/p'
    try tidemark check $program.tmk --budget budget.toml
    sed 's/[0-9.]* [KMG]*i*B in/… in/' out | grep -v '^ *[+^]\|^  *[0-9]*.*leak.cpp\|↑'
done
