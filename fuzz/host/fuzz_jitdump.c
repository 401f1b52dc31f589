/* Any bytes as a jitdump file of our own process, which grows once while it is read. Names are clean
 * and lines have files; what was named before the file grew has a name behind it. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "fuzz.h"
#include "symbols/jit_dump.h"

static struct jit_code look(struct jit_dump *dump, uint64_t address)
{
    struct jit_code code = jit_dump_find(dump, address);
    must(code.function || (!code.file && !code.line));
    must(!code.line || code.file);
    for (const char *at = code.function; at && *at; at++)
        must((unsigned char)*at >= ' ' && *at != 127);
    return code;
}

static void look_everywhere(struct jit_dump *dump)
{
    for (size_t i = 0; i < dump->code_count && i < 1000; i++) {
        look(dump, dump->codes[i].start);
        look(dump, dump->codes[i].start - 1);
        look(dump, dump->codes[i].start + 17);
    }
    look(dump, 0);
    look(dump, UINT64_MAX);
}

static void add(const char *path, const uint8_t *data, size_t size, off_t at)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    must(fd >= 0 && pwrite(fd, data, size, at) == (ssize_t)size);
    close(fd);
}

/* The header is made right, or each input would end there; but for the file's whole length. */
static void put_header(const char *path)
{
    const uint32_t words[] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid()};
    add(path, (const uint8_t *)words, sizeof words, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/fuzz-jitdump-%d", (int)getpid());
    struct jit_dump dump = {.path = path, .pid = getpid(), .own_pid = getpid()};
    struct pool pool = {0};
    size_t half = size / 2;
    unlink(path);
    add(path, data, half, 0);
    if (size % 8)
        put_header(path);
    jit_dump_update(&dump, &pool);
    look_everywhere(&dump);
    size_t named = dump.code_count;
    uint64_t first = named ? dump.codes[0].start : 0;
    bool was_named = named && look(&dump, first).function;
    add(path, data + half, size - half, (off_t)half);
    if (size % 8)
        put_header(path);
    jit_dump_update(&dump, &pool);
    must(dump.code_count >= named);
    must(!was_named || look(&dump, first).function);
    look_everywhere(&dump);
    dump.path = NULL;
    jit_dump_release(&dump);
    pool_release(&pool);
    unlink(path);
    return 0;
}
