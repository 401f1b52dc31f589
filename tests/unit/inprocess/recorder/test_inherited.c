/* Mappings that the child of a fork begins with, after one and after two recordings of the parent,
 * whose call paths have the same numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>
#include "model/mapping.h"
#include "recorder/inherited.h"
#include "recorder/thread.h"
#include "unwind/paths.h"

enum { NODE = 7 };

static uintptr_t code; /* the path of NODE */
static uintptr_t told; /* the path that a child records */

size_t paths_ips(uint32_t node, uintptr_t *ips, size_t max)
{
    assert_int_equal(node, NODE);
    assert_true(max > 0);
    ips[0] = code;
    return 1;
}

uint32_t paths_child(uint32_t parent, uint64_t hash, uintptr_t ip)
{
    (void)parent, (void)hash;
    told = ip;
    return 1;
}

/* Records have no room: only their call paths are looked at. */
bool thread_make_room(struct thread *thread, unsigned bytes)
{
    (void)thread, (void)bytes;
    return false;
}
void thread_end_without_record(struct thread *thread)
{
    (void)thread;
}
void thread_publish_again(struct thread *thread)
{
    (void)thread;
}
bool thread_interrupts_from_above(uintptr_t outer, uintptr_t frame)
{
    (void)outer, (void)frame;
    return false;
}

static struct wire_ring ring;
static struct thread thread = {.ring = &ring};

static void map_from(uintptr_t address)
{
    code = address;
    inherited_maps(&thread, 0x10000, 4096, NODE, MAPPING_ANONYMOUS, 0);
}

static void assert_child_tells(uintptr_t expected)
{
    pid_t child = fork();
    if (child == 0) {
        inherited_begin(true, true);
        inherited_tell(&thread);
        _exit(told != expected);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void each_recording_has_its_own_paths(void **state)
{
    (void)state;
    inherited_begin(true, false);
    map_from(0x1000);
    assert_child_tells(0x1000);
    inherited_forget();
    inherited_begin(true, true);
    map_from(0x2000);
    assert_child_tells(0x2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_recording_has_its_own_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
