# Programs that become other programs: who replaces LD_PRELOAD is counted all the same, with the counters in
# front, and where that is not so it is said.
. "$HERE/lib.sh"
command -v cc >/dev/null || skip "no C compiler"

echo '#include <stdlib.h>
__attribute__((constructor)) static void begin(void) { setenv("OTHER", "there", 1); }' >other.c
cc -shared -fPIC -o libother.so other.c
cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    const char *other = getenv("OTHER");
    for (int i = 0; i < 1000; i++)
        free(malloc(1000));
    printf("other library: %s\n", other ? other : "none");
    return 7;
}
END
cc -fno-builtin -o program program.c
cc -fno-builtin -static -o static program.c 2>/dev/null || cp program static
other=$PWD/libother.so
# A thousand mallocs and one of stdio, which may be more by what the other library does.
figures() { sed -E 's/\[[0-9]+\]/[…]/; s/(program\[.*) total: 1,00[0-9],[0-9]{3}, .*malloc: 1,00[0-9],.*/\1 a thousand/; s/((env|spawn)\[.*) total: .*/\1 …/' err | grep -v '^tidemark count ### \(bash\|perl\|sh\|[a-z]*name\|readlink\|python\)'; }
counted() {
    echo "--- $1"
    shift
    tidemark count "$@" 2>err
    echo "status $?"
    figures
}
counted 'replaced' env LD_PRELOAD="$other" ./program
counted 'replaced by a shell' sh -c 'LD_PRELOAD=$1 exec ./program' sh "$other"
counted 'in a child' sh -c 'LD_PRELOAD=$1 ./program; exit $?' sh "$other"
cat >spawn.c <<'END'
#define _GNU_SOURCE
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
/* execl… of a child of vfork, or posix_spawn; the environment as an argument or as the program's own. */
int main(int argc, char **argv)
{
    pid_t child;
    int status = 0;
    char *arguments[] = {"./program", NULL}, entry[4096] = "LD_PRELOAD=", directory[4096] = "TIDEMARK_COUNT_DIRECTORY=";
    char *made[] = {"A=1", strcat(entry, argv[2]), strcat(directory, getenv("TIDEMARK_COUNT_DIRECTORY")), NULL};
    setenv("LD_PRELOAD", argv[2], 1);
    if (!strcmp(argv[1], "spawn"))
        posix_spawnp(&child, "./program", NULL, NULL, arguments, environ);
    else if ((child = vfork()) == 0) {
        if (!strcmp(argv[1], "list"))
            execl("./program", "./program", (char *)NULL);
        else
            execle("./program", "./program", (char *)NULL, made);
        _exit(1);
    }
    waitpid(child, &status, 0);
    if (!strcmp(argv[1], "fail")) {
        execv("./nowhere", arguments);
        free(malloc(1));
    }
    return WEXITSTATUS(status) + argc - 3;
}
END
cc -fno-builtin -o spawn spawn.c
for way in spawn list environment fail; do
    counted "$way" ./spawn $way "$other" | grep -v '^--- \|status' | sort
done
grep -c 'spawn\[[0-9]*\] exiting' err

counted 'taken away' env -u LD_PRELOAD ./program
counted 'an empty one' env LD_PRELOAD= ./program
counted 'a new environment' env -i ./program
counted 'static' env ./static | sed 's/there$/none/'
counted 'no such program' env ./nowhere 2>/dev/null | grep -v '^env:'
echo "--- JSON on standard output"
tidemark count -f json -o - env -i ./program | sed 1d | jq -c '.processes[] | [.program, .main, .ending]'
[ ! -e ./- ] || echo "a file of that name"
