/* The module log (module_log.h). An array of address ranges says which modules are logged. For an
 * address in none of them the loader is asked, with no lock of ours held, and the module is added
 * to the array and to the log. Runs inside the profiled program: no malloc, no stdio. */
#include "recorder/module_log.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "recorder/shared.h"
#include "unwind/permitted_calls.h"
#include "unwind/signal_lock.h"
#include "unwind/unwind.h"

enum {
    MODULES_MAX = 4096,
    PATH_MAX_BYTES = 4096, /* with NUL; a longer path could not be opened */
    PATH_ARENA_BYTES = 1 << 16,
    LARGE_DATA_BYTES = 256 << 10, /* a module with so many bytes of variables is logged */
    LARGE_AT_ONCE = 16,
    SHORT_PATH_BYTES = 512, /* on the stack, which may have only 16 KiB */
    JIT_DUMPS_MAX = 64,     /* a process has one */
};

struct module_log_module {
    struct wire_module entry; /* without path */
    const char *path;
    struct wire_module *logged; /* NULL: not in this process's log */
};

/* A fork copies this to the child. So the child need not ask the loader, whose lock another thread
 * of the parent may have held. Only `lock` is initialised again there. */
static struct modules {
    struct lock lock;
    _Atomic uint32_t version; /* odd: modules are being taken out */
    _Atomic uint32_t count;
    unsigned long long unloads; /* the loader's count of unloads at our last survey */
    char *paths;
    size_t paths_left;
    struct module_log_module module[MODULES_MAX];
} * modules;

/* NULL: no memory. ("" would be the main program's path.) */
static const char *modules_keep_path(const char *path)
{
    size_t bytes = strnlen(path, PATH_MAX_BYTES - 1) + 1;
    if (bytes > modules->paths_left) {
        modules->paths = private_map_kept(PATH_ARENA_BYTES);
        modules->paths_left = modules->paths ? PATH_ARENA_BYTES : 0;
        if (bytes > modules->paths_left)
            return NULL;
    }
    char *kept = modules->paths;
    memcpy(kept, path, bytes - 1); /* the arena is zero: the NUL is there */
    modules->paths += bytes;
    modules->paths_left -= bytes;
    return kept;
}

static void modules_read_build_id(struct wire_module *entry, const char *note, size_t bytes)
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

static void modules_describe(struct wire_module *entry, const struct dl_phdr_info *info)
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
            modules_read_build_id(entry, (const char *)(uintptr_t)start, segment->p_filesz);
        }
    }
}

static struct module_log_module *modules_find(uintptr_t ip)
{
    for (uint32_t i = 0; i < modules->count; i++)
        if (ip - modules->module[i].entry.start <
            modules->module[i].entry.end - modules->module[i].entry.start)
            return &modules->module[i];
    return NULL;
}

/* The first caller maps the table. False: no memory. */
static bool modules_ready(void)
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

struct module_search {
    uintptr_t ip;
    struct wire_module entry;
    char short_path[SHORT_PATH_BYTES];
    char *long_path; /* borrowed, PATH_MAX_BYTES; NULL: the path is short */
    bool found;      /* with its whole path */
};

/* Copied, because the loader's text may be freed after the call. */
static bool modules_copy_path(struct module_search *search, const char *path)
{
    size_t length = strnlen(path, PATH_MAX_BYTES - 1);
    char *to = search->short_path;
    if (length >= sizeof search->short_path)
        to = search->long_path = private_borrow(PATH_MAX_BYTES);
    if (!to)
        return false;
    memcpy(to, path, length);
    to[length] = '\0';
    return true;
}

static int modules_search_one(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct module_search *search = context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD &&
            search->ip - info->dlpi_addr - segment->p_vaddr < segment->p_memsz) {
            modules_describe(&search->entry, info);
            search->found = modules_copy_path(search, info->dlpi_name);
            return 1;
        }
    }
    return 0;
}

static void modules_add(const struct module_search *search)
{
    const char *path = search->long_path ? search->long_path : search->short_path;
    signal_lock_take(&modules->lock);
    if (!modules_find(search->ip) && modules->count < MODULES_MAX &&
        (path = modules_keep_path(path))) {
        struct module_log_module *module = &modules->module[modules->count];
        module->entry = search->entry;
        module->path = path;
        module->entry.born = atomic_load(&shared_header()->node_count);
        module->logged = shared_log_module(&module->entry, module->path);
        modules->count++;
    }
    signal_lock_release(&modules->lock);
}

/* Called for every new address, without the lock. May be false for a module while others are being
 * removed. */
static bool modules_is_known(uintptr_t ip)
{
    uint32_t version = atomic_load_explicit(&modules->version, memory_order_acquire);
    bool found = modules_find(ip) != NULL;
    atomic_thread_fence(memory_order_acquire);
    return found && !(version & 1) &&
           atomic_load_explicit(&modules->version, memory_order_relaxed) == version;
}

/* None of our locks is held while the loader is asked, because a thread that holds the loader's
 * lock may come here. Signals are blocked, so that no handler leaves by longjmp while we hold the
 * loader's lock. */
static void modules_learn(uintptr_t ip)
{
    struct module_search search = {.ip = ip};
    uint64_t signals = signal_lock_block();
    dl_iterate_phdr(modules_search_one, &search);
    if (search.found)
        modules_add(&search);
    if (search.long_path)
        private_return(search.long_path, PATH_MAX_BYTES);
    signal_lock_restore(signals);
}

struct modules_large {
    uint32_t count;
    uintptr_t at[LARGE_AT_ONCE];
};

static int modules_find_large(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct modules_large *large = context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W) ||
            segment->p_memsz < LARGE_DATA_BYTES)
            continue;
        large->at[large->count++] = info->dlpi_addr + segment->p_vaddr;
        break;
    }
    return large->count == LARGE_AT_ONCE;
}

void modules_saw_data(void)
{
    struct modules_large large = {0};
    if (!shared_header() || !modules_ready())
        return;
    uint64_t signals = signal_lock_block();
    dl_iterate_phdr(modules_find_large, &large);
    signal_lock_restore(signals);
    for (uint32_t i = 0; i < large.count; i++)
        if (!modules_is_known(large.at[i]))
            modules_learn(large.at[i]);
}

void modules_saw_code(uintptr_t ip)
{
    if (!shared_header() || !modules_ready() || modules_is_known(ip))
        return;
    modules_learn(ip);
    modules_saw_data();
}

/* "/proc/self/fd/FD". */
static void modules_fd_link(char link[32], int fd)
{
    char *at = (char *)memcpy(link, "/proc/self/fd/", 15) + 14;
    int scale = 1;
    while (fd / scale >= 10)
        scale *= 10;
    for (; scale; scale /= 10)
        *at++ = (char)('0' + fd / scale % 10);
    *at = '\0';
}

/* A path that does not fit is not told. */
void modules_saw_file(int fd)
{
    static _Atomic int told;
    char link[32], path[SHORT_PATH_BYTES];
    struct wire_module entry = {.start = WIRE_JIT_DUMP_AT, .end = WIRE_JIT_DUMP_AT + 1};
    if (!shared_header() || permitted_calls_is_forbidden(CALL_FILES))
        return;
    int kept_errno = errno;
    modules_fd_link(link, fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    errno = kept_errno;
    if (length <= 0 || length == sizeof path - 1)
        return;
    path[length] = '\0';
    if (!wire_is_jit_dump_name(path) || atomic_fetch_add(&told, 1) >= JIT_DUMPS_MAX)
        return;
    entry.born = atomic_load(&shared_header()->node_count);
    atomic_store(&entry.died, UINT32_MAX);
    shared_log_module(&entry, path);
}

/* While modules are being removed, this may be that of another module, for a moment. */
uintptr_t modules_start(uintptr_t ip)
{
    struct module_log_module *module = modules ? modules_find(ip) : NULL;
    return module ? (uintptr_t)module->entry.start : 0;
}

void modules_log_again(void)
{
    if (!modules)
        return;
    modules->lock = (struct lock)LOCK_INIT;
    modules->version &= ~1u;
    for (uint32_t i = 0; i < modules->count; i++) {
        struct module_log_module *module = &modules->module[i];
        module->entry.born = 0;
        module->logged = shared_log_module(&module->entry, module->path);
    }
}

/* ---- Unloading ---- */

struct module_log_survey {
    unsigned long long unloads;
    uint32_t count;
    bool seen[MODULES_MAX]; /* modules of the table that the loader still lists */
};

static int modules_survey_one(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct module_log_survey *survey = context;
    survey->unloads = info->dlpi_subs;
    for (uint32_t i = 0; i < survey->count; i++) {
        const struct wire_module *entry = &modules->module[i].entry;
        if (entry->bias == info->dlpi_addr && strcmp(modules->module[i].path, info->dlpi_name) == 0)
            survey->seen[i] = true;
    }
    return 0;
}

static void modules_forget(uint32_t index)
{
    struct module_log_module *module = &modules->module[index];
    unwind_code_gone(module->entry.start, module->entry.end);
    if (module->logged)
        atomic_store(&module->logged->died, atomic_load(&shared_header()->node_count));
    *module = modules->module[--modules->count];
}

static void modules_forget_unseen(const struct module_log_survey *survey)
{
    modules->unloads = survey->unloads;
    atomic_fetch_add(&modules->version, 1);
    for (uint32_t i = survey->count; i-- > 0;)
        if (!survey->seen[i])
            modules_forget(i);
    atomic_fetch_add(&modules->version, 1);
}

/* The loader is asked without the lock, as above. Before this thread gets the lock, another thread
 * can have taken modules out of the table, so that the table's indices have changed. Then the
 * loader is asked again. (Without this, two dlclose at once dropped modules that were still loaded,
 * or crashed.) */
void modules_check_gone(void)
{
    if (!shared_header() || !modules)
        return;
    for (bool done = false; !done;) {
        uint32_t version = atomic_load_explicit(&modules->version, memory_order_acquire);
        struct module_log_survey survey = {.count = modules->count};
        dl_iterate_phdr(modules_survey_one, &survey);
        signal_lock_take(&modules->lock);
        done = atomic_load_explicit(&modules->version, memory_order_relaxed) == version;
        if (done && survey.unloads != modules->unloads)
            modules_forget_unseen(&survey);
        signal_lock_release(&modules->lock);
    }
}
