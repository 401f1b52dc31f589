/* Hooks of PyObject_Malloc, PyMem_Malloc and the like (hooks_python.h), installed by
 * PyMem_SetAllocator(), which Python has for that. Calls of malloc (for large blocks) and mmap (for
 * arenas) inside the interpreter's allocator are part of it, and not recorded. Runs inside the
 * profiled program: no malloc of our own, no stdio, errno as the real function left it. */
#include "recorder/hooks_python.h"

#include "recorder/families.h"
#include "recorder/hooks.h"
#include "recorder/script_paths.h"
#include "runtimes/python.h"

/* The allocators before ours. */
static struct domain {
    enum python_domain number;
    struct python_allocator before;
} hooks_python_domains[] = {{.number = PYTHON_MEM}, {.number = PYTHON_OBJ}};

/* ---- The real functions, with the arguments of a family's ---- */

static const struct python_allocator *hooks_python_before(uintptr_t domain)
{
    return &((const struct domain *)domain)->before;
}

static uintptr_t hooks_python_real_malloc(uintptr_t domain, uintptr_t size, uintptr_t a2,
                                          uintptr_t a3, uintptr_t a4)
{
    const struct python_allocator *before = hooks_python_before(domain);
    (void)a2, (void)a3, (void)a4;
    return (uintptr_t)before->malloc(before->context, size);
}

static uintptr_t hooks_python_real_calloc(uintptr_t domain, uintptr_t count, uintptr_t size,
                                          uintptr_t a3, uintptr_t a4)
{
    const struct python_allocator *before = hooks_python_before(domain);
    (void)a3, (void)a4;
    return (uintptr_t)before->calloc(before->context, count, size);
}

static uintptr_t hooks_python_real_realloc(uintptr_t domain, uintptr_t block, uintptr_t size,
                                           uintptr_t a3, uintptr_t a4)
{
    const struct python_allocator *before = hooks_python_before(domain);
    (void)a3, (void)a4;
    return (uintptr_t)before->realloc(before->context, (void *)block, size);
}

static uintptr_t hooks_python_real_free(uintptr_t domain, uintptr_t block, uintptr_t a2,
                                        uintptr_t a3, uintptr_t a4)
{
    const struct python_allocator *before = hooks_python_before(domain);
    (void)a2, (void)a3, (void)a4;
    before->free(before->context, (void *)block);
    return 0;
}

#define ROW(does_, kind_, block_, count_, size_)                                                   \
    &(const struct family_row)                                                                     \
    {                                                                                              \
        .does = FAMILY_##does_, .kind = WIRE_##kind_, .block = block_, .count = count_,            \
        .size = size_, .align = -1, .pool = -1, .out = -1                                          \
    }
static const struct family_entry entry_malloc = {ROW(ALLOCATES, MALLOC, -1, -1, 1),
                                                 hooks_python_real_malloc, NULL},
                                 hooks_python_entry_calloc = {ROW(ALLOCATES, CALLOC, -1, 1, 2),
                                                              hooks_python_real_calloc, NULL},
                                 hooks_python_entry_realloc = {ROW(RESIZES, MALLOC, 1, -1, 2),
                                                               hooks_python_real_realloc, NULL},
                                 hooks_python_entry_free = {ROW(RELEASES, MALLOC, 1, -1, -1),
                                                            hooks_python_real_free, NULL};

/* ---- The hooks ---- */

#define PYTHON_HOOK static __attribute__((noinline))

/* Is everything recorded, and nothing rare to be done? Then a hook does what a family's hook does,
 * without asking. pymalloc does not tell how long a block is, so there is no slack. */
static inline __attribute__((always_inline)) bool hooks_python_is_plain(void)
{
    return likely(!hooks_sampling_filter()) && likely(thread_plain_inside);
}

#define BEFORE(domain) (&((const struct domain *)(domain))->before)

/* Calls an allocator's function, inside of which nothing is recorded. */
#define CALL_BEFORE(thread, frame, call)                                                           \
    ({                                                                                             \
        __attribute__((cleanup(hooks_inside_end))) struct inside inside_scope =                    \
            hooks_inside_begin_anew(thread, frame);                                                \
        call;                                                                                      \
    })

static inline __attribute__((always_inline)) void *hooks_python_record(struct thread *thread,
                                                                       uintptr_t frame,
                                                                       uint32_t node, unsigned kind,
                                                                       void *block, size_t size)
{
    size = likely(size < WIRE_ADDRESS_MASK) ? size : WIRE_ADDRESS_MASK;
    thread_record_long_at(thread, frame, node, likely(block) ? kind : kind | WIRE_FAILED,
                          (uintptr_t)block, size, 0, 0);
    return block;
}

PYTHON_HOOK void *hooks_python_malloc(void *domain, size_t size)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    if (unlikely(!thread))
        return BEFORE(domain)->malloc(BEFORE(domain)->context, size);
    struct unwind_start start = UNWIND_START_HERE();
    if (likely(hooks_python_is_plain())) {
        uint32_t node = thread_path_before(thread, frame, &start);
        void *block =
            CALL_BEFORE(thread, frame, BEFORE(domain)->malloc(BEFORE(domain)->context, size));
        return hooks_python_record(thread, frame, node, WIRE_MALLOC, block, size);
    }
    const struct family_call call = {&entry_malloc, {(uintptr_t)domain, size}};
    return (void *)family_allocate(thread, frame, &start, &call);
}

PYTHON_HOOK void *hooks_python_calloc(void *domain, size_t count, size_t size)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    if (unlikely(!thread))
        return BEFORE(domain)->calloc(BEFORE(domain)->context, count, size);
    struct unwind_start start = UNWIND_START_HERE();
    if (likely(hooks_python_is_plain())) {
        uint32_t node = thread_path_before(thread, frame, &start);
        void *block = CALL_BEFORE(thread, frame,
                                  BEFORE(domain)->calloc(BEFORE(domain)->context, count, size));
        size_t bytes;
        bytes = __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
        return hooks_python_record(thread, frame, node, WIRE_CALLOC, block, bytes);
    }
    const struct family_call call = {&hooks_python_entry_calloc, {(uintptr_t)domain, count, size}};
    return (void *)family_allocate(thread, frame, &start, &call);
}

/* `old` NULL: an allocation. */
static inline __attribute__((always_inline)) void *
hooks_python_resize_plain(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                          void *domain, void *old, size_t size)
{
    uint32_t node = thread_path_before(thread, frame, start);
    if (old)
        thread_record_short(thread, frame, WIRE_REALLOC_BEGIN, (uintptr_t)old);
    void *block =
        CALL_BEFORE(thread, frame, BEFORE(domain)->realloc(BEFORE(domain)->context, old, size));
    return hooks_python_record(thread, frame, node, old ? WIRE_REALLOC_END : WIRE_MALLOC, block,
                               size);
}

/* In Python a size of 0 is one of 1, and frees nothing. */
PYTHON_HOOK void *hooks_python_realloc(void *domain, void *block, size_t size)
{
    uintptr_t frame = HOOK_FRAME();
    size = size ? size : 1;
    if (block)
        script_paths_block_ends((uintptr_t)block);
    struct thread *thread = thread_hook_enter(frame);
    if (unlikely(!thread))
        return BEFORE(domain)->realloc(BEFORE(domain)->context, block, size);
    struct unwind_start start = UNWIND_START_HERE();
    if (likely(hooks_python_is_plain()))
        return hooks_python_resize_plain(thread, frame, &start, domain, block, size);
    const struct family_call call = {&hooks_python_entry_realloc,
                                     {(uintptr_t)domain, (uintptr_t)block, size}};
    return (void *)(block ? family_resize(thread, frame, &start, &call)
                          : family_allocate(thread, frame, &start, &call));
}

PYTHON_HOOK void hooks_python_free(void *domain, void *block)
{
    uintptr_t frame = HOOK_FRAME();
    if (unlikely(!block))
        return;
    script_paths_block_ends((uintptr_t)block);
    struct thread *thread = thread_hook_enter(frame);
    if (unlikely(!thread)) {
        BEFORE(domain)->free(BEFORE(domain)->context, block);
        return;
    }
    if (likely(hooks_python_is_plain())) {
        thread_record_short(thread, frame, WIRE_FREE, (uintptr_t)block);
        CALL_BEFORE(thread, frame, BEFORE(domain)->free(BEFORE(domain)->context, block));
        return;
    }
    struct unwind_start start = UNWIND_START_HERE();
    const struct family_call call = {&hooks_python_entry_free,
                                     {(uintptr_t)domain, (uintptr_t)block}};
    family_release(thread, frame, &start, &call);
}

/* ---- Taking over ---- */

/* Do the allocators call ours, although they are others? tracemalloc and debug hooks do: each has
 * the allocators before it in its context, a variable of the interpreter. (They are not called to
 * find out, because they may have called us, with their locks held.) */
static bool hooks_python_leads_to_us(const void *context, unsigned depth)
{
    enum { WORDS = 8, DEPTH_MOST = 3 };
    struct code_span module = python_module();
    const uintptr_t *words = context;
    if ((uintptr_t)words - module.lo >= module.hi - module.lo - WORDS * sizeof *words)
        return false;
    for (unsigned i = 0; i < WORDS; i++)
        if (words[i] == (uintptr_t)hooks_python_malloc ||
            (depth < DEPTH_MOST && hooks_python_leads_to_us((const void *)words[i], depth + 1)))
            return true;
    return false;
}

/* PYTHONMALLOC and the interpreter's development mode set other allocators when the interpreter
 * begins. These are then the ones before ours. */
static void hooks_python_take_over(struct domain *domain)
{
    struct python_allocator now;
    struct python_allocator ours = {domain, hooks_python_malloc, hooks_python_calloc,
                                    hooks_python_realloc, hooks_python_free};
    python_get_allocator(domain->number, &now);
    if (now.malloc == hooks_python_malloc || hooks_python_leads_to_us(now.context, 0))
        return;
    domain->before = now;
    python_set_allocator(domain->number, &ours);
}

static void hooks_python_take_over_all(void)
{
    for (size_t i = 0; i < sizeof hooks_python_domains / sizeof *hooks_python_domains; i++)
        hooks_python_take_over(&hooks_python_domains[i]);
}

/* Called in a thread of Python's. A thread with the interpreter's lock may change allocators. */
static void hooks_python_first_frames(void)
{
    if (python_has_lock())
        hooks_python_take_over_all();
}

void hooks_python_begin(void)
{
    real_is_allocator_too((void *)python_eval().lo);
    script_paths_first_frames = hooks_python_first_frames;
    if (real_is_late())
        return;
    hooks_python_take_over_all();
}
