/* One run of one pattern under whatever allocator is loaded (LD_PRELOAD), and what it took, as one
 * line of JSON. bfm/bench/alloc.py runs this many times; see its text, and bfm/doc/BFM-bench.md.
 *
 * Nothing calls malloc before or beside the pattern: no stdio on streams, arguments are parsed in
 * place. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "latency.h"
#include "memory.h"
#include "pattern.h"
#include "stress.h"
#include "threads.h"
#include "../../include/tidemark/bfm.h"

enum { WORST_ROUNDS = 5, EXTRA_SLOTS = 64 };

struct bench_options {
    const char *name;
    const char *mode;
    uint64_t bytes, blocks, shapes, seed; /* blocks, seed 0: not said */
    bool strict;
};

static const char *const mode_names[] = {
    [BLOCK_TIME] = "time",       [BLOCK_PLAIN] = "plain",     [BLOCK_DRY] = "dry",
    [BLOCK_CHECK] = "check",     [BLOCK_LATENCY] = "latency", [BLOCK_COUNT] = "count",
    [BLOCK_ACCOUNT] = "account",
};
enum { MODES = sizeof mode_names / sizeof *mode_names };

/* --- output ----------------------------------------------------------------------------------- */

static char line[8192];
static size_t line_length;

static void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void bench_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + line_length, sizeof line - line_length, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof line - line_length)
        memory_die("its line of results is too long");
    line_length += (size_t)length;
}

static void bench_say_out(void)
{
    if (write(STDOUT_FILENO, line, line_length) != (ssize_t)line_length)
        memory_die("the results cannot be written: %s", strerror(errno));
    line_length = 0;
}

static void bench_say_number(const char *key, uint64_t number)
{
    if (number == MEMORY_UNKNOWN)
        bench_say(", \"%s\": null", key);
    else
        bench_say(", \"%s\": %llu", key, (unsigned long long)number);
}

/* --- measuring -------------------------------------------------------------------------------- */

struct measured {
    uint64_t cpu_ns, user_ns, wall_ns, harness_bytes;
    struct memory_status before, after;
};

static void bench_measure_begin(struct measured *measured)
{
    memory_reset_peak();
    memory_status(&measured->before);
    measured->harness_bytes = memory_mapped_bytes();
    measured->wall_ns = memory_wall_ns();
    measured->user_ns = memory_user_ns();
    measured->cpu_ns = memory_cpu_ns();
}

static void bench_measure_end(struct measured *measured)
{
    measured->cpu_ns = memory_cpu_ns() - measured->cpu_ns;
    measured->user_ns = memory_user_ns() - measured->user_ns;
    measured->wall_ns = memory_wall_ns() - measured->wall_ns;
    memory_status(&measured->after);
}

/* Whose malloc this is, so that who runs us can see that its wish was granted. */
static void bench_say_allocator(void)
{
    Dl_info info;
    const char *path = dladdr((void *)(uintptr_t)malloc, &info) ? info.dli_fname : "";
    bench_say(", \"allocator\": \"");
    for (; *path; path++)
        bench_say(*path == '"' || *path == '\\' || (unsigned char)*path < ' ' ? "?" : "%c", *path);
    bench_say("\"");
}

static uint64_t bench_less(uint64_t bytes, uint64_t own)
{
    return bytes == MEMORY_UNKNOWN ? MEMORY_UNKNOWN : bytes - own;
}

/* Sizes are those of the process less the harness's slots. */
static void bench_say_measured(const struct measured *measured)
{
    uint64_t own = measured->harness_bytes;
    bench_say_allocator();
    bench_say_number("cpu_ns", measured->cpu_ns);
    bench_say_number("user_ns", measured->user_ns);
    bench_say_number("wall_ns", measured->wall_ns);
    bench_say_number("harness_bytes", own);
    bench_say_number("rss_before_bytes", bench_less(measured->before.rss_bytes, own));
    bench_say_number("rss_peak_bytes", bench_less(measured->after.rss_peak_bytes, own));
    bench_say_number("rss_released_bytes", bench_less(measured->after.rss_bytes, own));
    bench_say_number("vm_peak_bytes", bench_less(measured->after.vm_peak_bytes, own));
}

static void bench_say_latency(void)
{
    static const char *const names[] = {[LATENCY_MALLOC] = "malloc", [LATENCY_FREE] = "free"};
    for (unsigned call = 0; call < LATENCY_CALLS; call++) {
        struct latency_figures figures;
        latency_figures(call, &figures);
        bench_say(", \"%s\": {\"calls\": %llu", names[call], (unsigned long long)figures.calls);
        bench_say_number("max_ns", figures.max_ns);
        bench_say_number("max_call", figures.max_call);
        bench_say_number("p50_ns", figures.p50_ns);
        bench_say_number("p99_ns", figures.p99_ns);
        bench_say_number("p9999_ns", figures.p9999_ns);
        bench_say_number("corrected", figures.corrected);
        bench_say("}");
    }
}

/* What the first touch of so much memory costs without any allocator, and giving it back. */
static uint64_t bench_touch_cpu_ns(uint64_t bytes)
{
    uint64_t begin_ns = memory_cpu_ns();
    char *memory =
        mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        memory_die("no %llu MiB to touch", (unsigned long long)bytes >> 20);
    for (uint64_t at = 0; at <= bytes; at += 4096)
        *(volatile char *)(memory + at) = 1;
    munmap(memory, bytes + 4096);
    return memory_cpu_ns() - begin_ns;
}

/* --- BFM's account ---------------------------------------------------------------------------- */

static struct bfm_account account = {.size = sizeof account};

void block_at_peak(void)
{
    int (*ask)(struct bfm_account *) =
        (int (*)(struct bfm_account *))dlsym(RTLD_DEFAULT, "bfm_account");
    if (!ask)
        memory_die("--mode=account is of BFM: LD_PRELOAD=libbfm.so");
    if (ask(&account))
        memory_die("BFM has no account to give");
}

/* What was not asked for of blocks is known here: all that was is written. */
static void bench_say_account(uint64_t asked)
{
    const struct {
        const char *name;
        uint64_t bytes;
    } causes[] = {
        {"account_resident", account.resident},
        {"payload", asked},
        {"rounding", account.blocks - asked},
        {"record_tails", account.record_tails},
        {"records_free", account.records_free},
        {"records_spare", account.records_spare},
        {"tags", account.tags},
        {"trees_free", account.trees_free},
        {"top", account.top},
        {"kept", account.kept},
        {"caches", account.caches},
        {"descriptors", account.descriptors},
        {"descriptors_idle", account.descriptors_idle},
        {"page_map", account.page_map},
        {"threads", account.threads},
        {"heaps", account.heaps},
    };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        bench_say_number(causes[i].name, causes[i].bytes);
}

/* --- patterns --------------------------------------------------------------------------------- */

static const struct pattern *bench_find(const char *name)
{
    for (unsigned i = 0; i < pattern_count; i++) {
        if (strcmp(patterns[i].name, name) == 0)
            return &patterns[i];
    }
    for (unsigned i = 0; i < stream_count; i++) {
        if (strcmp(streams[i].name, name) == 0)
            return &streams[i];
    }
    return NULL;
}

static uint64_t bench_blocks_of(const struct pattern *pattern, const struct bench_options *options)
{
    /* streams are against time, not memory */
    uint64_t part = pattern->small ? 8 : pattern->number ? 1 : 4, bytes = options->bytes / part;
    /* multi patterns come in runs of 512 */
    return options->blocks ? (options->blocks + 511) & ~(uint64_t)511
                           : pattern->blocks_for(pattern, bytes);
}

static void bench_run_pattern(const struct pattern *pattern, enum block_mode mode,
                              const struct bench_options *options)
{
    uint64_t blocks = bench_blocks_of(pattern, options);
    size_t slots_bytes = (blocks + EXTRA_SLOTS) * sizeof(struct slot);
    struct slot *slots = memory_map(slots_bytes);
    struct measured measured;
    block_write_bytes = pattern->head_only && mode != BLOCK_CHECK ? 64 : UINT64_MAX;
    block_mode = BLOCK_DRY;
    pattern->run(pattern, slots, blocks);
    struct block_totals asked = block_totals;
    block_totals = (struct block_totals){0};
    if (asked.live_bytes)
        memory_die("%s leaves blocks behind", pattern->name);
    if (mode == BLOCK_LATENCY)
        latency_prepare();
    block_mode = mode;
    block_peak_take = asked.peak_take;
    bench_measure_begin(&measured);
    if (mode != BLOCK_DRY)
        pattern->run(pattern, slots, blocks);
    bench_measure_end(&measured);
    bench_say("{\"pattern\": \"%s\", \"number\": %u, \"mode\": \"%s\", \"blocks\": %llu",
              pattern->name, pattern->number, mode_names[mode], (unsigned long long)blocks);
    bench_say_number("pairs", asked.takes);
    bench_say_number("payload_peak_bytes", asked.peak_bytes);
    bench_say_measured(&measured);
    if (mode == BLOCK_PLAIN)
        bench_say_number("touch_cpu_ns", bench_touch_cpu_ns(asked.touched_peak));
    if (mode == BLOCK_LATENCY)
        bench_say_latency();
    if (mode == BLOCK_ACCOUNT)
        bench_say_account(asked.touched_peak);
    if (mode == BLOCK_CHECK) {
        bench_say_number("misaligned", block_totals.misaligned);
        bench_say_number("misaligned_tiny", block_totals.misaligned_tiny);
    }
    bench_say("}\n");
    bench_say_out();
    memory_unmap(slots, slots_bytes);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void bench_check_netbuild(const struct bench_options *options)
{
    struct netbuild_result scanned, compared;
    uint64_t shapes = options->shapes < 3000 ? options->shapes : 3000;
    netbuild_run(shapes, block_seed, &scanned);
    netbuild_compare_all(shapes, block_seed, &compared);
    if (scanned.nets != compared.nets || scanned.checksum != compared.checksum ||
        scanned.overlaps != compared.overlaps)
        memory_die("the netbuild of %llu shapes is wrong: %llu nets and %llu overlaps, "
                   "by comparing all %llu and %llu",
                   (unsigned long long)shapes, (unsigned long long)scanned.nets,
                   (unsigned long long)scanned.overlaps, (unsigned long long)compared.nets,
                   (unsigned long long)compared.overlaps);
}

static int bench_run_netbuild(const struct bench_options *options)
{
    struct netbuild_result result;
    struct measured measured;
    unsigned tasks, threads;
    if (sscanf(options->name, "netbuild:%u/%u", &tasks, &threads) != 2 || !tasks || !threads ||
        tasks > 100000)
        return 0;
    if (strcmp(options->mode, "check") == 0)
        bench_check_netbuild(options);
    bench_measure_begin(&measured);
    threads_netbuild(tasks, threads, options->shapes, &result);
    bench_measure_end(&measured);
    bench_say("{\"pattern\": \"netbuild:%u/%u\", \"mode\": \"%s\", \"tasks\": %u, \"threads\": %u",
              tasks, threads, options->mode, tasks, threads);
    bench_say_number("shapes", options->shapes);
    bench_say_number("nets", result.nets);
    bench_say(", \"checksum\": \"%016llx\"", (unsigned long long)result.checksum);
    bench_say_number("pairs", result.allocations);
    bench_say_measured(&measured);
    bench_say("}\n");
    bench_say_out();
    return 1;
}

static int bench_run_worst(const struct bench_options *options)
{
    struct measured measured;
    unsigned threads;
    if (sscanf(options->name, "worst:%u", &threads) != 1 || !threads || threads > 4096)
        return 0;
    uint64_t blocks = options->blocks ? options->blocks : options->bytes / 64;
    bench_measure_begin(&measured);
    uint64_t pairs = threads_worst(threads, blocks, WORST_ROUNDS);
    bench_measure_end(&measured);
    bench_say("{\"pattern\": \"worst:%u\", \"mode\": \"%s\", \"threads\": %u", threads,
              options->mode, threads);
    bench_say_number("pairs", pairs);
    bench_say_measured(&measured);
    bench_say("}\n");
    bench_say_out();
    return 1;
}

static int bench_run_stress(const struct bench_options *options)
{
    struct stress_result result;
    unsigned threads;
    uint64_t seed = options->seed, deviations = 0;
    if (sscanf(options->name, "stress:%u", &threads) != 1 || !threads || threads > 4096)
        return 0;
    if (!seed && getrandom(&seed, sizeof seed, 0) != sizeof seed)
        memory_die("no random seed could be had; say --seed=N");
    seed = seed % ((uint64_t)1 << 40) + !seed;
    stress_run(threads, options->blocks ? options->blocks : 100000, seed, &result);
    bench_say("{\"pattern\": \"stress:%u\", \"mode\": \"check\"", threads);
    bench_say_number("seed", seed);
    bench_say_number("pairs", result.calls);
    bench_say_number("passed", result.passed);
    bench_say_number("threads", result.threads);
    bench_say_number("forks", result.forks);
    bench_say_allocator();
    for (unsigned kind = 0; kind < STRESS_DEVIATIONS; kind++) {
        bench_say(", \"deviations_%s\": %llu", stress_deviation_names[kind],
                  (unsigned long long)result.deviations[kind]);
        deviations += result.deviations[kind];
    }
    bench_say("}\n");
    bench_say_out();
    if (options->strict && deviations)
        memory_die("%llu deviations from what glibc does; see above",
                   (unsigned long long)deviations);
    return 1;
}

/* --- the command line ------------------------------------------------------------------------- */

static void bench_list(void)
{
    for (unsigned i = 0; i < pattern_count; i++)
        bench_say("pattern %s %u %d\n", patterns[i].name, patterns[i].number, patterns[i].headline);
    for (unsigned i = 0; i < stream_count; i++)
        bench_say("stream %s 0 %d\n", streams[i].name, streams[i].headline);
    bench_say_out();
}

static void bench_usage(void)
{
    bench_say(
        "usage: bench_alloc NAME [--mode=time|plain|dry|check|latency|count|account] [--bytes=N] "
        "[--blocks=N]\n"
        "                        [--shapes=N] [--seed=N]\n"
        "       bench_alloc stress:THREADS [--blocks=CALLS] [--seed=N] [--strict]\n"
        "       bench_alloc --list\n"
        "NAME is a pattern or stream of the list, netbuild:TASKS/THREADS or worst:THREADS.\n"
        "stress looks for mistakes; --strict: what glibc does otherwise is one too.\n"
        "LD_PRELOAD says which allocator is measured. bfm/doc/BFM-bench.md has the rest.\n");
    bench_say_out();
}

static uint64_t bench_number_of(const char *option, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || *end || end == text || *text == '-' || number == 0 || number > 1ull << 40)
        memory_die("%s%s is not a number from 1 to 2^40", option, text);
    return number;
}

static void bench_parse(struct bench_options *options, int count, char **arguments)
{
    static const char *const keys[] = {"--bytes=", "--blocks=", "--shapes=", "--seed="};
    uint64_t *numbers[] = {&options->bytes, &options->blocks, &options->shapes, &options->seed};
    for (int i = 1; i < count; i++) {
        const char *argument = arguments[i];
        unsigned key = 0;
        while (key < 4 && strncmp(argument, keys[key], strlen(keys[key])) != 0)
            key++;
        if (key < 4)
            *numbers[key] = bench_number_of(keys[key], argument + strlen(keys[key]));
        else if (strncmp(argument, "--mode=", 7) == 0)
            options->mode = argument + 7;
        else if (strcmp(argument, "--strict") == 0)
            options->strict = true;
        else if (argument[0] != '-' && !options->name)
            options->name = argument;
        else
            memory_die("what is '%s'? `bench_alloc --help` lists what there is", argument);
    }
}

static enum block_mode bench_mode_of(const char *name)
{
    for (unsigned mode = 0; mode < MODES; mode++) {
        if (strcmp(mode_names[mode], name) == 0)
            return (enum block_mode)mode;
    }
    memory_die("there is no mode '%s'; `bench_alloc --help` lists them", name);
}

int main(int count, char **arguments)
{
    struct bench_options options = {.mode = "time", .bytes = 256 << 20, .shapes = 200000};
    if (count == 2 && strcmp(arguments[1], "--list") == 0) {
        bench_list();
        return 0;
    }
    if (count < 2 || strcmp(arguments[1], "--help") == 0) {
        bench_usage();
        return count < 2 ? 125 : 0;
    }
    bench_parse(&options, count, arguments);
    free(malloc(1)); /* an allocator's own start is not part of any pattern */
    if (options.seed)
        block_seed = options.seed;
    if (!options.name)
        memory_die("which pattern? `bench_alloc --list` lists them");
    enum block_mode mode = bench_mode_of(options.mode);
    const struct pattern *pattern = bench_find(options.name);
    if (pattern)
        bench_run_pattern(pattern, mode, &options);
    else if (!bench_run_netbuild(&options) && !bench_run_worst(&options) &&
             !bench_run_stress(&options))
        memory_die("there is no pattern '%s'; `bench_alloc --list` lists them", options.name);
    return 0;
}
