#!/bin/sh
# Other allocators' own tests, with libbfm.so before them. Sources are the user's copies; nothing is fetched,
# and a source that is not given is left out:
#
#   LIBBFM=build/lib/libbfm.so sh bfm/tests/upstream.sh [glibc=DIR] [mimalloc=DIR] [mimalloc-bench=DIR]
#
# Of glibc those of malloc/tst-*.c that can be built outside of it, with a few lines in place of its support/.
# Each runs bare first; where that fails or does not build, nothing is said of BFM. By hand alone.
set -eu
library=$(realpath "${LIBBFM:?the libbfm.so to test}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ulimit -c 0
passed=0 failed=0 unbuilt=0 bare=0

# What glibc's tests have from support/.
support() { # FOLDER
    mkdir -p "$1/support"
    for name in support xthread xunistd xsignal temp_file; do
        echo '#include "shim.h"' >"$1/support/$name.h"
    done
    for name in libc-diag array_length libc-pointer-arith malloc-size; do echo '#include "shim.h"' >"$1/$name.h"; done
    cp "$1/support/support.h" "$1/support/check.h"
    cat >"$1/shim.h" <<'END'
#ifndef SHIM_H
#define SHIM_H
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define FAIL_EXIT(status, ...) (printf(__VA_ARGS__), puts(""), exit(status))
#define FAIL_EXIT1(...) FAIL_EXIT(1, __VA_ARGS__)
#define FAIL_RET(...) return (printf(__VA_ARGS__), puts(""), 1)
#define FAIL(...) FAIL_EXIT1(__VA_ARGS__)
#define FAIL_UNSUPPORTED(...) exit(77)
#define TEST_VERIFY(holds) ((holds) ? (void)0 : FAIL_EXIT1("%s:%d: %s", __FILE__, __LINE__, #holds))
#define TEST_VERIFY_EXIT TEST_VERIFY
#define TEST_COMPARE(one, other) TEST_VERIFY((one) == (other))
#define DIAG_PUSH_NEEDS_COMMENT
#define DIAG_POP_NEEDS_COMMENT
#define DIAG_IGNORE_NEEDS_COMMENT(...)
#define DIAG_IGNORE_O_NEEDS_COMMENT(...)
#define DIAG_IGNORE_Os_NEEDS_COMMENT(...)
#define __attribute_optimization_barrier__ __attribute__((noinline, noclone))
#define DEFAULT_TIMEOUT 20
#define SIZE_SZ sizeof(size_t)
#define MALLOC_ALIGNMENT 16
#define PTR_IS_ALIGNED(at, align) ((uintptr_t)(at) % (align) == 0)
#define write_message(text) write(1, text, strlen(text))
#define xpthread_kill pthread_kill
#define xsigaction sigaction
#define xsysconf sysconf
#define array_length(array) (sizeof(array) / sizeof *(array))
#define xmalloc malloc
#define xcalloc calloc
#define xrealloc realloc
#define xfork fork
#define xwaitpid waitpid
#define xpthread_join(thread) ({ void *result_; TEST_VERIFY(!pthread_join(thread, &result_)); result_; })
#define xpthread_barrier_init(...) TEST_VERIFY(!pthread_barrier_init(__VA_ARGS__))
#define xpthread_barrier_destroy(...) TEST_VERIFY(!pthread_barrier_destroy(__VA_ARGS__))
#define xpthread_barrier_wait(barrier) pthread_barrier_wait(barrier)
static inline pthread_t xpthread_create(pthread_attr_t *how, void *(*run)(void *), void *with)
{
    pthread_t thread;
    TEST_VERIFY(!pthread_create(&thread, how, run, with));
    return thread;
}
#endif
END
    cat >"$1/support/test-driver.h" <<'END'
#include "shim.h"
END
    cat >"$1/test-skeleton.c" <<'END'
#include "shim.h"
#ifndef TEST_FUNCTION
#define TEST_FUNCTION do_test()
#endif
int main(void)
{
    alarm(120);
    return TEST_FUNCTION;
}
END
    cat >"$1/support/test-driver.c" <<'END'
#include "shim.h"
#ifndef TEST_FUNCTION
#define TEST_FUNCTION do_test
#endif
int main(void)
{
#ifdef TEST_FUNCTION_ARGV
    return 77;
#else
    alarm(120);
    return TEST_FUNCTION();
#endif
}
END
}

run() { # NAME COMMAND…: bare, and on BFM
    name=$1
    shift
    timeout 150 "$@" >"$work/said" 2>&1 </dev/null || { bare=$((bare + 1)); return 0; }
    status=0
    LD_PRELOAD=$library timeout 150 "$@" >"$work/said" 2>&1 </dev/null || status=$?
    [ $status != 0 ] || { passed=$((passed + 1)); return 0; }
    failed=$((failed + 1))
    echo "$name: status $status: $(tail -1 "$work/said")"
}

build() { # NAME COMPILER ARGUMENTS…
    name=$1
    shift
    "$@" -w -O1 -o "$work/$name" -pthread >"$work/said" 2>&1 && return 0
    unbuilt=$((unbuilt + 1))
    [ -z "${VERBOSE:-}" ] || echo "$name: $(grep -m1 -E 'error|undefined' "$work/said")"
    return 1
}

glibc() {
    support "$work/shims"
    for source in "$1"/malloc/tst-*.c; do
        name=$(basename "$source" .c)
        case $name in # glibc's insides, its tunables and its tracing, or parts of other tests
        *-static* | *mtrace* | *-aux* | *compathooks* | *dynarray* | *mallocstate* | *safe-linking | *obstack) continue ;;
        *tunables* | *check | *interpose* | *scratch_buffer | *alloc_buffer | *backtrace | *-lib) continue ;;
        *stats-cancellation) continue ;; # wants a line that BFM has not
        esac
        build "$name" "${CC:-cc}" -D_GNU_SOURCE -fno-builtin -I"$work/shims" -I"$work/shims/support" -I"$1/malloc" "$source" -ldl || continue
        run "$name" "$work/$name"
    done
}

mimalloc() {
    build test-stress "${CC:-cc}" -DUSE_STD_MALLOC -I"$1/include" "$1/test/test-stress.c" || return 0
    for how in "4 25 10" "32 20 5" "8 50 10"; do
        # shellcheck disable=SC2086 # options are words
        run "test-stress $how" "$work/test-stress" $how
    done
}

mimalloc_bench() {
    for source in cache-scratch/cache-scratch.cpp cache-thrash/cache-thrash.cpp larson/larson.cpp mstress/mstress.c \
        xmalloc-test/xmalloc-test.c malloc-large/malloc-large.cpp; do
        name=$(basename "${source%.*}")
        case $source in
        *.c) build "$name" "${CC:-cc}" -D_GNU_SOURCE -DUSE_STD_MALLOC "$1/bench/$source" || continue ;;
        *) build "$name" "${CXX:-c++}" -fpermissive -std=gnu++17 "$1/bench/$source" || continue ;;
        esac
        case $name in
        larson) run "$name" "$work/$name" 1 8 1000 500 100 4141 4 ;;
        mstress) run "$name" "$work/$name" 4 25 5 ;;
        xmalloc-test) run "$name" "$work/$name" -w 4 -t 1 -s 64 ;;
        cache-*) run "$name" "$work/$name" 4 100 8 10000 1 ;;
        *) run "$name" "$work/$name" ;;
        esac
    done
}

for each; do
    case $each in
    glibc=*) glibc "${each#*=}" ;;
    mimalloc=*) mimalloc "${each#*=}" ;;
    mimalloc-bench=*) mimalloc_bench "${each#*=}" ;;
    *) echo "upstream.sh: $each is none of glibc=DIR, mimalloc=DIR, mimalloc-bench=DIR"; exit 2 ;;
    esac
    echo "${each%%=*}: $passed pass, $failed fail; $bare fail without BFM, $unbuilt do not build here"
    passed=0 unbuilt=0 bare=0 wrong=$((${wrong:-0} + failed)) failed=0
done
[ "${wrong:-0}" = 0 ]
