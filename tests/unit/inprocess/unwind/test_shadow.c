/* A shadow against a model: random programs of calls, inlined functions, code without hooks,
 * alloca, jumps and abandoned frames, on the thread's own stack and on fibers that lie side by
 * side. After each step the frames are those of the model, and a capture's path is the one that it
 * expects. */
#include "harness.h"

#include <time.h>
#include "unwind/shadow.h"

#define FUNCTION(n) (0x100000000ull + (uintptr_t)(n)*0x1000)
#define LIBRARY     0x80000ull /* code without hooks: before all functions */
#define STARTER     0x70000ull /* what starts fibers */
#define FUNCTIONS   12u
#define DEEPEST     150u
#define STACKS      5u /* the thread's own, and fibers */
#define FIBER_BYTES 65536u
#define SPARE_BYTES 1024u /* for what runs below the innermost frame */
#define STEPS       60000

struct frame {
    uintptr_t function, site, sp, at;
    bool inlined, indirect;
};

/* A stack as it is; frames[0] is none. */
struct model {
    uintptr_t top, bottom;
    uint32_t count;
    struct frame frames[DEEPEST + 2];
    uintptr_t sp; /* of the running code */
};

static uint64_t seed;
static uintptr_t deepest_seen = UINTPTR_MAX, deepest_told;
static uint32_t layers_told;

static uint32_t below(uint32_t limit)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % limit;
}

static uint32_t outer_of(const struct model *model, uint32_t i)
{
    while (model->frames[i].inlined) {
        i--;
    }
    return i;
}

/* Each sp of the model is also that of a frame: what left_deepest() may say is the lowest so
 * far. */
static void left_deepest(struct shadow *shadow)
{
    deepest_told = shadow->deepest;
    shadow_keep_layers(shadow);
    layers_told = shadow->layer_count;
    assert_int_equal(shadow->frames[shadow->peak].sp & ~(uintptr_t)SHADOW_BITS, shadow->deepest);
    assert_int_equal(shadow->layers[layers_told - 1].sp & ~(uintptr_t)SHADOW_BITS, shadow->deepest);
}

static struct shadow *shadow_of(uintptr_t sp, uintptr_t site)
{
    struct shadow *shadow = shadow_current;
    return shadow && stack_covers(&shadow->stack, sp) ? shadow : shadow_find(sp, site);
}

static void enter(struct model *model, struct frame frame)
{
    struct shadow *shadow = shadow_of(frame.sp, frame.site);
    assert_non_null(shadow);
    model->frames[++model->count] = frame;
    model->sp = frame.sp;
    shadow_enter(shadow, frame.function, frame.site, frame.at, frame.sp);
}

static void call(struct model *model)
{
    const struct frame *outer = &model->frames[outer_of(model, model->count)];
    uintptr_t function = FUNCTION(below(FUNCTIONS)), room = 16 * (1 + below(40));
    bool indirect = !model->count || below(5) == 0;
    uintptr_t site = !model->count ? STARTER
                     : indirect    ? LIBRARY + below(50)
                                   : outer->function + 16 + below(4) * 8;
    if (model->count >= DEEPEST || model->sp - room < model->bottom) {
        return;
    }
    enter(model, (struct frame){function, site, model->sp - room, function + 8, false, indirect});
}

static void call_inlined(struct model *model)
{
    uint32_t i = outer_of(model, model->count);
    struct frame outer = model->frames[i];
    uintptr_t function = FUNCTION(below(FUNCTIONS));
    if (!i || model->count >= DEEPEST || model->sp != outer.sp) {
        return;
    }
    /* the same function inlined twice in a row has two entries, at two places */
    enter(model, (struct frame){function, outer.site, outer.sp,
                                outer.function + 100 + 4 * (model->count - i), true, false});
}

static void leave(struct model *model)
{
    struct frame frame = model->frames[model->count];
    struct shadow *shadow = shadow_of(frame.sp, 0);
    if (!model->count || !shadow) {
        return;
    }
    /* alloca() has made it deeper since */
    shadow_exit(shadow, frame.function, frame.inlined || below(4) ? frame.sp : frame.sp - 64);
    model->count--;
    model->sp = model->count ? model->frames[model->count].sp : model->top;
}

/* The running code is frame `count`'s again: by longjmp, or its callees ended without exit hooks
 * and nobody says so until it calls something. */
static void cut_back(struct model *model)
{
    uint32_t count;
    if (model->count < 2) {
        return;
    }
    count = 1 + below(model->count);
    while (count < model->count && model->frames[count + 1].inlined) {
        count++; /* back into one of them: by the stack pointer alone nobody could tell which */
    }
    model->count = count;
    model->sp = model->frames[count].sp;
    shadow_jump(model->sp);
}

static size_t expected_path(const struct model *model, uintptr_t leaf, bool leaf_indirect,
                            uintptr_t *ips)
{
    size_t count = 0;
    ips[count++] = leaf;
    if (leaf_indirect) {
        ips[count++] = model->frames[outer_of(model, model->count)].function + 1;
    }
    for (uint32_t i = model->count; i; i--) {
        const struct frame *frame = &model->frames[i];
        if (frame->inlined) {
            continue;
        }
        ips[count++] = frame->site;
        if (frame->indirect && i > 1) {
            ips[count++] = model->frames[outer_of(model, i - 1)].function + 1;
        }
    }
    return count;
}

static void capture(struct model *model)
{
    static uintptr_t expected[3 * DEEPEST], got[3 * DEEPEST];
    bool indirect = below(3) == 0;
    uintptr_t leaf = indirect
                         ? LIBRARY + below(50)
                         : model->frames[outer_of(model, model->count)].function + 40 + below(9);
    struct unwind_start start = {leaf, model->sp - (indirect ? 64 : 0), 0};
    struct shadow *shadow = shadow_of(start.sp, 0);
    size_t count;
    if (!model->count) {
        return;
    }
    assert_non_null(shadow);
    count = expected_path(model, leaf, indirect, expected);
    assert_int_equal(unwind_path_ips(shadow_capture(shadow, &start), got, 3 * DEEPEST), count);
    assert_memory_equal(got, expected, count * sizeof *got);
}

static void is_as_modelled(const struct model *model)
{
    const struct shadow *shadow = shadow_of(model->sp, 0);
    if (!model->count) {
        return;
    }
    assert_non_null(shadow);
    assert_int_equal(shadow->count, model->count);
    for (uint32_t i = 1; i <= model->count; i++) {
        assert_int_equal(shadow->frames[i].function, model->frames[i].function);
        assert_int_equal(shadow->frames[i].site, model->frames[i].site);
        assert_int_equal(shadow->frames[i].sp & SHADOW_INLINED, model->frames[i].inlined);
    }
}

static void step(struct model *model)
{
    switch (below(16)) {
    case 0:
        cut_back(model);
        break;
    case 1:
    case 2:
        call_inlined(model);
        break;
    case 3:
    case 4:
        capture(model);
        break;
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
        leave(model);
        break;
    default:
        call(model);
    }
    is_as_modelled(model);
}

static void shadows_are_as_modelled(void **state)
{
    static struct model models[STACKS];
    char room[4 * FIBER_BYTES] __attribute__((aligned(64)));
    char *fibers = host_map_private((STACKS - 1) * FIBER_BYTES);
    struct model *own = &models[0];
    (void)state;
    seed = (uint64_t)time(NULL) ^ (uint64_t)clock();
    print_message("seed %llu\n", (unsigned long long)seed);
    begin_unwind(UNWIND_CFI, 0);
    shadow_init(&host, 0, left_deepest);
    assert_non_null(shadow_begin_thread(NULL));
    own->top = own->sp = (uintptr_t)room + sizeof room;
    own->bottom = (uintptr_t)room;
    for (uint32_t i = 1; i < STACKS; i++) {
        models[i].bottom = (uintptr_t)fibers + (i - 1) * FIBER_BYTES + SPARE_BYTES;
        models[i].top = models[i].sp = (uintptr_t)fibers + i * FIBER_BYTES;
    }
    for (unsigned i = 0, running = 0; i < STEPS; i++) {
        running = below(30) ? running : below(STACKS);
        step(&models[running]);
        if (running == 0 && own->sp < deepest_seen) {
            deepest_seen = own->sp;
        }
    }
    shadow_settle(shadow_own);
    assert_int_equal(deepest_told, deepest_seen);
}

/* Frames that were never left do not stay once somebody above them says anything. */
static void abandoned_frames_go(void **state)
{
    char room[4096] __attribute__((aligned(64)));
    uintptr_t top = (uintptr_t)room + sizeof room;
    struct unwind_start start = {FUNCTION(1) + 50, top - 100 * 16, 0};
    uintptr_t ips[8];
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    shadow_init(&host, 0, left_deepest);
    shadow_begin_thread(NULL);
    shadow_find(top - 1600, 1);
    shadow_enter(shadow_own, FUNCTION(1), LIBRARY, FUNCTION(1) + 8, top - 1600);
    for (uintptr_t i = 1; i < 50; i++) {
        shadow_enter(shadow_own, FUNCTION(2), FUNCTION(2) + 30, FUNCTION(2) + 8,
                     top - 1600 - i * 32);
    }
    assert_int_equal(unwind_path_ips(shadow_capture(shadow_own, &start), ips, 8), 2);
    assert_int_equal(ips[0], start.ip);
    assert_int_equal(ips[1], LIBRARY);
    assert_int_equal(shadow_own->count, 1);
    shadow_exit(shadow_own, FUNCTION(3), top - 1600); /* its entry was not seen */
    assert_int_equal(shadow_own->count, 1);
    shadow_exit(shadow_own, FUNCTION(1), top - 1600);
    assert_int_equal(shadow_own->count, 0);
}

static void max_depth_keeps_the_innermost_frames(void **state)
{
    char room[4096] __attribute__((aligned(64)));
    uintptr_t top = (uintptr_t)room + sizeof room, ips[20];
    struct unwind_start start = {FUNCTION(1) + 50, top - 9 * 64, 0};
    (void)state;
    begin_unwind(UNWIND_CFI, 4);
    shadow_init(&host, 4, left_deepest);
    shadow_begin_thread(NULL);
    shadow_find(top - 64, 1);
    for (uintptr_t i = 1; i < 10; i++) {
        size_t count;
        shadow_enter(shadow_own, FUNCTION(1), i > 1 ? FUNCTION(1) + 30 : LIBRARY, FUNCTION(1) + 8,
                     top - i * 64);
        start.sp = top - i * 64;
        count = unwind_path_ips(shadow_capture(shadow_own, &start), ips, 20);
        assert_int_equal(count, i < 4 ? i + 1 : 5);
        assert_int_equal(ips[count - 1], i < 4 ? LIBRARY : WIRE_MARK_MAX_DEPTH);
        assert_int_equal(ips[0], start.ip);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shadows_are_as_modelled),
        cmocka_unit_test(abandoned_frames_go),
        cmocka_unit_test(max_depth_keeps_the_innermost_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
