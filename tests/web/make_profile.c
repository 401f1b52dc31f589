/* Profiles that the tests of the web view look at, whose every number is known:
 *
 *   make_profile many FILE     1,000,000 call paths (prints its sums as JSON)
 *   make_profile long FILE an hour, with as much over time as a profile can have; for
 *   web/e2e/bench.mjs make_profile hostile FILE names as somebody would choose them who wants to do
 *   harm
 *
 * The tree of `many` has four children below each node; its functions, files and metrics are by the
 * number of the node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profile/profile.h"
#include "base/error.h"

enum {
    MANY_LOCATIONS = 40000,
    MANY_FUNCTIONS = 10000,
    MANY_FILES = 700,
    MANY_BUCKETS = 2048,
    MANY_MODULES = 2,
};
/* How much there is of what. */
struct size {
    uint32_t paths, curves, points_of_curve, marks, regions, threads, looks;
    uint64_t run_ms;
};
static const struct size many_size = {
    .paths = 1000000, .curves = 1500, .points_of_curve = 24, .run_ms = 20480};
static const struct size long_size = {.paths = 600000,
                                      .curves = 12000,
                                      .points_of_curve = CURVE_POINTS,
                                      .marks = 5000,
                                      .regions = 200,
                                      .threads = 1500,
                                      .looks = 400,
                                      .run_ms = 3600000};
static const uint64_t ms = 1000000;

static struct call_metrics metrics_of(uint64_t blocks, uint64_t size, uint64_t freed)
{
    return (struct call_metrics){.alloc_count = figure_of(blocks),
                                 .alloc_bytes = figure_of(blocks * size),
                                 .free_count = figure_of(freed),
                                 .free_bytes = figure_of(freed * size),
                                 .temporary_count = figure_of(freed / 2),
                                 .slack_bytes = figure_of(blocks * 8),
                                 .size_min = figure_of(size),
                                 .size_max = figure_of(size),
                                 .lifetime_min = freed ? figure_of(1000) : FIGURE_UNKNOWN,
                                 .lifetime_max = figure_of(freed ? 1000 * size : 0),
                                 .lifetime_sum = figure_of(freed * 2000),
                                 .live_count = figure_of(blocks - freed),
                                 .live_bytes = figure_of((blocks - freed) * size),
                                 .peak_bytes = figure_of(blocks * size),
                                 .peak_ticks = figure_of(size * ms),
                                 .at_peak_count = figure_of(blocks - freed),
                                 .at_peak_bytes = figure_of((blocks - freed) * size),
                                 .freed_count = FIGURE_UNKNOWN,
                                 .freed_bytes = FIGURE_UNKNOWN,
                                 .freed_elsewhere_count = FIGURE_UNKNOWN,
                                 .freed_lifetime_sum = FIGURE_UNKNOWN,
                                 .alloc_time = FIGURE_UNKNOWN,
                                 .free_time = FIGURE_UNKNOWN,
                                 .sample_count = FIGURE_UNKNOWN,
                                 .alloc_variance = FIGURE_UNKNOWN,
                                 .live_variance = FIGURE_UNKNOWN,
                                 .at_peak_variance = FIGURE_UNKNOWN};
}

static void add(struct call_metrics *total, const struct call_metrics *site)
{
    struct call_metrics sum = *total;
    call_metrics_merge(&sum, site);
    sum.peak_bytes = total->peak_bytes;
    sum.peak_ticks = total->peak_ticks;
    *total = sum;
}

static int put_meta(struct profile_writer *writer, const char *program, const char *command,
                    uint64_t run_ms)
{
    static const struct profile_module modules[MANY_MODULES] = {
        {1, "/home/ann/many/bin/many", NULL, 0, 0x555500000000, 0x555500100000, 0x555500000000, 4},
        {2, "/usr/lib/libnumbers.so.6", NULL, 0, 0x7f0000000000, 0x7f0000200000, 0x7f0000000000, 2},
    };
    const char *const texts[][2] = {
        {PROFILE_META_PROGRAM, program},       {PROFILE_META_EXECUTABLE, program},
        {PROFILE_META_COMMAND, command},       {PROFILE_META_END, "exit"},
        {PROFILE_META_TOOL, "tidemark 0.1.0"}, {PROFILE_META_HOST, "node17"}};
    int error = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !error; i++)
        error = profile_put_text(writer, texts[i][0], texts[i][1]);
    if (!error)
        error = profile_put_integer(writer, PROFILE_META_DURATION, (int64_t)(run_ms * ms));
    if (!error)
        error = profile_put_integer(writer, PROFILE_META_END_STATUS, 0);
    if (!error)
        error = profile_put_integer(writer, PROFILE_META_PID, 4711);
    for (int i = 0; i < MANY_MODULES && !error; i++)
        error = profile_put_module(writer, &modules[i]);
    return error;
}

static int put_location(struct profile_writer *writer, int64_t id,
                        const struct profile_frame *frame)
{
    struct profile_location location = {id, id % 10 ? 1 : 2, (uint64_t)id * 16, 0, frame, 1};
    return profile_put_location(writer, &location);
}

static int put_many_locations(struct profile_writer *writer)
{
    int error = 0;
    for (uint32_t id = 1; id <= MANY_LOCATIONS && !error; id++) {
        char function[80], file[80];
        uint32_t number = id % MANY_FUNCTIONS;
        snprintf(function, sizeof function, "many::layer_%u::work_%u(int)", number % 7, number);
        snprintf(file, sizeof file, "/home/ann/many/src/part_%u.cpp", number % MANY_FILES);
        const struct profile_frame frame = {function, NULL, file, 1 + id % 997};
        error = put_location(writer, id, &frame);
    }
    return error;
}

static int put_block(struct profile_writer *writer, uint32_t first, const struct replay_site *sites,
                     size_t count)
{
    struct strbuf body = STRBUF_INIT;
    profile_encode_sites(&body, sites, count);
    int error = profile_put_sites(writer, first, count, body.data, body.length);
    strbuf_release(&body);
    return error;
}

/* Every third node asks for memory. */
static int put_many_paths(struct profile_writer *writer, struct program_metrics *program,
                          uint32_t paths)
{
    struct replay_site sites[PROFILE_BLOCK_SITES];
    uint32_t first = 0;
    size_t count = 0;
    int error = 0;
    for (uint32_t id = 1; id <= paths && !error; id++) {
        error = profile_put_path(writer, id, id / 4, 1 + (uint64_t)id * 7919 % MANY_LOCATIONS);
        if (error || id % 3)
            continue;
        sites[count] = (struct replay_site){
            id, metrics_of(1 + id % 50, 16 + id % 480, id % 7 % (1 + id % 50))};
        add(&program->total, &sites[count++].metrics);
        if (count < PROFILE_BLOCK_SITES)
            continue;
        error = put_block(writer, first, sites, count);
        first += (uint32_t)count;
        count = 0;
    }
    return error || !count ? error : put_block(writer, first, sites, count);
}

static int put_many_curves(struct profile_writer *writer, const struct size *size)
{
    int error = 0;
    for (uint32_t i = 0; i < size->curves && !error; i++) {
        struct curve_point points[CURVE_POINTS];
        for (uint64_t at = 0; at < size->points_of_curve; at++)
            points[at] =
                (struct curve_point){(1 + at) * size->run_ms * ms / (size->points_of_curve + 1),
                                     10000ull * (1 + i % 40) * (1 + at % 9)};
        struct curve curve = {
            3 + 3 * i, (uint16_t)size->points_of_curve, FIGURE_OF(8192), points, MEMORY_HEAP, 0};
        error = profile_put_curve(writer, &curve);
    }
    return error;
}

static int put_many_times(struct profile_writer *writer, uint64_t peak, const struct size *size)
{
    static struct timeline_bucket buckets[MANY_BUCKETS];
    for (uint64_t i = 0; i < MANY_BUCKETS; i++) {
        uint64_t level = peak / MANY_BUCKETS * (i + 1);
        buckets[i] = (struct timeline_bucket){
            .requested = {figure_of(level / 2), figure_of(i == MANY_BUCKETS - 1 ? peak : level)},
            .blocks = {figure_of(i), figure_of(2 * i)},
            .physical = {figure_of(level), figure_of(level + 4096)},
            .virt = {FIGURE_UNKNOWN, FIGURE_UNKNOWN},
            .tool = {FIGURE_UNKNOWN, FIGURE_UNKNOWN},
            .alloc_count = figure_of(100 + i % 17),
            .alloc_bytes = figure_of(6400),
            .free_count = figure_of(90),
            .free_bytes = figure_of(5000)};
    }
    int error =
        profile_put_timeline(writer, buckets, MANY_BUCKETS, size->run_ms * ms / MANY_BUCKETS);
    return error ? error : put_many_curves(writer, size);
}

static int put_many_marks(struct profile_writer *writer, const struct size *size)
{
    struct profile_mark *marks = calloc(size->marks + 1, sizeof *marks);
    char(*names)[24] = calloc(size->marks + 1, sizeof *names);
    if (!marks || !names)
        abort();
    for (uint32_t i = 0; i < size->marks; i++) {
        snprintf(names[i], sizeof *names, "step %u", i);
        marks[i] = (struct profile_mark){i,
                                         (1 + i) * size->run_ms * ms / (size->marks + 1),
                                         PROFILE_MARK_NAMED,
                                         names[i],
                                         i % 7,
                                         1000000ull * (i % 100),
                                         i};
    }
    int error = profile_put_marks(writer, marks, size->marks);
    free(names);
    free(marks);
    return error;
}

static int put_many_regions(struct profile_writer *writer, const struct size *size)
{
    struct profile_region *regions = calloc(size->regions + 1, sizeof *regions);
    char(*names)[24] = calloc(size->regions + 1, sizeof *names);
    if (!regions || !names)
        abort();
    for (uint32_t i = 0; i < size->regions; i++) {
        uint64_t first = i * size->run_ms * ms / size->regions;
        snprintf(names[i], sizeof *names, "phase %u", i);
        regions[i] = (struct profile_region){.id = i,
                                             .name = names[i],
                                             .entered_count = 1 + i,
                                             .time_ns = 100 * ms,
                                             .first_ns = first,
                                             .last_ns = first + size->run_ms * ms / 100,
                                             .peak_bytes = 4096ull * i,
                                             .peak_ns = first,
                                             .program_peak_bytes = 1 << 20,
                                             .program_peak_ns = first};
    }
    int error = profile_put_regions(writer, regions, size->regions);
    free(names);
    free(regions);
    return error;
}

static int put_many_threads(struct profile_writer *writer, const struct size *size)
{
    int error = 0;
    for (uint32_t i = 0; i < size->threads && !error; i++) {
        struct thread_metrics thread = {.tid = 1000 + i,
                                        .alloc_count = figure_of(1 + i),
                                        .alloc_bytes = figure_of(4096ull * i),
                                        .start_ticks = i * size->run_ms * ms / (size->threads + 1),
                                        .end_ticks = size->run_ms * ms};
        snprintf(thread.name, sizeof thread.name, "worker %u", i % 10000);
        error = profile_put_thread(writer, i, &thread);
    }
    return error;
}

static int put_many_looks(struct profile_writer *writer, const struct size *size)
{
    int error = 0;
    for (uint32_t i = 0; i < size->looks && !error; i++) {
        struct profile_sample sample = {.id = 1 + i,
                                        .why = PROFILE_SAMPLE_RESIDENT_PEAK,
                                        .time_ns = (1 + i) * size->run_ms * ms / (size->looks + 1),
                                        .resident_bytes = figure_of((uint64_t)i << 20),
                                        .proportional_bytes = figure_of((uint64_t)i << 20),
                                        .unique_bytes = figure_of((uint64_t)i << 19),
                                        .has_ledger = true,
                                        .live_touched_bytes = figure_of((uint64_t)i << 19),
                                        .slack_bytes = figure_of((uint64_t)i << 19)};
        error = profile_put_sample(writer, &sample);
    }
    return error;
}

static int put_many_events(struct profile_writer *writer, const struct size *size)
{
    int error = size->marks ? put_many_marks(writer, size) : 0;
    if (!error && size->regions)
        error = put_many_regions(writer, size);
    if (!error)
        error = put_many_threads(writer, size);
    return error ? error : put_many_looks(writer, size);
}

static void print_sums(const struct size *size, const struct call_metrics *total)
{
    printf(
        "{\"nodes\": %u, \"at_peak_bytes\": %llu, \"alloc_count\": %llu, \"live_bytes\": %llu}\n",
        size->paths + 1, (unsigned long long)figure_or(total->at_peak_bytes, 0),
        (unsigned long long)figure_or(total->alloc_count, 0),
        (unsigned long long)figure_or(total->live_bytes, 0));
}

static int put_many(struct profile_writer *writer, const struct size *size)
{
    struct program_metrics program = {.total = metrics_of(0, 0, 0), .events = 1};
    program.total.size_min = FIGURE_UNKNOWN;
    int error = put_meta(writer, "many", "./many --paths=1000000", size->run_ms);
    if (!error)
        error = put_many_locations(writer);
    if (!error)
        error = put_many_paths(writer, &program, size->paths);
    program.total.peak_bytes = program.total.at_peak_bytes;
    program.total.peak_ticks = figure_of(size->run_ms * ms - 1);
    program.live_peak_count = program.total.live_count;
    if (!error)
        error = profile_put_program(writer, &program);
    if (!error)
        error = put_many_times(writer, figure_or(program.total.peak_bytes, 0), size);
    if (!error)
        error = put_many_events(writer, size);
    if (!error)
        print_sums(size, &program.total);
    return error;
}

/* ---- Hostile ---- */

enum { LONG_NAME = 1 << 20, HOSTILE_NAMES = 14 };

/* `window.harm` is what the tests look for. */
static const char *hostile_names[HOSTILE_NAMES] = {
    "<script>window.harm = 1</script>",
    "<img src=x onerror=\"window.harm = 2\">",
    "\"><svg onload=window.harm=3>",
    "javascript:window.harm=4",
    "</script><script>window.harm=5</script>",
    "\xe2\x80\xae"
    "gnp.exe\xe2\x80\xac right to left",
    "bell\a escape\033[31m\033]0;title\007 newline\nreturn\rtab\tend",
    "invalid \xff\xfe\xc3\x28 utf-8 \xed\xa0\x80",
    "=HYPERLINK(\"http://example.invalid/\")",
    "]] > \\ \" n1 -> n2; subgraph { } // dot",
    "__proto__",
    "constructor",
    "%s%n%00 &lt;b&gt; {{7*7}} ${7*7}",
    NULL, /* a megabyte */
};

static char *long_name(void)
{
    static const char part[] = "ns::deep<int, char>::";
    char *name = malloc(LONG_NAME + 1);
    if (!name)
        abort();
    for (size_t i = 0; i < LONG_NAME; i++)
        name[i] = part[i % (sizeof part - 1)];
    name[LONG_NAME] = '\0';
    return name;
}

static int put_hostile(struct profile_writer *writer)
{
    struct replay_site sites[HOSTILE_NAMES];
    struct program_metrics program = {.total = metrics_of(0, 0, 0), .events = 1};
    program.total.size_min = FIGURE_UNKNOWN;
    char *name = long_name();
    hostile_names[HOSTILE_NAMES - 1] = name;
    int error = put_meta(writer, hostile_names[0], "<b onclick='window.harm=6'>./run</b>", 20480);
    for (uint32_t i = 0; i < HOSTILE_NAMES && !error; i++) {
        const struct profile_frame frame = {hostile_names[i], hostile_names[i], hostile_names[i],
                                            1 + i};
        error = put_location(writer, 1 + i, &frame);
        if (!error)
            error = profile_put_path(writer, 1 + i, i, 1 + i);
        sites[i] = (struct replay_site){1 + i, metrics_of(10 + i, 100, i)};
        add(&program.total, &sites[i].metrics);
    }
    if (!error)
        error = put_block(writer, 0, sites, HOSTILE_NAMES);
    program.total.peak_bytes = program.total.at_peak_bytes;
    if (!error)
        error = profile_put_program(writer, &program);
    static const char source[] = "int main() { /* <script>window.harm = 7</script> \xff */ }\n";
    if (!error)
        error = profile_put_source(writer, hostile_names[0], source, sizeof source - 1);
    struct thread_metrics thread = {
        .tid = 1, .alloc_count = FIGURE_OF(10), .name = "<b>\xff\a\033</b>"};
    if (!error)
        error = profile_put_thread(writer, 0, &thread);
    struct profile_variable variables[] = {
        {1, hostile_names[1], NULL, 4096, PROFILE_SECTION_BSS, hostile_names[4], 3},
        {1, name, NULL, 512, PROFILE_SECTION_DATA, NULL, 0}};
    struct profile_section_total sections[] = {
        {1, PROFILE_SECTION_BSS, FIGURE_OF(5000), FIGURE_OF(4096), FIGURE_OF(1), false},
        {1, PROFILE_SECTION_DATA, FIGURE_OF(600), FIGURE_OF(512), FIGURE_OF(1), false}};
    if (!error)
        error = profile_put_variables(writer, variables, 2);
    if (!error)
        error = profile_put_sections(writer, sections, 2);
    free(name);
    return error;
}

static int put_kind(struct profile_writer *writer, const char *kind)
{
    if (!strcmp(kind, "hostile"))
        return put_hostile(writer);
    return put_many(writer, strcmp(kind, "long") != 0 ? &many_size : &long_size);
}

static bool is_kind(const char *kind)
{
    return !strcmp(kind, "many") || !strcmp(kind, "long") || !strcmp(kind, "hostile");
}

int main(int argc, char **argv)
{
    struct profile_writer *writer;
    if (argc != 3 || !is_kind(argv[1])) {
        fputs("Usage: make_profile many|long|hostile FILE\n", stderr);
        return 2;
    }
    int error = profile_writer_open(&writer, argv[2]);
    if (!error)
        error = profile_writer_begin(writer);
    if (!error)
        error = put_kind(writer, argv[1]);
    if (!error)
        error = profile_writer_commit(writer);
    if (!error)
        error = profile_writer_finish(writer, !strcmp(argv[1], "hostile"));
    if (error)
        fprintf(stderr, "%s\n", error_text());
    return error != 0;
}
