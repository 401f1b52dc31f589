/* A name and a place on what is left of a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/text.h"
#include "aggregate/frames.h"

static const char name[] = "_PyObject_Malloc", place[] = "obmalloc.c:2003";

static void assert_line(size_t used, const char *expected)
{
    struct style style = {.utf8 = true, .columns = 72};
    struct strbuf out = STRBUF_INIT;
    frame_add_columns(&out, &style, name, place, used, false);
    assert_string_equal(out.data, expected);
    strbuf_release(&out);
}

static void a_place_stands_at_the_right_edge(void **state)
{
    (void)state;
    assert_line(37, "_PyObject_Malloc    obmalloc.c:2003\n");
    assert_line(39, "_PyObject_Malloc  obmalloc.c:2003\n");
}

static void names_are_cut_before_places_go(void **state)
{
    (void)state;
    assert_line(42, "_PyObj…Malloc  obmalloc.c:2003\n");
}

static void a_place_goes_before_the_name_does(void **state)
{
    (void)state;
    assert_line(50, "_PyObject_Malloc\n");
    assert_line(56, "_PyObject_Malloc\n");
}

/* What is left may be nothing: 16 columns are taken all the same. */
static void every_beginning_gives_a_line_of_the_width_that_is_left(void **state)
{
    (void)state;
    struct style style = {.utf8 = true, .columns = 72};
    for (size_t used = 0; used < 100; used++) {
        struct strbuf out = STRBUF_INIT;
        frame_add_columns(&out, &style, name, place, used, false);
        size_t room = used + 16 < 72 ? 72 - used : 16;
        assert_true(text_width(out.data) <= room + 1);
        assert_int_equal(out.data[out.length - 1], '\n');
        strbuf_release(&out);
    }
}

/* A path of a run-time that compiles: outermost first, each frame a function or unnamed code ("")
 * of a module, or of none. */
enum { FRAMES = 8 };
struct path {
    struct profile profile;
    struct profile_function functions[FRAMES + 1];
    struct profile_line lines[FRAMES + 1];
    struct profile_code codes[FRAMES + 1];
    struct profile_node nodes[FRAMES + 1];
    struct profile_module modules[FRAMES + 1];
};
struct path_frame {
    const char *function, *file, *module;
};

static const char *site_of(struct path *path, const struct path_frame *frames, bool hide)
{
    uint32_t count = 1;
    *path = (struct path){.functions[0].name = "?",
                          .codes[0] = {.module = UINT32_MAX, .line_count = 1, .mark = 1}};
    for (; frames[count - 1].function; count++) {
        const struct path_frame *frame = &frames[count - 1];
        path->functions[count].name = frame->function;
        path->modules[count].path = frame->module;
        path->lines[count] = (struct profile_line){*frame->function ? count : 0, frame->file, 7};
        path->codes[count] = (struct profile_code){
            .module = frame->module ? count : UINT32_MAX, .first_line = count, .line_count = 1};
        path->nodes[count] = (struct profile_node){count - 1, count};
    }
    path->profile = (struct profile){.functions = path->functions,
                                     .function_count = count,
                                     .lines = path->lines,
                                     .line_count = count,
                                     .codes = path->codes,
                                     .code_count = count,
                                     .nodes = path->nodes,
                                     .node_count = count,
                                     .modules = path->modules,
                                     .module_count = count};
    bool *hidden = hide ? frames_of_libraries(&path->profile) : calloc(count + 1, 1);
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, &path->profile, hidden, count - 1);
    free(hidden);
    return path->functions[path->lines[frame.line].function].name;
}

static void memory_of_javascript_is_its_functions(void **state)
{
    static struct path path;
    static const char node[] = "/usr/bin/node";
    static const struct path_frame named[] = {{"main", NULL, node},
                                              {"node::Start", NULL, node},
                                              {"keep", "/srv/sessions.js", NULL},
                                              {"alloc", "node:buffer", NULL},
                                              {"", NULL, NULL},
                                              {"v8::internal::Heap::New", NULL, node},
                                              {NULL, NULL, NULL}};
    static const struct path_frame heap[] = {{"node::Start", NULL, node},
                                             {"keep", "/srv/sessions.js", NULL},
                                             {"v8::internal::Heap::CollectGarbage", NULL, node},
                                             {"v8::internal::SemiSpace::GrowTo", NULL, node},
                                             {"v8::base::OS::SetPermissions", NULL, node},
                                             {NULL, NULL, NULL}};
    static const struct path_frame unnamed[] = {{"main", NULL, node},
                                                {"", NULL, NULL},
                                                {"v8::internal::Heap::New", NULL, node},
                                                {NULL, NULL, NULL}};
    (void)state;
    assert_string_equal(site_of(&path, named, true), "keep");
    assert_string_equal(site_of(&path, named, false), "v8::internal::Heap::New");
    assert_string_equal(site_of(&path, unnamed, true), "v8::internal::Heap::New");
    /* Pages of the heap where objects live are nobody's. */
    assert_string_equal(site_of(&path, heap, true), "v8::internal::SemiSpace::GrowTo");
}

static void memory_of_java_is_its_methods(void **state)
{
    static struct path path;
    static const char jvm[] = "/usr/lib/jvm/lib/server/libjvm.so";
    static const struct path_frame named[] = {
        {"JavaCalls::call_helper", NULL, jvm},
        {"StubRoutines (1)", NULL, NULL},
        {"java.nio.ByteBuffer Images.thumbnail(int)", NULL, NULL},
        {"void java.nio.DirectByteBuffer.<init>(int)", NULL, NULL},
        {"long jdk.internal.misc.Unsafe.allocateMemory(long)", NULL, NULL},
        {"Unsafe_AllocateMemory0", NULL, jvm},
        {"os::malloc", NULL, jvm},
        {NULL, NULL, NULL}};
    static const struct path_frame own[] = {{"long jdk.internal.misc.Unsafe.f()", NULL, NULL},
                                            {"G1CollectedHeap::G1CollectedHeap", NULL, jvm},
                                            {"os::malloc", NULL, jvm},
                                            {NULL, NULL, NULL}};
    (void)state;
    assert_string_equal(site_of(&path, named, true), "java.nio.ByteBuffer Images.thumbnail(int)");
    assert_string_equal(site_of(&path, own, true), "G1CollectedHeap::G1CollectedHeap");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_stands_at_the_right_edge),
        cmocka_unit_test(names_are_cut_before_places_go),
        cmocka_unit_test(a_place_goes_before_the_name_does),
        cmocka_unit_test(every_beginning_gives_a_line_of_the_width_that_is_left),
        cmocka_unit_test(memory_of_javascript_is_its_functions),
        cmocka_unit_test(memory_of_java_is_its_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
