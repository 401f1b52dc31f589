# A plug-in that links libtidemark-api comes and goes, and then the signal of TIDEMARK_SIGNAL comes: the
# program lives, and records from then on.
. "$HERE/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
libraries=$BIN/../lib
cat >plugin.c <<'END'
#include <tidemark/tidemark.h>
int plugin(void)
{
    tidemark_mark("plugged");
    return tidemark_is_recording() ? tidemark_start() : 0;
}
END
cat >host.c <<'END'
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 3; i++) {
        void *module = dlopen(argv[1], RTLD_NOW);
        int (*plugin)(void) = module ? (int (*)(void))dlsym(module, "plugin") : NULL;
        if (!plugin || plugin())
            return 1;
        dlclose(module);
    }
    raise(SIGUSR2);
    /* until it is recorded, which takes longer on a busy machine */
    for (int i = 0; i < 1000000 && access("stop", F_OK); i++) {
        free(malloc(1000));
        usleep(100);
    }
    puts("alive");
    return argc != 2;
}
END
is_recorded() {
    tidemark report tidemark.host.*.tmk | grep -q "requested in"
}
include=$HERE/../../include
cc -fPIC -shared -I "$include" -o shared.so plugin.c -L"$libraries" -ltidemark-api -Wl,-rpath,"$libraries"
cc -fPIC -shared -I "$include" -o static.so plugin.c "$libraries/libtidemark-api.a"
cc -O1 -fno-builtin -o host host.c
for plugin in shared static; do
    echo "--- $plugin"
    LD_LIBRARY_PATH=$libraries TIDEMARK_SIGNAL=USR2 ./host "./$plugin.so" &
    host=$!
    until_true is_recorded
    touch stop
    wait $host
    echo "status $?"
    until_true tidemark report tidemark.host.*.tmk >report && grep -c "requested in" report
    rm -f tidemark.host.* stop
done
