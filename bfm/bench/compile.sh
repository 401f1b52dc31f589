# Sourced. Compiles the allocators' bench into a folder. Nothing may think that it knows what malloc and
# free do; nothing is bound while it is measured.
compile_bench_alloc() { # SOURCES INTO
    (cd "$1" &&
        "${CC:-cc}" -std=gnu17 -O2 -g -Wall -Wextra -D_GNU_SOURCE -fno-builtin-malloc -fno-builtin-free \
            -pthread -Wl,-z,now -o "$2/bench_alloc" block.c latency.c main.c memory.c \
            netbuild.c patterns.c stress.c streams.c threads.c)
}
