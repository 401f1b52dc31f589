/* Call paths of the start-up of run-times and libraries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "aggregate/startup.h"
#include "aggregate/thread_team.h"

#define MIB (1024ull * 1024)

enum { PROGRAM, LIBC, LOADER, GOMP, LIBRARY, PMIX, MUSL, MODULES };

/* A code for each module, whose function is "?", and behind these one for each name. */
static const char *const module_paths[] = {
    "/home/ann/prog",          "/lib/libc.so.6",     "/lib64/ld-linux-x86-64.so.2",
    "/usr/lib/libgomp.so.1",   "/usr/lib/libfoo.so", "/usr/lib/libpmix.so.2",
    "/lib/ld-musl-x86_64.so.1"};
static const char *const names[] = {"setlocale", "MPI_Init", "_GLOBAL__sub_I_eh_alloc.cc",
                                    "gomp_thread_start"};
enum { SETLOCALE = MODULES, MPI_INIT, EXCEPTIONS, GOMP_START, CODES };

static struct profile_module modules[MODULES];
static struct profile_function functions[CODES];
static struct profile_line lines[CODES];
static struct profile_code codes[CODES];
static struct profile_node nodes[32];
static struct profile_site sites[16];
static struct profile profile;
static struct startup startup;

static void begin(void)
{
    for (uint32_t i = 0; i < MODULES; i++)
        modules[i].path = module_paths[i];
    for (uint32_t i = 0; i < CODES; i++) {
        functions[i].name = i < MODULES ? "?" : names[i - MODULES];
        lines[i].function = i;
        codes[i] = (struct profile_code){
            .module = i < MODULES ? i : LIBC, .first_line = i, .line_count = 1};
    }
    codes[GOMP_START].module = PROGRAM; /* linked into it */
    profile = (struct profile){.has_program = true,
                               .node_count = 1,
                               .nodes = nodes,
                               .sites = sites,
                               .code_count = CODES,
                               .codes = codes,
                               .line_count = CODES,
                               .lines = lines,
                               .function_count = CODES,
                               .functions = functions,
                               .module_count = MODULES,
                               .modules = modules};
}

static uint32_t node(uint32_t parent, uint32_t code)
{
    nodes[profile.node_count] = (struct profile_node){parent, code};
    return (uint32_t)profile.node_count++;
}

static uint32_t site(uint32_t path, uint64_t bytes)
{
    sites[profile.site_count++] = (struct profile_site){path,
                                                        {.at_peak_bytes = figure_of(bytes),
                                                         .peak_bytes = figure_of(bytes),
                                                         .live_bytes = figure_of(bytes),
                                                         .live_count = figure_of(1)}};
    return path;
}

static void assert_kind(uint32_t path, enum startup_kind kind)
{
    assert_int_equal(startup.of_node[path], kind);
    assert_int_equal(startup_has(&startup, path), kind != STARTUP_NONE);
}

static void a_path_is_of_what_it_leads_through(void **state)
{
    (void)state;
    begin();
    uint32_t start = node(0, PROGRAM), plain = site(node(start, LIBC), 100),
             locale = site(node(node(start, SETLOCALE), LIBC), 200),
             mpi = site(node(node(node(start, MPI_INIT), LIBRARY), LIBC), 300),
             pool = site(node(node(node(0, LOADER), EXCEPTIONS), LIBC), 50),
             constructor = site(node(node(node(0, LOADER), LIBRARY), LIBC), 400);
    assert_int_equal(startup_find(&startup, &profile), 0);
    assert_kind(plain, STARTUP_NONE);
    assert_kind(locale, STARTUP_LOCALE);
    assert_kind(mpi, STARTUP_MPI);
    assert_kind(pool, STARTUP_EXCEPTIONS);
    assert_kind(constructor, STARTUP_LIBRARIES);
    struct strbuf name = STRBUF_INIT;
    startup_add_name(&name, &startup);
    assert_string_equal(name.data, "start-up of libraries, MPI, locale, C++ exceptions");
    strbuf_release(&name);
    assert_int_equal(figure_or(startup.live_bytes, 0), 950);
    assert_int_equal(figure_or(startup.live_count, 0), 4);
    assert_int_equal(figure_or(startup_sum(&startup, &profile, METRIC_ROW(at_peak_bytes)), 0), 950);
    startup_release(&startup);
}

/* musl's loader is its C library. */
static void whoever_calls_main_starts_no_libraries(void **state)
{
    (void)state;
    begin();
    uint32_t start = node(0, MUSL), plain = site(node(start, PROGRAM), 100),
             locale = site(node(start, SETLOCALE), 200);
    assert_int_equal(startup_find(&startup, &profile), 0);
    assert_kind(plain, STARTUP_NONE);
    assert_kind(locale, STARTUP_LOCALE);
    startup_release(&startup);
}

static void openmp_is_who_asks_and_not_who_calls(void **state)
{
    (void)state;
    begin();
    uint32_t start = node(0, PROGRAM), parallel = node(start, GOMP),
             body = site(node(node(parallel, PROGRAM), LIBC), 100),
             team = site(node(parallel, LIBC), 200),
             stacks = site(node(node(parallel, LIBC), LOADER), 300),
             thread = site(node(node(start, LIBC), LOADER), 400);
    assert_int_equal(startup_find(&startup, &profile), 0);
    assert_kind(body, STARTUP_NONE); /* the program's own, in its parallel region */
    assert_kind(team, STARTUP_OPENMP);
    assert_kind(stacks, STARTUP_OPENMP);
    assert_kind(thread, STARTUP_NONE); /* the program's own threads */
    startup_release(&startup);
}

static void a_thread_that_mpi_began_is_its_own(void **state)
{
    (void)state;
    begin();
    uint32_t progress = site(node(node(node(0, LIBC), PMIX), LIBC), 100),
             called = site(node(node(0, PROGRAM), PMIX), 100);
    assert_int_equal(startup_find(&startup, &profile), 0);
    assert_kind(progress, STARTUP_MPI);
    assert_kind(called, STARTUP_NONE);
    startup_release(&startup);
}

static void libraries_that_make_much_are_what_the_program_is_about(void **state)
{
    (void)state;
    begin();
    uint32_t loader = node(0, LOADER), constructor = site(node(loader, LIBRARY), MIB - 1);
    assert_int_equal(startup_find(&startup, &profile), 0);
    assert_kind(constructor, STARTUP_LIBRARIES);
    startup_release(&startup);
    sites[0].metrics.peak_bytes = figure_of(MIB);
    assert_int_equal(startup_find(&startup, &profile), 0);
    assert_kind(constructor, STARTUP_NONE);
    bool *others = startup_others(&startup, &profile);
    assert_true(others[constructor]);
    free(others);
    startup_release(&startup);
}

/* ---- Threads -------------------------------------------------------------------------------- */

static struct thread_metrics thread_of(uint32_t tid, uint32_t path, uint64_t bytes)
{
    return (struct thread_metrics){.tid = tid,
                                   .seen_node = path,
                                   .alloc_count = figure_of(1),
                                   .alloc_bytes = figure_of(bytes),
                                   .peak_bytes = figure_of(bytes),
                                   .freed_elsewhere_count = FIGURE_UNKNOWN,
                                   .stack_deepest_bytes = FIGURE_UNKNOWN};
}

static void threads_that_openmp_began_are_one(void **state)
{
    (void)state;
    begin();
    uint32_t team = node(node(node(0, LIBC), GOMP), PROGRAM),
             linked = node(node(node(0, LIBC), GOMP_START), PROGRAM),
             own = node(node(node(node(0, LIBC), PROGRAM), GOMP), LIBC),
             first = node(node(0, LOADER), GOMP);
    struct profile_meta pid = {PROFILE_META_PID, "1", true};
    struct thread_metrics threads[] = {thread_of(1, first, 5), thread_of(2, team, 70),
                                       thread_of(3, own, 1000), thread_of(4, linked, 10),
                                       thread_of(5, 0, 1 << 20)};
    struct exchange exchanges[] = {
        {1, 0, 3, 30}, {3, 0, 4, 40}, {1, 3, 1, 1}, {2, 0, 9, 9}, {UINT32_MAX, 0, 2, 2}};
    struct exchange rows[5];
    struct thread_team found;
    profile.meta = &pid, profile.meta_count = 1;
    profile.threads = threads, profile.thread_count = 5;
    profile.exchanges = exchanges, profile.exchange_count = 5;
    assert_int_equal(thread_team_find(&found, &profile), 0);
    assert_int_equal(found.count, 2);
    assert_true(found.has[1] && found.has[3] && !found.has[0] && !found.has[2] && !found.has[4]);
    assert_int_equal(figure_or(found.all.alloc_bytes, 0), 80);
    assert_int_equal(figure_or(found.all.peak_bytes, 0), 70);
    assert_int_equal(found.most, 1);
    assert_int_equal(found.least, 3);
    assert_false(figure_known(found.all.freed_elsewhere_count)); /* unknown stays so */
    assert_int_equal(thread_team_join(&found, &profile, rows), 4);
    assert_int_equal(rows[0].owner, THREAD_TEAM_ALL);
    assert_int_equal(rows[0].count, 7);
    assert_int_equal(rows[0].bytes, 70);
    assert_int_equal(rows[1].freer, THREAD_TEAM_ALL);
    assert_int_equal(rows[2].owner, 2);
    assert_int_equal(rows[3].owner, UINT32_MAX);
    thread_team_release(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_of_what_it_leads_through),
        cmocka_unit_test(whoever_calls_main_starts_no_libraries),
        cmocka_unit_test(openmp_is_who_asks_and_not_who_calls),
        cmocka_unit_test(a_thread_that_mpi_began_is_its_own),
        cmocka_unit_test(libraries_that_make_much_are_what_the_program_is_about),
        cmocka_unit_test(threads_that_openmp_began_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
