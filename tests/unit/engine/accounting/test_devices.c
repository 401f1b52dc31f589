/* Memory of devices: what a space holds, what its call paths had at its peak, and handles that live
 * as long as somebody has them. Random events are compared with a plain list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "accounting/devices.h"

static struct devices devices;
static uint64_t ticks;

static int begin(void **state)
{
    (void)state;
    memset(&devices, 0, sizeof devices);
    ticks = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    devices_release(&devices);
    return 0;
}

static struct device_event event(uint64_t address, uint64_t bytes, uint32_t node)
{
    return (struct device_event){++ticks, address, bytes, node, DEVICE_SPACE_CUDA, false};
}

static struct device_event handle(uint64_t address, uint64_t bytes)
{
    struct device_event made = event(address, bytes, 5);
    made.is_handle = true;
    return made;
}

#define DO(what, ...) devices_##what(&devices, &(struct device_event[]){__VA_ARGS__}[0])

static const struct device_total *total(void)
{
    return &devices.spaces[DEVICE_SPACE_CUDA]->total;
}

static void a_share_of_the_peak_is_what_the_path_held_then(void **state)
{
    (void)state;
    DO(allocate, event(0x100, 10, 1));
    DO(allocate, event(0x200, 20, 2));
    DO(free, event(0x100, 0, 0));
    DO(allocate, event(0x300, 5, 1));
    assert_int_equal(total()->peak_bytes, 30);
    assert_int_equal(total()->peak_ticks, 2);
    assert_int_equal(total()->live_bytes, 25);
    assert_int_equal(devices_site(&devices, 0).at_peak_bytes, 10);
    assert_int_equal(devices_site(&devices, 0).live_bytes, 5);
    assert_int_equal(devices_site(&devices, 1).at_peak_bytes, 20);
}

static void a_refused_free_ends_nothing(void **state)
{
    (void)state;
    DO(allocate, event(0x100, 10, 1));
    DO(free, event(0x100, 0, 0));
    DO(undo_free, event(0x100, 0, 0));
    assert_int_equal(total()->live_bytes, 10);
    assert_int_equal(total()->free_count, 0);
    DO(free, event(0x900, 0, 0));
    assert_int_equal(total()->unknown_count, 1);
    DO(undo_free, event(0x900, 0, 0));
    assert_int_equal(total()->unknown_count, 0);
    DO(undo_free, event(0, 0, 0)); /* malformed */
    assert_int_equal(total()->live_bytes, 10);
}

static void a_handle_lives_while_it_is_mapped(void **state)
{
    (void)state;
    DO(allocate, handle(1, 100));
    DO(allocate, event(1, 7, 1)); /* an address of the same number */
    DO(hold, handle(1, 0x5000));
    DO(hold, handle(1, 0x4000));
    DO(free, handle(1, 0));
    assert_int_equal(total()->live_bytes, 107);
    DO(unmap, event(0x4000, 0x1000, 0));
    assert_int_equal(total()->live_bytes, 107);
    DO(unmap, event(0x4000, 0x1001, 0));
    assert_int_equal(total()->live_bytes, 7);
    DO(free, handle(1, 0)); /* of another process, maybe */
    assert_int_equal(total()->unknown_count, 0);
}

static void a_handle_has_as_many_references_as_were_taken(void **state)
{
    (void)state;
    DO(allocate, handle(3, 100));
    DO(hold, handle(3, 0));
    DO(free, handle(3, 0));
    assert_int_equal(total()->live_bytes, 100);
    DO(free, handle(3, 0));
    DO(undo_free, handle(3, 0));
    assert_int_equal(total()->live_bytes, 100);
    DO(free, handle(3, 0));
    assert_int_equal(total()->live_bytes, 0);
}

static void levels_keep_the_most_of_each_stretch(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 5000; i++) {
        DO(allocate, event(0x1000 + i * 16, i == 3777 ? 1000000 : 8, 1));
        if (i % 2)
            DO(free, event(0x1000 + i * 16, 0, 0));
    }
    const struct devices_space *space = devices.spaces[DEVICE_SPACE_CUDA];
    uint64_t most = 0;
    assert_in_range(space->level_count, DEVICE_LEVELS_MAX / 2, DEVICE_LEVELS_MAX);
    for (uint32_t i = 0; i < space->level_count; i++) {
        assert_true(!i || space->levels[i].ticks > space->levels[i - 1].ticks);
        most = space->levels[i].bytes > most ? space->levels[i].bytes : most;
    }
    assert_true(most == space->total.peak_bytes);
}

static void a_window_keeps_what_is_alive(void **state)
{
    (void)state;
    DO(allocate, event(0x100, 10, 1));
    DO(allocate, event(0x200, 20, 2));
    DO(free, event(0x200, 0, 0));
    devices_restart(&devices, 100);
    assert_int_equal(total()->alloc_count, 0);
    assert_int_equal(total()->peak_bytes, 10);
    assert_int_equal(devices_site(&devices, 0).at_peak_bytes, 10);
    assert_int_equal(devices_site(&devices, 1).at_peak_bytes, 0);
    DO(free, event(0x100, 0, 0));
    assert_int_equal(total()->live_bytes, 0);
    assert_int_equal(total()->free_count, 1);
}

static void a_context_that_ends_leaves_a_bound(void **state)
{
    (void)state;
    DO(end, event(0, 0, 0));
    assert_null(devices.spaces[DEVICE_SPACE_CUDA]);
    DO(allocate, event(0x100, 10, 1));
    DO(end, event(0, 0, 0));
    assert_int_equal(total()->ended_count, 1);
    assert_int_equal(total()->live_bytes, 10);
}

static void random_events_are_those_of_a_plain_list(void **state)
{
    enum { PLACES = 300, STEPS = 20000 };
    static uint64_t bytes[PLACES];
    uint64_t live = 0, peak = 0;
    (void)state;
    srand(7);
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned place = (unsigned)rand() % PLACES, size = 1 + (unsigned)rand() % 1000;
        if (rand() % 3) { /* also where a block is already, whose end was not seen */
            live += size - bytes[place];
            bytes[place] = size;
            DO(allocate, event(0x1000 + place, size, 1 + place % 7));
        } else {
            live -= bytes[place];
            bytes[place] = 0;
            DO(free, event(0x1000 + place, 0, 0));
        }
        peak = live > peak ? live : peak;
        assert_true(total()->live_bytes == live);
    }
    uint64_t of_sites = 0, at_peak = 0;
    for (size_t i = 0; i < devices.site_count; i++) {
        of_sites += devices_site(&devices, i).live_bytes;
        at_peak += devices_site(&devices, i).at_peak_bytes;
    }
    assert_true(of_sites == live);
    assert_true(total()->peak_bytes == peak && at_peak == peak);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest rules[] = {
        RULE(a_share_of_the_peak_is_what_the_path_held_then),
        RULE(a_refused_free_ends_nothing),
        RULE(a_handle_lives_while_it_is_mapped),
        RULE(a_handle_has_as_many_references_as_were_taken),
        RULE(levels_keep_the_most_of_each_stretch),
        RULE(a_window_keeps_what_is_alive),
        RULE(a_context_that_ends_leaves_a_bound),
        RULE(random_events_are_those_of_a_plain_list),
    };
    return cmocka_run_group_tests(rules, NULL, NULL);
}
