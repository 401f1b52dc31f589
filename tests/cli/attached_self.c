/* Switches its own recording on: attached_self call | wait. `wait` waits until a signal has done
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tidemark/tidemark.h"

__attribute__((noinline)) void *victim_self(size_t bytes)
{
    return malloc(bytes);
}

static void work(int count)
{
    for (int i = 0; i < count; i++)
        free(victim_self(250));
}

int main(int argc, char **argv)
{
    void *before = malloc(1000);
    work(10);
    if (argc > 1 && !strcmp(argv[1], "call")) {
        printf("before: %d\n", tidemark_is_recording());
        printf("start: %d\n", tidemark_start());
    } else {
        puts("ready");
        fflush(stdout);
        while (!tidemark_is_recording())
            usleep(10000);
    }
    printf("recording: %d, again %s\n", tidemark_is_recording(),
           tidemark_start() < 0 ? "refused" : "not refused");
    tidemark_region_begin("since");
    work(70);
    tidemark_region_end("since");
    free(before);
    printf("total %s\n", tidemark_total() >= 70 * 250 ? "known" : "unknown");
    return 6;
}
