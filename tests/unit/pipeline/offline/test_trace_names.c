/* A trace's call paths have the names that the recording's profile had; where the trace lacks them,
 * those of the files that are there, and it says so. */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "profile_build/supplement.h"
#include "base/error.h"
#include "profile/profile.h"
#include "offline/offline.h"

#define BASE  0x555500000000u /* of the main program */
#define OTHER 0x7f0000000000u /* two libraries, one after the other */

static char trace_path[64], profile_path[64];

static const struct trace_node nodes[] = {
    {0, 0},
    {BASE + 0x100, 0},
    {OTHER + 0x200, 1}, /* the first library's */
    {2, 0},             /* WIRE_MARK_… */
    {OTHER + 0x200, 1}, /* the second library's: the first is gone */
    {0x1234567, 1},     /* in no module */
    {BASE + 0x100, 4},
    {OTHER + 0x300, 99}, /* damage: its caller comes later */
};
enum { NODES = sizeof nodes / sizeof *nodes };

/* clang-format off */
static const struct trace_module modules[] = {
    {.number = 0, .born = 0, .died = UINT32_MAX, .bias = BASE, .start = BASE, .end = BASE + 0x1000,
     .path = ""},
    {.number = 1, .born = 0, .died = 3, .bias = OTHER, .start = OTHER, .end = OTHER + 0x1000,
     .path = "/lib/first.so"},
    {.number = 2, .born = 3, .died = UINT32_MAX, .bias = OTHER, .start = OTHER,
     .end = OTHER + 0x1000, .path = "/lib/second.so"},
};
/* clang-format on */

static void put_location(struct profile_writer *writer, int64_t id, int64_t module,
                         uint64_t address, const char *function)
{
    struct profile_frame frame = {function, NULL, "/src/a.c", 7};
    struct profile_location location = {id, module, address, 0, &frame, 1};
    assert_int_equal(profile_put_location(writer, &location), 0);
}

/* Without OTHER + 0x300. */
static void write_profile(void)
{
    static const char *const paths[] = {"/bin/program", "/lib/first.so", "/lib/second.so"};
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, profile_path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    assert_int_equal(profile_put_text(writer, PROFILE_META_PROGRAM, "program"), 0);
    for (int i = 0; i < 3; i++) {
        struct profile_module module = {.id = i + 1, .path = paths[i], .quality = 4};
        assert_int_equal(profile_put_module(writer, &module), 0);
    }
    put_location(writer, 1, 1, 0x100, "main");
    put_location(writer, 2, 2, 0x200, "one");
    put_location(writer, 3, 3, 0x200, "two");
    put_location(writer, 4, -1, 0x1234567, "compiled");
    assert_int_equal(profile_put_location(writer, &(struct profile_location){5, -1, 2, 2, NULL, 0}),
                     0);
    assert_int_equal(profile_writer_commit(writer), 0);
    assert_int_equal(profile_writer_finish(writer, true), 0);
}

static struct trace *make_trace(const struct trace_module *told, size_t count, bool supplemented)
{
    struct trace_options options = {.compression = TRACE_ZSTD};
    struct trace_writer *writer;
    struct trace *trace;
    const char *error;
    unlink(trace_path);
    assert_int_equal(trace_writer_open(&writer, trace_path, &options), 0);
    assert_int_equal(trace_writer_fact(writer, TRACE_FACT_META "program", "early"), 0);
    assert_int_equal(trace_writer_fact(writer, TRACE_FACT_META "executable", "/proc/self/exe"), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(trace_writer_module(writer, &told[i]), 0);
    assert_int_equal(trace_writer_nodes(writer, 0, nodes, NODES), 0);
    if (supplemented)
        assert_int_equal(supplement_into_trace(writer, profile_path, &error), 0);
    assert_int_equal(trace_writer_finish(writer), 0);
    assert_int_equal(trace_open(&trace, trace_path), 0);
    return trace;
}

static struct profile *names_of(const struct trace *trace, const struct offline_wanted *wanted)
{
    struct profile *names;
    if (offline_names(trace, SIZE_MAX, wanted, &names))
        fail_msg("%s", error_text());
    assert_int_equal(names->node_count, NODES);
    assert_int_equal(names->site_count, 0);
    return names;
}

static const char *name_of(const struct profile *names, uint32_t node)
{
    const struct profile_code *code = &names->codes[names->nodes[node].location];
    assert_true(code->line_count > 0);
    return names->functions[names->lines[code->first_line].function].name;
}

static void names_are_those_of_the_recording(void **state)
{
    (void)state;
    write_profile();
    struct trace *trace = make_trace(modules, 3, true);
    struct profile *names = names_of(trace, NULL);
    static const char *const wanted[NODES] = {"?",   "main",     "one",  "?",
                                              "two", "compiled", "main", "?"};
    for (uint32_t i = 0; i < NODES; i++)
        assert_string_equal(name_of(names, i), wanted[i]);
    assert_int_equal(names->codes[names->nodes[3].location].mark, 2);
    assert_int_equal(names->nodes[6].parent, 4);
    assert_int_equal(names->nodes[7].parent, 0);
    assert_int_equal(names->nodes[1].location, names->nodes[6].location);
    /* What the supplement lacks is told by its place. */
    const struct profile_code *lacking = &names->codes[names->nodes[7].location];
    assert_int_equal(lacking->address, 0x300);
    assert_string_equal(names->modules[lacking->module].path, "/lib/second.so");
    assert_string_equal(profile_get(names, PROFILE_META_PROGRAM), "program");
    assert_null(offline_names_doubt(names));
    profile_free(names);
    trace_close(trace);
}

void offline_test_landmark(void);
__attribute__((noinline)) void offline_test_landmark(void)
{
    __asm__ volatile("nop; nop; nop; nop");
}

/* The first object is the program. */
static int take_bias(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_addr;
    return 1;
}

/* This program is the recorded one, as it is mapped here. */
static struct trace_module own_module(uint64_t *address)
{
    struct trace_module module = {.number = 0, .died = UINT32_MAX, .path = ""};
    dl_iterate_phdr(take_bias, &module.bias);
    *address = (uint64_t)(uintptr_t)offline_test_landmark + 2;
    module.start = *address - (1 << 20);
    module.end = *address + (1 << 20);
    return module;
}

static void names_of_a_cut_trace_are_those_of_the_files(void **state)
{
    (void)state;
    uint64_t address;
    struct trace_module module = own_module(&address);
    struct trace_options options = {.compression = TRACE_ZSTD};
    struct trace_node own[] = {{0, 0}, {address, 0}, {address + 1, 1}};
    struct trace_writer *writer;
    struct trace *trace;
    struct profile *names;
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    unlink(trace_path);
    assert_int_equal(trace_writer_open(&writer, trace_path, &options), 0);
    assert_int_equal(trace_writer_fact(writer, TRACE_FACT_META "executable", self), 0);
    assert_int_equal(trace_writer_module(writer, &module), 0);
    assert_int_equal(trace_writer_nodes(writer, 0, own, 3), 0);
    assert_int_equal(trace_writer_finish(writer), 0);
    assert_int_equal(trace_open(&trace, trace_path), 0);

    const struct offline_wanted some = {(const uint32_t[]){1}, 1};
    assert_int_equal(offline_names(trace, SIZE_MAX, &some, &names), 0);
    assert_string_equal(name_of(names, 1), "offline_test_landmark");
    assert_string_equal(name_of(names, 2), "?"); /* not wanted */
    assert_string_equal(names->modules[0].path, self);
    assert_non_null(offline_names_doubt(names));
    profile_free(names);
    assert_int_equal(offline_names(trace, SIZE_MAX, NULL, &names), 0);
    assert_string_equal(name_of(names, 2), "offline_test_landmark");
    profile_free(names);
    trace_close(trace);
}

/* A trace that tells of no module at all. */
static void nothing_is_known_of_nothing(void **state)
{
    (void)state;
    struct trace *trace = make_trace(NULL, 0, false);
    struct profile *names = names_of(trace, NULL);
    for (uint32_t i = 0; i < NODES; i++)
        assert_string_equal(name_of(names, i), "?");
    assert_string_equal(profile_get(names, PROFILE_META_PROGRAM), "early");
    assert_non_null(offline_names_doubt(names));
    profile_free(names);
    trace_close(trace);
}

static int name_files(void **state)
{
    (void)state;
    snprintf(trace_path, sizeof trace_path, "/tmp/test_rerun_names.%d.tmt", (int)getpid());
    snprintf(profile_path, sizeof profile_path, "/tmp/test_rerun_names.%d.tmk", (int)getpid());
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(trace_path);
    unlink(profile_path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_recording),
        cmocka_unit_test(names_of_a_cut_trace_are_those_of_the_files),
        cmocka_unit_test(nothing_is_known_of_nothing),
    };
    return cmocka_run_group_tests(tests, name_files, remove_files);
}
