/* Any bytes as a module in another process's memory (which is our own, between two holes): its
 * headers, its dynamic section and its symbols. What is found has the name that was looked for. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "attach/target_memory.h"
#include "attach/target.h"
#include "fuzz.h"

enum { ROOM = 1 << 16, HOLE = 1 << 16 };

static unsigned char *room(void)
{
    static unsigned char *memory;
    if (!memory) {
        unsigned char *all = mmap(NULL, ROOM + 2 * HOLE, PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        must(all != MAP_FAILED && mprotect(all + HOLE, ROOM, PROT_READ | PROT_WRITE) == 0);
        memory = all + HOLE;
    }
    return memory;
}

static void look_for(const struct target *target, const struct target_module *module,
                     const char *name)
{
    struct target_symbol found = target_find_in(target, module, name);
    must(found.address || !found.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *memory = room();
    struct target target = {.pid = getpid()};
    struct target_module module = {
        .path = (char *)"module", .start = (uintptr_t)memory, .end = (uintptr_t)memory + ROOM};
    size = size < ROOM ? size : ROOM;
    memcpy(memory, data, size);
    memset(memory + size, 0, ROOM - size);
    target_read_module(&target, &module);
    look_for(&target, &module, "malloc");
    look_for(&target, &module, "tidemark_late_begin");
    look_for(&target, &module, "");
    struct target_gadgets gadgets;
    module.code = module.start;
    module.code_end = module.end;
    target.modules = &module;
    target.count = 1;
    target_find_gadgets(&target, &module, &gadgets);
    must(gadgets.keep_pops <= 128 && gadgets.margin_bytes < 4096);
    must(!gadgets.margin || gadgets.margin - module.start < module.end - module.start);
    return 0;
}
