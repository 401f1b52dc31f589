/* held [wait|grow|behind]: leaves blocks that variables, a thread's variables, its own mapping and a stack
 * hold, in known numbers. `wait`: says so, and stands until it is told to go on; `grow`: grows when it
 * is, and says so again; `behind`: the mapping lies right behind the C library's variables, where the
 * loader had its list of libraries for a while. What it prints is the address of a block that the table holds three pointers
 * deep. */
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

struct item {
    char *name;
    struct item *next;
    long rest[4];
};

struct item *table[16]; /* lists of items of 48 bytes with names of 40 */
static void **of_pool;  /* a mapping that holds blocks */
struct item *shared_a, *shared_b;
_Thread_local struct item *in_thread;

APART static char *make_name(void)
{
    return memset(malloc(40), 'n', 40);
}

APART static struct item *make_item(struct item *next)
{
    struct item *item = calloc(1, sizeof *item);
    item->next = next;
    return item;
}

APART static void fill_table(int count)
{
    for (int i = 0; i < count; i++) {
        table[i % 16] = make_item(table[i % 16]);
        table[i % 16]->name = make_name();
    }
}

APART static void *make_pooled(void)
{
    return calloc(1, 1000);
}

static int find_end(struct dl_phdr_info *module, size_t size, void *context)
{
    uintptr_t *end = context, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)size;
    if (!strstr(module->dlpi_name, "/libc.so"))
        return 0;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
        uintptr_t at = module->dlpi_addr + segment->p_vaddr + segment->p_memsz;
        if (segment->p_type == PT_LOAD && at > *end)
            *end = (at + page - 1) & ~(page - 1);
    }
    return 1;
}

APART static void fill_pool(bool is_behind)
{
    uintptr_t wish = 0; /* no more than a wish: where something lies, it is elsewhere */
    if (is_behind)
        dl_iterate_phdr(find_end, &wish);
    of_pool = mmap((void *)wish, is_behind ? 4096 : 1 << 16, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 100; i++)
        of_pool[i] = make_pooled();
}

APART static struct item *make_shared(void)
{
    struct item *item = calloc(1, 5000);
    return item;
}

APART static void *make_local(size_t bytes)
{
    return calloc(1, bytes);
}

APART static void scrub(void)
{
    volatile char frame[16384];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = 0;
}

APART static void fill(bool is_behind)
{
    fill_table(800);
    fill_pool(is_behind);
    shared_a = shared_b = make_shared();
    in_thread = make_local(3000);
}

/* The block is held by nothing but this frame. */
APART static void wait_with(void *volatile held)
{
    char byte;
    printf("%d %p\n", (int)getpid(), (void *)table[3]->next->name);
    fflush(stdout);
    if (read(STDIN_FILENO, &byte, 1) < 0 || !held)
        abort();
}

int main(int argc, char **argv)
{
    bool is_behind = argc > 1 && !strcmp(argv[1], "behind");
    fill(is_behind);
    scrub();
    if (argc > 1 && !is_behind)
        wait_with(make_local(2000));
    if (argc > 1 && !strcmp(argv[1], "grow")) {
        fill_table(400);
        scrub();
        wait_with(make_local(2000));
    }
    return 0;
}
