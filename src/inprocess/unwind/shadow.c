/* Keeps shadow stacks (shadow.h). A thread has one array of frames for its own stack; stacks of
 * fibers and signals have slots in one shared table. It runs inside the profiled program: it
 * uses neither malloc nor locks. */
#include "unwind/shadow.h"

#include <signal.h>
#include "base/large_static.h"
#include "unwind/permitted_calls.h"
#include "unwind/unwind_modules.h"
#include "unwind/paths.h"
#include "unwind/unwind_rules.h"

#define FIRST_CAPACITY 100u                  /* frames: a page */
#define MOST_FRAMES    (1u << 21)            /* of one stack; deeper calls are not kept */
#define FOREIGN_STACKS 2048u                 /* at once */
#define FOREIGN_BYTES  ((uintptr_t)64 << 20) /* the largest stack that is searched */
#define STARTERS       64u
#define ANSWERS        4096u

/* Stacks that are no thread's own. A slot is taken by writing its top, and is free when the top is
 * 0. */
struct foreign {
    _Atomic uint32_t used; /* slots that were ever taken */
    _Atomic uintptr_t tops[FOREIGN_STACKS];
    struct shadow shadows[FOREIGN_STACKS];
    /* Return addresses of fibers' outermost frames: they are in the code that starts fibers. */
    _Atomic uint32_t starter_count;
    _Atomic uintptr_t starters[STARTERS];
};

static struct {
    const struct unwind_host *host;
    void (*left_deepest)(struct shadow *shadow);
    uint32_t max_depth;
    _Atomic(struct foreign *) foreign;
} shadows;
/* Cache of shadow_is_within(): 63 bits of the question's hash, and the answer. */
LARGE_STATIC static _Atomic uint64_t shadow_answers[ANSWERS];

__thread struct shadow *shadow_own, *shadow_current;

void shadow_init(const struct unwind_host *host, uint32_t max_depth,
                 void (*left_deepest)(struct shadow *shadow))
{
    shadows.host = host;
    shadows.max_depth = max_depth ? max_depth : UINT32_MAX;
    shadows.left_deepest = left_deepest;
}

static uintptr_t shadow_sp_of(const struct shadow_frame *frame)
{
    return frame->sp & ~(uintptr_t)SHADOW_BITS;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* One pointer changes, when all is ready. The old frames stay mapped, because a hook that was
 * interrupted may still use them. All old ones together take less than the new ones. */
static bool shadow_grow(struct shadow *shadow)
{
    uint32_t capacity = shadow->capacity ? shadow->capacity * 2 : FIRST_CAPACITY;
    struct shadow_frame *frames;
    if (capacity > MOST_FRAMES) {
        return false;
    }
    frames = shadows.host->map_kept(capacity * sizeof *frames);
    if (!frames) {
        return false;
    }
    for (uint32_t i = 0; shadow->capacity && i <= shadow->count; i++) {
        frames[i] = shadow->frames[i];
    }
    frames[0].sp = ~(uintptr_t)SHADOW_BITS;
    SHADOW_BARRIER();
    shadow->frames = frames;
    SHADOW_BARRIER();
    shadow->capacity = capacity;
    return true;
}

static void shadow_empty(struct shadow *shadow)
{
    shadow->count = shadow->low = shadow->hashed = shadow->peak = 0;
    shadow->layer_count = shadow->layers_good = 0;
}

struct shadow *shadow_begin_thread(struct shadow *old)
{
    struct shadow *shadow = old ? old : shadows.host->map_kept(sizeof *shadow);
    if (!shadow || (!shadow->capacity && !shadow_grow(shadow))) {
        return NULL;
    }
    shadow_empty(shadow);
    shadow->kind = SHADOW_OWN;
    shadow->deepest = UINTPTR_MAX;
    stack_begin(&shadow->stack);
    shadow_own = shadow_current = shadow;
    return shadow;
}

void shadow_forget_deepest(struct shadow *shadow)
{
    shadow->deepest = UINTPTR_MAX;
    shadow->peak = shadow->layer_count = shadow->layers_good = 0;
}

/* ---- Which stack ----------------------------------------------------------------------------- */

static struct foreign *shadow_foreign_stacks(void)
{
    struct foreign *foreign = atomic_load_explicit(&shadows.foreign, memory_order_acquire);
    struct foreign *made;
    if (likely(foreign)) {
        return foreign;
    }
    made = shadows.host->map_kept(sizeof *made);
    if (made && !atomic_compare_exchange_strong(&shadows.foreign, &foreign, made)) {
        shadows.host->give_back(made, sizeof *made);
        return foreign;
    }
    return made;
}

/* The foreign stack whose outermost frame is the nearest at or above sp, with nothing unmapped in
 * between. */
static struct shadow *shadow_find_foreign(struct foreign *foreign, uintptr_t sp)
{
    uint32_t used = atomic_load_explicit(&foreign->used, memory_order_acquire);
    uintptr_t nearest = UINTPTR_MAX;
    struct shadow *shadow = NULL;
    for (uint32_t i = 0; i < used; i++) {
        uintptr_t top = atomic_load_explicit(&foreign->tops[i], memory_order_acquire);
        if (top - sp < nearest) { /* a top below sp wraps round, and is far */
            nearest = top - sp;
            shadow = &foreign->shadows[i];
        }
    }
    if (!shadow || nearest > FOREIGN_BYTES || !shadow->capacity) {
        return NULL;
    }
    return sp >= shadow->extent.lo || stack_prove(&shadow->extent, sp) ? shadow : NULL;
}

static bool shadow_is_starter(struct foreign *foreign, uintptr_t site)
{
    uint32_t count = atomic_load_explicit(&foreign->starter_count, memory_order_acquire);
    for (uint32_t i = 0; i < count && i < STARTERS; i++) {
        if (atomic_load_explicit(&foreign->starters[i], memory_order_relaxed) == site) {
            return true;
        }
    }
    return false;
}

static void shadow_note_starter(struct foreign *foreign, uintptr_t site)
{
    uint32_t index;
    if (shadow_is_starter(foreign, site)) {
        return;
    }
    index = atomic_fetch_add(&foreign->starter_count, 1);
    if (index < STARTERS) {
        atomic_store_explicit(&foreign->starters[index], site, memory_order_relaxed);
    } else {
        atomic_store(&foreign->starter_count, STARTERS);
    }
}

/* The end of the alternate signal stack, if that is what sp is on; 0: it is not. */
static uintptr_t shadow_alternate_end(uintptr_t sp)
{
    stack_t at = {0};
    if (permitted_calls_is_forbidden(CALL_ALTSTACK) ||
        arch_syscall4(SYS_sigaltstack, 0, (long)&at, 0, 0) != 0 || at.ss_flags & SS_DISABLE) {
        return 0;
    }
    return sp - (uintptr_t)at.ss_sp < at.ss_size ? (uintptr_t)at.ss_sp + at.ss_size : 0;
}

/* A free slot, taken for a stack that begins at `top`. */
static struct shadow *shadow_take_slot(struct foreign *foreign, uintptr_t top)
{
    for (uint32_t i = 0; i < FOREIGN_STACKS; i++) {
        uintptr_t nobody = 0;
        uint32_t used = i;
        if (!atomic_load_explicit(&foreign->tops[i], memory_order_relaxed) &&
            atomic_compare_exchange_strong(&foreign->tops[i], &nobody, top)) {
            atomic_compare_exchange_strong(&foreign->used, &used, i + 1);
            return &foreign->shadows[i];
        }
    }
    return NULL;
}

static void shadow_release_slot(struct shadow *shadow)
{
    struct foreign *foreign = atomic_load(&shadows.foreign);
    if (shadow_current == shadow) {
        shadow_current = shadow_own;
    }
    atomic_store_explicit(&foreign->tops[shadow - foreign->shadows], 0, memory_order_release);
}

static struct shadow *shadow_make_foreign(struct foreign *foreign, uintptr_t sp, uintptr_t site)
{
    uintptr_t end = shadow_alternate_end(sp);
    struct shadow *shadow = shadow_take_slot(foreign, end ? end : sp);
    if (!shadow) {
        return NULL;
    }
    if (!shadow->capacity && !shadow_grow(shadow)) {
        shadow_release_slot(shadow);
        return NULL;
    }
    shadow_empty(shadow);
    shadow->kind = end ? SHADOW_ALTERNATE : SHADOW_FIBER;
    shadow->below = end ? shadow_current : NULL;
    shadow->deepest = 0;
    shadow->peak = 1; /* stays so, so that the exit of the outermost frame takes the slow way */
    /* from the beginning of sp's page on */
    shadow->extent = (struct stack){sp & -(uintptr_t)PAGE_BYTES, (end ? end : sp) + 1, 0, 1};
    if (!end) {
        shadow_note_starter(foreign, site);
    }
    return shadow;
}

static struct shadow *shadow_find_elsewhere(uintptr_t sp, uintptr_t site)
{
    struct foreign *foreign = site ? shadow_foreign_stacks()
                                   : atomic_load_explicit(&shadows.foreign, memory_order_acquire);
    struct shadow *shadow = foreign ? shadow_find_foreign(foreign, sp) : NULL;
    bool begins = false;
    if (!foreign) {
        return NULL;
    }
    if (shadow && site && shadow->kind == SHADOW_FIBER) {
        begins = shadow_is_starter(foreign, site) &&
                 sp != atomic_load(&foreign->tops[shadow - foreign->shadows]);
    }
    if (site && (!shadow || begins)) {
        return shadow_make_foreign(foreign, sp, site);
    }
    if (shadow && shadow->kind == SHADOW_ALTERNATE && shadow != shadow_current) {
        shadow->below = shadow_current;
    }
    return shadow;
}

struct shadow *shadow_find(uintptr_t sp, uintptr_t site)
{
    struct shadow *own = shadow_own, *shadow = own;
    if (!own) {
        return NULL;
    }
    if (!stack_covers(&own->stack, sp) && !stack_prove(&own->stack, sp)) {
        shadow = shadow_find_elsewhere(sp, site);
    }
    if (shadow) {
        shadow_current = shadow;
    }
    return shadow;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

void shadow_settle(struct shadow *shadow)
{
    if (shadow->peak && shadow->kind == SHADOW_OWN) {
        shadows.left_deepest(shadow);
        shadow->peak = 0;
    }
}

static void shadow_set_count(struct shadow *shadow, uint32_t count)
{
    if (unlikely(shadow->peak > count)) {
        shadow_settle(shadow);
    }
    *(volatile uint32_t *)&shadow->count = count;
    SHADOW_BARRIER();
    if (shadow->low > count) {
        shadow->low = count;
    }
}

/* The number of frames that are at or above sp, and so alive. */
static uint32_t shadow_live_count(const struct shadow *shadow, uintptr_t sp)
{
    uint32_t count = shadow->count;
    while (shadow_sp_of(&shadow->frames[count]) < sp) {
        count--;
    }
    return count;
}

static void shadow_drop_dead(struct shadow *shadow, uintptr_t sp)
{
    uint32_t count = shadow_live_count(shadow, sp);
    if (unlikely(count != shadow->count)) {
        shadow_set_count(shadow, count);
        if (!count && shadow->kind != SHADOW_OWN) {
            shadow_release_slot(shadow);
        }
    }
}

/* Frame i, or the frame that it is inlined in. */
static uint32_t shadow_frame_of(const struct shadow *shadow, uint32_t i)
{
    while (shadow->frames[i].sp & SHADOW_INLINED) {
        i--;
    }
    return i;
}

/* The entered function will return to the same address as the frame below. Either it is inlined in
 * that frame, or it is another call from the same place (recursion, or the frame below is dead).
 * Code belongs to the function that begins nearest before it, and the hook's call of an inlined
 * function is in the outer function. */
static bool shadow_is_inlined(const struct shadow_frame *outer, const struct shadow_frame *frame)
{
    bool after_own = frame->function <= frame->at, after_outer = outer->function <= frame->at;
    if (frame->site != outer->site) {
        return false;
    }
    if (frame->function == outer->function) {
        return shadow_sp_of(frame) == shadow_sp_of(outer) && frame->at != outer->at;
    }
    return !after_own || (after_outer && outer->function > frame->function);
}

static void shadow_push(struct shadow *shadow, const struct shadow_frame *frame)
{
    for (;;) {
        uint32_t count = shadow->count;
        if (count + 2 > shadow->capacity && !shadow_grow(shadow)) {
            return; /* not kept; its exit finds another sp, or no frame */
        }
        shadow->frames[count + 1] = *frame;
        SHADOW_BARRIER();
        *(volatile uint32_t *)&shadow->count = count + 1;
        SHADOW_BARRIER();
        if (*(volatile uintptr_t *)&shadow->frames[count + 1].sp == frame->sp) {
            return;
        }
        *(volatile uint32_t *)&shadow->count = count; /* a handler has used the place meanwhile */
    }
}

void shadow_enter_slowly(struct shadow *shadow, const struct shadow_frame *entered)
{
    struct shadow_frame frame = *entered;
    uint32_t count = shadow_live_count(shadow, frame.sp), outer;
    if (shadow->frames[count].sp == frame.sp && shadow->frames[count].function == frame.function &&
        shadow->frames[count].at == frame.at && shadow->frames[count].site == frame.site) {
        count--; /* the same entry again, because a handler took its place; or one whose exit hook
                  * was not called */
    }
    outer = shadow_frame_of(shadow, count);
    if (outer && shadow_is_inlined(&shadow->frames[outer], &frame)) {
        frame.sp |= SHADOW_INLINED;
    } else {
        while (count && shadow_sp_of(&shadow->frames[count]) <= frame.sp) {
            count--;
        }
    }
    if (count != shadow->count) {
        shadow_set_count(shadow, count);
    }
    shadow_push(shadow, &frame);
    if (shadow_sp_of(&frame) < shadow->deepest) {
        shadow->deepest = shadow_sp_of(&frame);
        shadow->peak = shadow->count;
    }
}

/* The frame that the exit of `function` ends: the innermost one of that function at or above sp. A
 * frame that has used alloca() exits deeper than it entered. 0: its entry was not kept. */
static uint32_t shadow_entry_of(const struct shadow *shadow, uint32_t count, uintptr_t function,
                                uintptr_t sp)
{
    bool exact = count + 2 > shadow->capacity; /* if the shadow is full, there may be entries that
                                                * were not kept */
    uintptr_t level = shadow_sp_of(&shadow->frames[count]);
    for (uint32_t i = count; i && shadow_sp_of(&shadow->frames[i]) == level; i--) {
        if (shadow->frames[i].function == function && (!exact || level == sp)) {
            return i;
        }
    }
    return 0;
}

void shadow_exit_slowly(struct shadow *shadow, uintptr_t function, uintptr_t sp)
{
    uint32_t count = shadow_live_count(shadow, sp),
             entry = shadow_entry_of(shadow, count, function, sp);
    if (entry) {
        count = entry - 1;
    }
    if (count != shadow->count) {
        shadow_set_count(shadow, count);
    }
    if (!count && shadow->kind != SHADOW_OWN) {
        shadow_release_slot(shadow);
    }
}

void shadow_jump(uintptr_t sp)
{
    struct shadow *before = shadow_current, *shadow = shadow_find(sp, 0);
    if (shadow) {
        shadow_drop_dead(shadow, sp);
    }
    shadow_current = before;
}

/* ---- Paths ----------------------------------------------------------------------------------- */

/* Is code address `site` in the function? Call frame information tells. Without it, all code behind
 * the function's beginning in the same module counts as the function's. */
static bool shadow_is_within(uintptr_t function, uintptr_t site)
{
    uint64_t asked = hash_u64(function ^ hash_u64(site)) | 1, answer;
    _Atomic uint64_t *place = &shadow_answers[asked >> 32 & (ANSWERS - 1)];
    uintptr_t lo, hi;
    bool within;
    answer = atomic_load_explicit(place, memory_order_relaxed);
    if (likely((answer | 1) == asked)) {
        return answer & 1;
    }
    if (module_find_function(site - 1, &lo, &hi) == 0) {
        within = function >= lo && function < hi;
    } else {
        shadows.host->saw_code(site);
        shadows.host->saw_code(function);
        within =
            site > function && shadows.host->module_of(site) == shadows.host->module_of(function);
    }
    atomic_store_explicit(place, within ? asked : asked & ~1ull, memory_order_relaxed);
    return within;
}

/* A path that is being built from addresses, outermost first: its hash, and its node if `make` says
 * that nodes are made. */
struct shadow_naming {
    uint64_t hash;
    uint32_t node;
    bool make;
};

static void shadow_name_address(struct shadow_naming *naming, uintptr_t ip)
{
    naming->hash = path_hash(naming->hash, ip);
    paths_code_seen(ip);
    if (naming->make && (naming->node || naming->hash == path_hash(0, ip))) {
        shadows.host->saw_code(ip);
        naming->node = paths_child(naming->node, naming->hash, ip);
    }
}

/* Adds `ip`, the address of a call, to the path of frame i, which is below. If ip is not in frame
 * i's function, code without hooks has run between them. Then an address in the function itself is
 * added first. */
static void shadow_name_call(struct shadow_naming *naming, const struct shadow *shadow, uint32_t i,
                             uintptr_t ip)
{
    uintptr_t function = shadow->frames[shadow_frame_of(shadow, i)].function;
    ip = arch_code_address(ip);
    if (i && !shadow_is_within(function, ip)) {
        shadow_name_address(naming, function + 1);
    }
    shadow_name_address(naming, ip);
}

static void shadow_lower_marks(struct shadow *shadow)
{
    uint32_t low = shadow->low;
    if (shadow->hashed > low) {
        shadow->hashed = low;
    }
    if (shadow->layers_good > low) {
        shadow->layers_good = low;
    }
    shadow->low = shadow->count;
}

static void shadow_hash_frames(struct shadow *shadow)
{
    struct shadow_frame *frames = shadow->frames;
    uint32_t count = shadow->count;
    if (shadow->kind == SHADOW_ALTERNATE) {
        shadow->hashed = 0; /* the interrupted stack may be another one each time */
    }
    for (uint32_t i = shadow->hashed + 1; i <= count; i++) {
        struct shadow_naming naming = {frames[i - 1].hash, 0, false};
        uintptr_t flags = frames[i - 1].sp & SHADOW_UNTOLD;
        if (!(frames[i].sp & SHADOW_INLINED)) {
            shadow_name_call(&naming, shadow, i - 1, frames[i].site);
        }
        if (!flags && rules_find(frames[i].function + 1) == RULE_NO_ENTRY) {
            flags = SHADOW_UNTOLD;
        }
        frames[i].hash = naming.hash;
        frames[i].sp = (frames[i].sp & ~(uintptr_t)SHADOW_UNTOLD) | flags;
    }
    shadow->hashed = count;
}

/* The hash of the path below the stack's outermost frame: 0, or that of the code that a signal
 * interrupted. */
static uint64_t shadow_hash_below(struct shadow *shadow)
{
    struct shadow *below = shadow->kind == SHADOW_ALTERNATE ? shadow->below : NULL;
    if (!below || below == shadow || !below->count || below->kind == SHADOW_ALTERNATE) {
        return 0;
    }
    shadow_lower_marks(below);
    below->frames[0].hash = 0;
    shadow_hash_frames(below);
    return path_hash(below->frames[below->count].hash,
                     below->frames[shadow_frame_of(below, below->count)].function + 1);
}

static void shadow_hash_all(struct shadow *shadow)
{
    shadow_lower_marks(shadow);
    shadow->frames[0].hash = shadow_hash_below(shadow);
    shadow_hash_frames(shadow);
}

/* The node of the path that ends in frame i's site. Makes the nodes that do not exist yet. */
static uint32_t shadow_node_of(struct shadow *shadow, uint32_t i)
{
    struct shadow_naming naming = {0, 0, true};
    uint32_t known = i;
    while (known && !(naming.node = paths_find(shadow->frames[known].hash))) {
        known--;
    }
    naming.hash = shadow->frames[known].hash;
    if (!known && naming.hash && !(naming.node = paths_find(naming.hash))) {
        struct shadow *below = shadow->below;
        uintptr_t function = below->frames[shadow_frame_of(below, below->count)].function;
        naming = (struct shadow_naming){below->frames[below->count].hash,
                                        shadow_node_of(below, below->count), true};
        shadow_name_address(&naming, function + 1);
    }
    while (known++ < i) {
        if (!(shadow->frames[known].sp & SHADOW_INLINED)) {
            shadow_name_call(&naming, shadow, known - 1, shadow->frames[known].site);
        }
    }
    return naming.node;
}

/* The node of the path that ends in `ip`, an address in the innermost frame or in code that it
 * called. */
static uint32_t shadow_name_leaf(struct shadow *shadow, uint32_t count, uintptr_t ip)
{
    struct shadow_naming naming = {shadow->frames[count].hash, 0, false};
    uint32_t node;
    shadow_name_call(&naming, shadow, count, ip);
    node = paths_find(naming.hash);
    if (unlikely(!node)) {
        naming =
            (struct shadow_naming){shadow->frames[count].hash, shadow_node_of(shadow, count), true};
        shadow_name_call(&naming, shadow, count, ip);
        node = naming.node;
    }
    return node;
}

/* How many addresses shadow_name_call() adds. */
static uint32_t shadow_call_addresses(const struct shadow *shadow, uint32_t i, uintptr_t ip)
{
    return i && !shadow_is_within(shadow->frames[shadow_frame_of(shadow, i)].function,
                                  arch_code_address(ip))
               ? 2
               : 1;
}

/* The node of the innermost addresses of a path that has too many. Frames below an alternate stack
 * are left out. */
static uint32_t shadow_name_innermost(struct shadow *shadow, uintptr_t ip)
{
    struct shadow_naming naming = {path_hash(0, WIRE_MARK_MAX_DEPTH), 0, true};
    uint32_t count = shadow->count, i = count, room = shadows.max_depth;
    uint32_t wanted = shadow_call_addresses(shadow, count, ip);
    while (i && wanted <= room) {
        room -= wanted;
        wanted = shadow->frames[i].sp & SHADOW_INLINED
                     ? 0
                     : shadow_call_addresses(shadow, i - 1, shadow->frames[i].site);
        i -= wanted <= room;
    }
    naming.node = paths_child(0, naming.hash, WIRE_MARK_MAX_DEPTH);
    while (i++ < count) {
        if (!(shadow->frames[i].sp & SHADOW_INLINED)) {
            shadow_name_call(&naming, shadow, i - 1, shadow->frames[i].site);
        }
    }
    shadow_name_call(&naming, shadow, count, ip);
    return naming.node;
}

static uint32_t shadow_name_within_depth(struct shadow *shadow, uintptr_t ip)
{
    uint64_t addresses = shadow_call_addresses(shadow, shadow->count, ip);
    for (uint32_t i = shadow->count; i && addresses <= shadows.max_depth; i--) {
        if (!(shadow->frames[i].sp & SHADOW_INLINED)) {
            addresses += shadow_call_addresses(shadow, i - 1, shadow->frames[i].site);
        }
    }
    return addresses > shadows.max_depth ? shadow_name_innermost(shadow, ip)
                                         : shadow_name_leaf(shadow, shadow->count, ip);
}

bool shadow_is_untold(struct shadow *shadow, const struct unwind_start *start)
{
    shadow_drop_dead(shadow, start->sp);
    shadow_hash_all(shadow);
    return shadow->frames[shadow->count].sp & SHADOW_UNTOLD;
}

uint32_t shadow_capture(struct shadow *shadow, const struct unwind_start *start)
{
    shadow_drop_dead(shadow, start->sp);
    if (!shadow->count) {
        return 0;
    }
    shadow_hash_all(shadow);
    /* twice as many addresses as frames at most */
    if (unlikely(shadow->count >= shadows.max_depth / 2)) {
        return shadow_name_within_depth(shadow, start->ip);
    }
    return shadow_name_leaf(shadow, shadow->count, start->ip);
}

/* ---- The deepest point ----------------------------------------------------------------------- */

uint32_t shadow_deepest_node(struct shadow *shadow)
{
    uint32_t peak = shadow->peak;
    if (!peak || peak > shadow->count) {
        return 0;
    }
    shadow_hash_all(shadow);
    return shadow_name_leaf(shadow, peak, shadow->frames[shadow_frame_of(shadow, peak)].at);
}

uint32_t shadow_function_node(uintptr_t function)
{
    struct shadow_naming naming = {0, 0, true};
    shadow_name_address(&naming, function + 1);
    return naming.node;
}

static bool shadow_layers_fit(struct shadow *shadow, uint32_t wanted)
{
    uint32_t capacity = shadow->layer_capacity ? shadow->layer_capacity : PAGE_BYTES / 16;
    struct shadow_layer *layers;
    if (wanted <= shadow->layer_capacity) {
        return true;
    }
    while (capacity < wanted) {
        capacity *= 2;
    }
    layers = shadows.host->map_kept(capacity * sizeof *layers);
    if (!layers) {
        return false;
    }
    for (uint32_t i = 0; i < shadow->layers_good && i < shadow->layer_capacity; i++) {
        layers[i] = shadow->layers[i];
    }
    shadow->layers = layers; /* the old ones stay mapped, because another thread may read them */
    shadow->layer_capacity = capacity;
    return true;
}

void shadow_keep_layers(struct shadow *shadow)
{
    shadow_lower_marks(shadow);
    if (!shadow_layers_fit(shadow, shadow->peak)) {
        return;
    }
    atomic_fetch_add(&shadow->version, 1);
    for (uint32_t i = shadow->layers_good; i < shadow->peak; i++) {
        const struct shadow_frame *frame = &shadow->frames[i + 1];
        shadow->layers[i] =
            (struct shadow_layer){frame->function, frame->sp & ~(uintptr_t)SHADOW_UNTOLD};
    }
    shadow->layer_count = shadow->layers_good = shadow->peak;
    atomic_fetch_add(&shadow->version, 1);
}
