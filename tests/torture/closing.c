/* Threads that load and unload libraries all the time: closing LIBRARY…, one thread each. For each
 * line of standard input one line of output: how many words that the loader relocated point into
 * libtidemark.so's code, and how often libraries have been unloaded. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool over;
static atomic_ulong closed;

static void *load_and_unload(void *path)
{
    while (!atomic_load(&over)) {
        void *library = dlopen(path, RTLD_NOW);
        if (!library) {
            fprintf(stderr, "closing: %s\n", dlerror());
            exit(1);
        }
        dlclose(library);
        atomic_fetch_add(&closed, 1);
    }
    return NULL;
}

/* ---- Words that point into the recorder ---- */

struct search {
    uintptr_t start, end; /* the recorder's code */
    unsigned words;
};

static int find_recorder(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    (void)size;
    if (!strstr(info->dlpi_name, "/libtidemark.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
            search->start = info->dlpi_addr + segment->p_vaddr;
            search->end = search->start + segment->p_memsz;
        }
    }
    return 1;
}

static void search_table(struct search *search, uintptr_t bias, const ElfW(Rela) *table,
                         size_t bytes)
{
    for (size_t i = 0; table && i < bytes / sizeof *table; i++) {
        uintptr_t value;
        if (!ELF64_R_SYM(table[i].r_info))
            continue;
        memcpy(&value, (const void *)(bias + table[i].r_offset), sizeof value);
        search->words += value - search->start < search->end - search->start;
    }
}

static int search_module(struct dl_phdr_info *info, size_t size, void *context)
{
    const ElfW(Rela) *tables[2] = {NULL, NULL};
    size_t bytes[2] = {0, 0};
    (void)size;
    if (strstr(info->dlpi_name, "/libtidemark.so") || strstr(info->dlpi_name, "vdso"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            if (entry->d_tag == DT_RELA)
                tables[0] = (const void *)entry->d_un.d_ptr;
            else if (entry->d_tag == DT_RELASZ)
                bytes[0] = entry->d_un.d_val;
            else if (entry->d_tag == DT_JMPREL)
                tables[1] = (const void *)entry->d_un.d_ptr;
            else if (entry->d_tag == DT_PLTRELSZ)
                bytes[1] = entry->d_un.d_val;
        }
    }
    for (int i = 0; i < 2; i++) /* before the loader has come by, they are offsets */
        if ((uintptr_t)tables[i] >= info->dlpi_addr)
            search_table(context, info->dlpi_addr, tables[i], bytes[i]);
    return 0;
}

static unsigned words_of_recorder(void)
{
    struct search search = {0, 0, 0};
    dl_iterate_phdr(find_recorder, &search);
    if (search.start)
        dl_iterate_phdr(search_module, &search);
    return search.words;
}

int main(int argc, char **argv)
{
    pthread_t threads[16];
    char line[64];
    int count = argc - 1 < 16 ? argc - 1 : 16;
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, load_and_unload, argv[i + 1]);
    while (fgets(line, sizeof line, stdin)) {
        printf("%u %lu\n", words_of_recorder(), atomic_load(&closed));
        fflush(stdout);
    }
    atomic_store(&over, true);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
