/* Makes code that calls malloc, and says so in a jitdump that lies where the program chose: two
 * functions, the second of them moved after it was made, and lines. The file is unmapped and the
 * code stays, as node does at its end. Prints what it asked for. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
/* push %rbp; mov %rsp,%rbp; mov $malloc,%rax; call *%rax; pop %rbp; ret */
static const unsigned char machine_code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0,    0,    0,
                                             0,    0,    0,    0,    0,    0xff, 0xd0, 0x5d, 0xc3};
enum { MALLOC_AT = 6, CALL_AT = 14, CODE_BYTES = sizeof machine_code };

static FILE *dump;
static uint64_t made;

static void put(uint64_t number, size_t bytes)
{
    fwrite(&number, bytes, 1, dump);
}

static void prefix(uint32_t id, size_t bytes)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    put(id, 4);
    put(bytes, 4);
    put((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, 8);
}

static void tell_load(const unsigned char *code, const char *name)
{
    prefix(0, 56 + strlen(name) + 1 + CODE_BYTES);
    put((uint64_t)getpid(), 4);
    put((uint64_t)getpid(), 4);
    put((uintptr_t)code, 8);
    put((uintptr_t)code, 8);
    put(CODE_BYTES, 8);
    put(made++, 8);
    fwrite(name, strlen(name) + 1, 1, dump);
    fwrite(code, CODE_BYTES, 1, dump);
}

static void tell_move(const unsigned char *from, const unsigned char *to, uint64_t index)
{
    prefix(1, 64);
    put((uint64_t)getpid(), 4);
    put((uint64_t)getpid(), 4);
    put((uintptr_t)to, 8);
    put((uintptr_t)from, 8);
    put((uintptr_t)to, 8);
    put(CODE_BYTES, 8);
    put(index, 8);
}

static void tell_lines(const unsigned char *code, const char *file, uint32_t first)
{
    prefix(2, 32 + 2 * (16 + strlen(file) + 1));
    put((uintptr_t)code, 8);
    put(2, 8);
    for (uint32_t i = 0; i < 2; i++) {
        put((uintptr_t)code + (i ? CALL_AT : 0), 8);
        put(first + i, 4);
        put(0, 4);
        fwrite(file, strlen(file) + 1, 1, dump);
    }
}

static void begin(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/jit-%d.dump", folder, (int)getpid());
    dump = fopen(path, "w+");
    if (!dump)
        exit(2);
    const uint32_t words[] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid()};
    fwrite(words, sizeof words, 1, dump);
    put(0, 8);
    put(0, 8);
    fflush(dump);
    void *marker = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
    if (marker == MAP_FAILED)
        exit(3);
    munmap(marker, 4096);
}

static void make(unsigned char *code)
{
    void *(*target)(size_t) = malloc;
    memcpy(code, machine_code, CODE_BYTES);
    memcpy(code + MALLOC_AT, &target, sizeof target);
}

static void call(const unsigned char *code, size_t bytes)
{
    void *(*function)(size_t);
    memcpy(&function, &code, sizeof function);
    *(volatile char *)function(bytes) = 1;
}

int main(int argc, char **argv)
{
    unsigned char *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return 77;
    begin(argc > 1 ? argv[1] : ".");
    make(code);
    tell_lines(code, "/srv/first.x", 10);
    tell_load(code, "first");
    call(code, 100001);
    make(code + 1024);
    tell_lines(code + 1024, "/srv/second.x", 20);
    tell_load(code + 1024, "second");
    make(code + 2048);
    tell_move(code + 1024, code + 2048, 1);
    call(code + 2048, 200002);
    prefix(0, 15); /* damage: the reading ends here */
    tell_load(code + 2048, "never");
    fclose(dump);
    puts("first 100001, second 200002");
    return 0;
}
#else
int main(void)
{
    return 77;
}
#endif
