/* The module log; see modules.h. Runs inside the profiled program: no malloc, no stdio. */
#include "recorder/modules.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "recorder/shared.h"
#include "unwind/lock.h"
#include "unwind/unwind.h"

enum { MODULES_MAX = 4096, PATH_MAX_BYTES = 4096, PATH_ARENA_BYTES = 1 << 16 };

struct module {
    struct wire_module entry; /* without path */
    const char *path;
    struct wire_module *logged; /* NULL: not in this process's log */
};

/* Copied into the child of a fork, so that it need not ask the loader, whose lock another thread
 * of the parent may have held. Only `lock` is re-made there. */
static struct modules {
    struct lock lock;
    _Atomic uint32_t version; /* odd: modules are being taken out */
    _Atomic uint32_t count;
    unsigned long long unloads; /* the loader's own count when we last looked */
    char *paths;
    size_t paths_left;
    struct module module[MODULES_MAX];
} *modules;

static const char *keep_path(const char *path)
{
    size_t bytes = strnlen(path, PATH_MAX_BYTES - 1) + 1;
    if (bytes > modules->paths_left) {
        modules->paths = private_map_kept(PATH_ARENA_BYTES);
        modules->paths_left = modules->paths ? PATH_ARENA_BYTES : 0;
        if (bytes > modules->paths_left)
            return "";
    }
    char *kept = modules->paths;
    memcpy(kept, path, bytes - 1); /* the arena is zero: the NUL is there */
    modules->paths += bytes;
    modules->paths_left -= bytes;
    return kept;
}

static void read_build_id(struct wire_module *entry, const char *note, size_t bytes)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *header = (const void *)note;
        size_t name = (header->n_namesz + 3) & ~3u, description = (header->n_descsz + 3) & ~3u;
        if (name > bytes || description > bytes || sizeof *header + name + description > bytes)
            return;
        if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
            memcmp(note + sizeof *header, "GNU", 4) == 0 &&
            header->n_descsz <= sizeof entry->build_id) {
            entry->build_id_bytes = (uint8_t)header->n_descsz;
            memcpy(entry->build_id, note + sizeof *header + name, header->n_descsz);
            return;
        }
        note += sizeof *header + name + description;
        bytes -= sizeof *header + name + description;
    }
}

static void describe(struct wire_module *entry, const struct dl_phdr_info *info)
{
    *entry = (struct wire_module){.bias = info->dlpi_addr, .start = UINT64_MAX};
    atomic_store(&entry->died, UINT32_MAX);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        if (segment->p_type == PT_LOAD) {
            entry->start = start < entry->start ? start : entry->start;
            entry->end = end > entry->end ? end : entry->end;
        } else if (segment->p_type == PT_NOTE && !entry->build_id_bytes) {
            read_build_id(entry, (const char *)(uintptr_t)start, segment->p_filesz);
        }
    }
}

static struct module *find(uintptr_t ip)
{
    for (uint32_t i = 0; i < modules->count; i++)
        if (ip - modules->module[i].entry.start <
            modules->module[i].entry.end - modules->module[i].entry.start)
            return &modules->module[i];
    return NULL;
}

/* Memory for the table, made by whoever comes first. */
static bool ready(void)
{
    if (__atomic_load_n(&modules, __ATOMIC_ACQUIRE))
        return true;
    struct modules *made = private_map_kept(sizeof *made), *expected = NULL;
    if (!made)
        return false;
    __atomic_compare_exchange_n(&modules, &expected, made, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
    return true;
}

struct sighting {
    uintptr_t ip;
    struct wire_module entry;
    char path[512];
    bool found;
};

static int sight(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct sighting *sighting = context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD &&
            sighting->ip - info->dlpi_addr - segment->p_vaddr < segment->p_memsz) {
            describe(&sighting->entry, info);
            strncpy(sighting->path, info->dlpi_name, sizeof sighting->path - 1);
            sighting->found = true;
            return 1;
        }
    }
    return 0;
}

static void add(const struct sighting *sighting)
{
    lock_take(&modules->lock);
    if (!find(sighting->ip) && modules->count < MODULES_MAX) {
        struct module *module = &modules->module[modules->count];
        module->entry = sighting->entry;
        module->path = keep_path(sighting->path);
        module->entry.born = atomic_load(&shared_header()->node_count);
        module->logged = shared_log_module(&module->entry, module->path);
        modules->count++;
    }
    lock_release(&modules->lock);
}

/* Asked for every address that is new, without the lock. May say no of what is being taken out. */
static bool is_known(uintptr_t ip)
{
    uint32_t version = atomic_load_explicit(&modules->version, memory_order_acquire);
    bool found = find(ip) != NULL;
    atomic_thread_fence(memory_order_acquire);
    return found && !(version & 1) &&
           atomic_load_explicit(&modules->version, memory_order_relaxed) == version;
}

/* Nothing of ours is locked while the loader is asked: whoever holds its lock may come here. But
 * nobody may leave by longjmp while we hold it. */
void modules_saw_code(uintptr_t ip)
{
    if (!shared_header() || !ready() || is_known(ip))
        return;
    struct sighting sighting = {.ip = ip};
    uint64_t signals = signals_block();
    dl_iterate_phdr(sight, &sighting);
    if (sighting.found)
        add(&sighting);
    signals_restore(signals);
}

/* While modules are being taken out it may give another's, and then for a moment only. */
uintptr_t modules_start(uintptr_t ip)
{
    struct module *module = modules ? find(ip) : NULL;
    return module ? (uintptr_t)module->entry.start : 0;
}

void modules_log_again(void)
{
    if (!modules)
        return;
    modules->lock = (struct lock)LOCK_INIT;
    modules->version &= ~1u;
    for (uint32_t i = 0; i < modules->count; i++) {
        struct module *module = &modules->module[i];
        module->entry.born = 0;
        module->logged = shared_log_module(&module->entry, module->path);
    }
}

/* ---- Unloading ---- */

struct survey {
    unsigned long long unloads;
    uint32_t count;
    bool seen[MODULES_MAX]; /* modules of the table that the loader still lists */
};

static int survey_one(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct survey *survey = context;
    survey->unloads = info->dlpi_subs;
    for (uint32_t i = 0; i < survey->count; i++) {
        const struct wire_module *entry = &modules->module[i].entry;
        if (entry->bias == info->dlpi_addr && strcmp(modules->module[i].path, info->dlpi_name) == 0)
            survey->seen[i] = true;
    }
    return 0;
}

static void forget(uint32_t index)
{
    struct module *module = &modules->module[index];
    unwind_code_gone(module->entry.start, module->entry.end);
    if (module->logged)
        atomic_store(&module->logged->died, atomic_load(&shared_header()->node_count));
    *module = modules->module[--modules->count];
}

static void forget_unseen(const struct survey *survey)
{
    modules->unloads = survey->unloads;
    atomic_fetch_add(&modules->version, 1);
    for (uint32_t i = survey->count; i-- > 0;)
        if (!survey->seen[i])
            forget(i);
    atomic_fetch_add(&modules->version, 1);
}

/* The loader is asked without the lock, as above. So another thread may have taken modules out before
 * we have the lock, and others stand where we saw them: then it is asked again. (Without this two
 * dlclose at once forgot what was still loaded, or more than there was, and crashed.) */
void modules_check_gone(void)
{
    if (!shared_header() || !modules)
        return;
    for (bool done = false; !done;) {
        uint32_t version = atomic_load_explicit(&modules->version, memory_order_acquire);
        struct survey survey = {.count = modules->count};
        dl_iterate_phdr(survey_one, &survey);
        lock_take(&modules->lock);
        done = atomic_load_explicit(&modules->version, memory_order_relaxed) == version;
        if (done && survey.unloads != modules->unloads)
            forget_unseen(&survey);
        lock_release(&modules->lock);
    }
}
