/* tidemark-alloc-driver: runs an allocation stream (alloc_stream/stream_format.h) with the
 * allocator that it was started with, and measures its cost (alloc_stream/stream_result.h). Started
 * by `tidemark replay --under`, which preloads the allocator:
 *
 *     tidemark-alloc-driver STREAM-FD RESULT-FD all|first|none [idle]
 *
 * Nothing here allocates but the recorded calls, and pthread_create. All other memory is mapped,
 * and resident before the first call. Needs only libc. The driver ends by _exit(), so that
 * destructors of the allocator are not measured. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "alloc_driver/self_measure.h"
#include "alloc_driver/play.h"

static struct stage driver_stage; /* static, because its levels are aligned to cache lines */

static struct driver_result *alloc_driver_main_map_result(int fd)
{
    struct driver_result *result;
    struct stat facts;

    if (fstat(fd, &facts) < 0 || (uint64_t)facts.st_size < sizeof *result)
        return NULL;
    result =
        mmap(NULL, (size_t)facts.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (result == MAP_FAILED || result->magic != DRIVER_MAGIC ||
        driver_result_bytes(result->seat_count) > (uint64_t)facts.st_size)
        return NULL;
    return result;
}

static void alloc_driver_main_name_allocator(struct driver_result *result)
{
    Dl_info info;

    if (dladdr((void *)(uintptr_t)malloc, &info) && info.dli_fname)
        strncpy(result->allocator, info.dli_fname, sizeof result->allocator - 1);
}

static int alloc_driver_main_touch_of(const char *word)
{
    static const char *const words[] = {"all", "first", "none"};

    for (int i = 0; i < 3; i++)
        if (!strcmp(word, words[i]))
            return i;
    return -1;
}

int main(int argc, char **argv)
{
    struct driver_result *result = argc >= 4 ? alloc_driver_main_map_result(atoi(argv[2])) : NULL;
    int touch = argc >= 4 ? alloc_driver_main_touch_of(argv[3]) : -1;

    if (!result || touch < 0) {
        static const char sentence[] =
            "tidemark-alloc-driver is started by 'tidemark replay --under', not by hand\n";
        if (write(2, sentence, sizeof sentence - 1) < 0)
            return 126;
        return 125;
    }
    alloc_driver_main_name_allocator(result);
    driver_stage.touch = (enum driver_touch)touch;
    driver_stage.idle = argc > 4 && !strcmp(argv[4], "idle");
    stage_set(&driver_stage, atoi(argv[1]), result);
    play(&driver_stage);
    _exit(0);
}
