/* Maps the recorder's shared memory chunk by chunk (shared_view.h). Chunks are sorted into arrays
 * by kind. Counts from the program are bounded by what is mapped, and module entries are checked
 * before they are used. */
#include "collector/shared_view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Maps a chunk without a descriptor: mremap with an old size of 0 maps a shared mapping a second
 * time, and longer. The end of that mapping is the chunk. */
static void *shared_view_chunk_map(struct view *view, uint32_t index)
{
    if (!view->last)
        return NULL;
    if (index < view->window)
        return (char *)view->header + (size_t)index * WIRE_CHUNK_BYTES;
    size_t before = (size_t)(index - view->last_index) * WIRE_CHUNK_BYTES;
    char *both = mremap(view->last, 0, before + WIRE_CHUNK_BYTES, MREMAP_MAYMOVE);
    if (both == MAP_FAILED)
        return NULL;
    munmap(both, before);
    return both + before;
}

/* ---- The mark of our death ---- */

static int shared_view_death_mark_set(struct death_mark *mark, _Atomic uint32_t *word)
{
    size_t bytes;
    *mark = (struct death_mark){
        .entry.next = &mark->list.list,
        .list = {.list.next = &mark->entry, .futex_offset = (char *)word - (char *)&mark->entry}};
    if (syscall(SYS_get_robust_list, 0, &mark->before, &bytes) < 0 ||
        syscall(SYS_set_robust_list, &mark->list, sizeof mark->list) < 0)
        return -errno;
    mark->holder = gettid();
    atomic_store(word, (uint32_t)mark->holder);
    return 0;
}

/* The shared word is not read, because the program may have changed it. */
static void shared_view_death_mark_clear(struct death_mark *mark)
{
    if (mark->holder && mark->holder == gettid())
        syscall(SYS_set_robust_list, mark->before, sizeof *mark->before);
    mark->holder = 0;
}

/* ---- The memory ---- */

uint64_t shared_view_most_bytes(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

static uint32_t shared_view_chunks_allowed(uint32_t wanted)
{
    uint64_t chunks = shared_view_most_bytes() / WIRE_CHUNK_BYTES;
    return chunks < wanted ? (uint32_t)chunks : wanted;
}

/* A sparse file of the largest size that it may ever have, sealed so that the program cannot shrink
 * it under our mappings. */
static int shared_view_memory_new(uint32_t chunks)
{
    if (chunks < VIEW_LEAST_CHUNKS)
        return -EFBIG;
    int fd = memfd_create("tidemark", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)chunks * WIRE_CHUNK_BYTES) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        int error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

void shared_view_close_descriptor(struct view *view)
{
    if (view->fd >= 0)
        close(view->fd);
    view->fd = -1;
}

static void *shared_view_map(const struct view *view, uint32_t chunks)
{
    return mmap(NULL, (size_t)chunks * WIRE_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                view->fd, 0);
}

/* Maps the window, or only the header if there is no room for the window. */
static int shared_view_map_window(struct view *view)
{
    view->window = view->chunk_limit < VIEW_WINDOW_CHUNKS ? view->chunk_limit : VIEW_WINDOW_CHUNKS;
    void *header = shared_view_map(view, view->window);
    if (header == MAP_FAILED)
        header = shared_view_map(view, view->window = 1);
    if (header == MAP_FAILED)
        return -errno;
    view->header = header;
    view->last = header;
    return 0;
}

int shared_view_open(struct view *view, const struct wire_header *options)
{
    uint32_t chunks = shared_view_chunks_allowed(options->chunk_limit);
    *view = (struct view){.fd = shared_view_memory_new(chunks),
                          .ring_bytes = options->ring_bytes,
                          .chunk_limit = chunks};
    if (view->fd < 0)
        return view->fd;
    int error = shared_view_map_window(view);
    if (error) {
        shared_view_close_descriptor(view);
        return error;
    }
    /* The rest is zero already, and most of its pages will never be written. */
    memcpy(view->header, options, offsetof(struct wire_header, session_state));
    view->header->chunk_limit = chunks;
    view->header->magic = WIRE_MAGIC;
    view->header->header_bytes = sizeof *options;
    view->chunks_seen = 1;
    return shared_view_death_mark_set(&view->death, &view->header->collector);
}

/* ---- Lists of chunks ---- */

static size_t shared_view_rest_bytes(const struct view *view)
{
    return view->chunk_limit * sizeof(void *);
}

static void **shared_view_chunk_place(struct chunk_list *list, size_t index)
{
    return index < CHUNKS_FIRST ? &list->first[index] : &list->rest[index - CHUNKS_FIRST];
}

static void *shared_view_chunk(const struct chunk_list *list, size_t index)
{
    return index < CHUNKS_FIRST ? list->first[index] : list->rest[index - CHUNKS_FIRST];
}

/* Only the used part of a list is resident. */
static bool shared_view_append(const struct view *view, struct chunk_list *list, void *chunk)
{
    if (list->count == CHUNKS_FIRST) {
        void *rest = mmap(NULL, shared_view_rest_bytes(view), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (rest == MAP_FAILED)
            return false;
        list->rest = rest;
    }
    *shared_view_chunk_place(list, list->count) = chunk;
    list->count++;
    return true;
}

static bool shared_view_is_in_window(const struct view *view, const void *chunk)
{
    return (uintptr_t)chunk - (uintptr_t)view->header < (uintptr_t)view->window * WIRE_CHUNK_BYTES;
}

static void shared_view_chunk_unmap(const struct view *view, void *chunk)
{
    if (!shared_view_is_in_window(view, chunk))
        munmap(chunk, WIRE_CHUNK_BYTES);
}

static void shared_view_unmap_chunks(const struct view *view, struct chunk_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        void **chunk = shared_view_chunk_place(list, i);
        if (*chunk)
            shared_view_chunk_unmap(view, *chunk);
        *chunk = NULL;
    }
}

static void shared_view_unmap_all(const struct view *view, struct chunk_list *list)
{
    shared_view_unmap_chunks(view, list);
    if (list->rest)
        munmap(list->rest, shared_view_rest_bytes(view));
    *list = (struct chunk_list){0};
}

void shared_view_leave_rings(struct view *view)
{
    enum { LITTLE_BYTES = 1 << 16 }; /* so little stays until the end */
    bool little = shared_view_touched_bytes(view) < LITTLE_BYTES;
    for (size_t i = 0; i < view->data.count && !little; i++) {
        void *chunk = shared_view_chunk(&view->data, i);
        if (chunk && shared_view_is_in_window(view, chunk))
            madvise(chunk, WIRE_CHUNK_BYTES, MADV_DONTNEED);
    }
    shared_view_unmap_chunks(view, &view->data);
    view->last = NULL;
}

void shared_view_leave(struct view *view)
{
    if (!view->header)
        return;
    atomic_fetch_or(&view->header->collector, FUTEX_OWNER_DIED);
    shared_view_death_mark_clear(&view->death);
}

void shared_view_close(struct view *view)
{
    if (!view->header)
        return;
    shared_view_leave(view);
    shared_view_unmap_all(view, &view->rings);
    shared_view_unmap_all(view, &view->data);
    shared_view_unmap_all(view, &view->nodes);
    shared_view_unmap_all(view, &view->modules);
    if (view->names)
        shared_view_chunk_unmap(view, (void *)view->names);
    munmap(view->header, (size_t)view->window * WIRE_CHUNK_BYTES);
    shared_view_close_descriptor(view);
    view->header = NULL;
}

/* Where chunks of a kind are listed; NULL: they are not, there is one of the kind. */
static struct chunk_list *shared_view_list_of(struct view *view, uint8_t kind)
{
    switch (kind) {
    case WIRE_CHUNK_RINGS:
        return &view->rings;
    case WIRE_CHUNK_RING_DATA:
        return &view->data;
    case WIRE_CHUNK_NODES:
        return &view->nodes;
    case WIRE_CHUNK_MODULES:
        return &view->modules;
    default:
        return NULL;
    }
}

/* False: there is no memory for it now. */
static bool shared_view_chunk_add(struct view *view, uint32_t index)
{
    uint8_t kind = atomic_load_explicit(&view->header->chunk_kind[index], memory_order_relaxed);
    struct chunk_list *list = shared_view_list_of(view, kind);
    if (!list && (kind != WIRE_CHUNK_NAMES || view->names))
        return true; /* an unknown kind and a second one of names are not used */
    void *chunk = shared_view_chunk_map(view, index);
    if (!chunk)
        return false;
    if (!list)
        view->names = chunk;
    if (list && !shared_view_append(view, list, chunk)) {
        shared_view_chunk_unmap(view, chunk);
        return false;
    }
    view->last = chunk;
    view->last_index = index;
    return true;
}

void shared_view_refresh(struct view *view)
{
    uint32_t count = atomic_load_explicit(&view->header->chunk_count, memory_order_acquire);
    if (count > view->chunk_limit) /* behind the end of the file: SIGBUS */
        count = view->chunk_limit;
    while (view->chunks_seen < count && shared_view_chunk_add(view, view->chunks_seen))
        view->chunks_seen++;
}

static uint64_t shared_view_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint32_t shared_view_ring_count(const struct view *view)
{
    uint64_t told = atomic_load_explicit(&view->header->ring_count, memory_order_acquire);
    uint64_t mapped =
        shared_view_least(view->rings.count * WIRE_RINGS_PER_CHUNK,
                          view->data.count * wire_rings_per_data_chunk(view->ring_bytes));
    return (uint32_t)shared_view_least(told, mapped);
}

struct wire_ring *shared_view_ring(const struct view *view, uint32_t index)
{
    struct wire_ring *rings = shared_view_chunk(&view->rings, index / WIRE_RINGS_PER_CHUNK);
    return &rings[index % WIRE_RINGS_PER_CHUNK];
}

char *shared_view_ring_data(const struct view *view, uint32_t index)
{
    unsigned per_chunk = wire_rings_per_data_chunk(view->ring_bytes);
    return (char *)shared_view_chunk(&view->data, index / per_chunk) +
           (size_t)(index % per_chunk) * (view->ring_bytes + WIRE_RING_SPILL);
}

uint32_t shared_view_node_count(const struct view *view)
{
    uint64_t told = atomic_load_explicit(&view->header->node_count, memory_order_acquire);
    return (uint32_t)shared_view_least(told, view->nodes.count * WIRE_NODES_PER_CHUNK);
}

const struct wire_node *shared_view_node(const struct view *view, uint32_t index)
{
    const struct wire_node *nodes = shared_view_chunk(&view->nodes, index / WIRE_NODES_PER_CHUNK);
    return &nodes[index % WIRE_NODES_PER_CHUNK];
}

void shared_view_leave_nodes(const struct view *view, uint32_t count)
{
    for (size_t chunk = 0; chunk < count / WIRE_NODES_PER_CHUNK; chunk++)
        madvise(shared_view_chunk(&view->nodes, chunk), WIRE_CHUNK_BYTES, MADV_DONTNEED);
}

static bool shared_view_module_is_sound(const struct wire_module *module, uint32_t bytes,
                                        size_t room)
{
    return bytes % 8 == 0 && bytes > offsetof(struct wire_module, path) && bytes <= room &&
           module->build_id_bytes <= sizeof module->build_id && module->start < module->end &&
           memchr(module->path, '\0', bytes - offsetof(struct wire_module, path)) != NULL;
}

void shared_view_modules(const struct view *view, size_t *cursor,
                         void (*visit)(void *context, const struct wire_module *module),
                         void *context)
{
    for (;;) {
        size_t chunk = *cursor / WIRE_CHUNK_BYTES, at = *cursor % WIRE_CHUNK_BYTES;
        if (chunk >= view->modules.count)
            return;
        const char *modules = shared_view_chunk(&view->modules, chunk);
        const struct wire_module *module = (const void *)(modules + at);
        size_t room = WIRE_CHUNK_BYTES - at;
        uint32_t bytes =
            room < sizeof *module ? 0 : __atomic_load_n(&module->entry_bytes, __ATOMIC_ACQUIRE);
        if (bytes == 0) {
            if (chunk + 1 >= view->modules.count)
                return;
            *cursor = (chunk + 1) * (size_t)WIRE_CHUNK_BYTES;
            continue;
        }
        if (!shared_view_module_is_sound(module, bytes, room))
            return;
        visit(context, module);
        *cursor += bytes;
    }
}

void shared_view_names(const struct view *view, uint32_t *next,
                       void (*visit)(void *context, uint32_t number, const char *name),
                       void *context)
{
    uint64_t told = atomic_load_explicit(&view->header->name_count, memory_order_acquire);
    uint32_t count = view->names ? (uint32_t)shared_view_least(told, WIRE_NAMES) : 0;
    for (; *next < count; ++*next) {
        char name[WIRE_NAME_BYTES];
        memcpy(name, view->names[*next].text, sizeof name - 1);
        name[sizeof name - 1] = '\0';
        for (char *at = name; *at; at++)
            if ((unsigned char)*at < ' ' || *at == 0x7f)
                *at = '?';
        visit(context, *next, name);
    }
}

/* ---- As origins ---- */

static uint32_t shared_view_origins_node_count(void *context)
{
    return shared_view_node_count(context);
}

static struct origins_node shared_view_origins_node(void *context, uint32_t number)
{
    const struct wire_node *node = shared_view_node(context, number);
    return (struct origins_node){node->ip, node->parent};
}

static void shared_view_origins_leave_nodes(void *context, uint32_t count)
{
    shared_view_leave_nodes(context, count);
}

struct module_visit {
    void (*visit)(void *visitor, const struct origins_module *module);
    void *visitor;
};

static void shared_view_visit_module(void *context, const struct wire_module *module)
{
    const struct module_visit *visit = context;
    struct origins_module seen = {.born = module->born,
                                  .died = &module->died,
                                  .bias = module->bias,
                                  .start = module->start,
                                  .end = module->end,
                                  .build_id = module->build_id,
                                  .build_id_bytes = module->build_id_bytes,
                                  .path = module->path};
    visit->visit(visit->visitor, &seen);
}

static void shared_view_origins_modules(void *context, size_t *cursor,
                                        void (*visit)(void *visitor,
                                                      const struct origins_module *module),
                                        void *visitor)
{
    struct module_visit module_visit = {visit, visitor};
    shared_view_modules(context, cursor, shared_view_visit_module, &module_visit);
}

struct origins shared_view_origins(struct view *view)
{
    return (struct origins){.context = view,
                            .node_count = shared_view_origins_node_count,
                            .node = shared_view_origins_node,
                            .leave_nodes = shared_view_origins_leave_nodes,
                            .modules = shared_view_origins_modules};
}

uint64_t shared_view_touched_bytes(const struct view *view)
{
    uint64_t bytes = (uint64_t)shared_view_node_count(view) * sizeof(struct wire_node) +
                     view->modules.count * 4096 + 4096;
    uint32_t rings = shared_view_ring_count(view);
    for (uint32_t i = 0; i < rings; i++) {
        uint64_t head =
            atomic_load_explicit(&shared_view_ring(view, i)->head, memory_order_relaxed);
        bytes += shared_view_least(head, view->ring_bytes) + sizeof(struct wire_ring);
    }
    return bytes;
}
