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
# What the C library keeps: of ended threads' stacks, of a locale, of the users' names. 40 threads that nobody has
# joined are the program's.
cat >cached.cpp <<'END'
#include <clocale>
#include <cstdio>
#include <pwd.h>
#include <thread>
#include <vector>
int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 12; i++)
        threads.emplace_back([] {});
    for (auto &thread : threads)
        thread.join();
    setlocale(LC_ALL, "C.UTF-8");
    const struct passwd *user = getpwuid(0);
    std::printf("hello, %s\n", user ? user->pw_name : "nobody");
}
END
cat >unjoined.cpp <<'END'
#include <cstdio>
#include <pthread.h>
#include <unistd.h>
static void *end(void *argument) { return argument; }
int main()
{
    pthread_t thread;
    for (int i = 0; i < 40; i++)
        pthread_create(&thread, NULL, end, NULL);
    usleep(100000);
    std::puts("hello, world");
}
END
printf '[program]\nlive = "0 B"\nlive_blocks = 0\n' >budget.toml
c++ -O1 -g -o hello hello.cpp
c++ -O1 -g -static-libstdc++ -o inside hello.cpp
c++ -O1 -g -o leak leak.cpp
c++ -O1 -g -pthread -o cached cached.cpp
c++ -O1 -g -pthread -o unjoined unjoined.cpp
cc -O1 -g -o plain plain.c
# How much the C library keeps is its affair.
said() { case $1 in cached | unjoined) sed 's/[0-9.]* KiB/… KiB/g; s/in [0-9]* blocks/in … blocks/' ;; *) cat ;; esac; }
for program in hello inside leak plain cached unjoined; do
    {
        echo "--- $program"
        tidemark record -o $program.tmk ./$program 2>summary >/dev/null
        grep 'never freed' summary
        tidemark report $program.tmk | grep 'never freed' | sed 's/ (.*of its run-time/ (… of its run-time/'
        tidemark report $program.tmk | grep -c 'not freed at the end'
        tidemark leaks $program.tmk | sed -n '1p; /run-times/s/^.*of all/… of all/p'
        try tidemark check $program.tmk --budget budget.toml
        sed 's/[0-9.]* [KMG]*i*B in/… in/' out | grep -v '^ *[+^]\|^  *[0-9]*.*leak.cpp\|↑'
    } | said $program
done
