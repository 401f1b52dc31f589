/* Heap dumps of jemalloc (prof.dump, heap_v2) and of gperftools (HEAPPROFILE): what is alive, and
 * what was ever allocated, by stacks of addresses. The files at these addresses are listed, but not
 * what code is in them: names come from the files that are on this machine now.
 *
 *   jemalloc    @ 0x1 0x2            gperftools    1: 8 [ 2: 16] @ 0x1 0x2
 *                 t*: 1: 8 [2: 16]
 *
 * What was sampled is scaled up as jeprof does: a block of s bytes is seen with probability
 * 1 - exp(-s / interval), s being the mean size of the stack's blocks. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "import/importers.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/regular.h"
#include "import/import_text.h"
#include "symbols/symbols.h"

enum { STACK_MAX = 4096, FRAMES_MAX = 64, ELF_HEAD = 20, ELF_TYPE_AT = 16, ELF_EXECUTABLE = 2 };

struct import_jemalloc_mapping {
    uint64_t start, end, bias;
    struct import_text path;
    int handle; /* of symbols; -1: none */
};
struct jemalloc {
    struct gather *gather;
    struct strbuf *why;
    struct import_text all;
    size_t line_number;
    bool is_gperftools;
    double interval; /* 0: all was recorded */
    struct import_jemalloc_stack {
        uint64_t live_count, live_bytes, alloc_count, alloc_bytes;
        uint32_t first_address, address_count;
        bool has_figures;
    } * stacks;
    size_t stack_count, stack_capacity;
    uint64_t *addresses;
    size_t address_count, address_capacity;
    struct import_jemalloc_mapping *mappings;
    size_t mapping_count, mapping_capacity;
    struct symbols *symbols;
};

static int import_jemalloc_fail(struct jemalloc *jemalloc, const char *what)
{
    strbuf_reset(jemalloc->why);
    strbuf_addf(jemalloc->why, "line %zu of the heap dump %s", jemalloc->line_number, what);
    return -EBADMSG;
}

/* ---- Stacks -------------------------------------------------------------------------------- */

static void import_jemalloc_begin_stack(struct jemalloc *jemalloc)
{
    array_need_room(&jemalloc->stacks, &jemalloc->stack_capacity, jemalloc->stack_count,
                    sizeof *jemalloc->stacks);
    jemalloc->stacks[jemalloc->stack_count++] =
        (struct import_jemalloc_stack){.first_address = (uint32_t)jemalloc->address_count};
}

static int import_jemalloc_take_addresses(struct jemalloc *jemalloc, struct import_text line)
{
    struct import_jemalloc_stack *stack = &jemalloc->stacks[jemalloc->stack_count - 1];
    for (text_skip_spaces(&line); line.at < line.end; text_skip_spaces(&line)) {
        uint64_t address;
        if (!text_skip(&line, "0x") || !text_number(&line, 16, &address) ||
            stack->address_count == STACK_MAX || jemalloc->address_count >= UINT32_MAX)
            return import_jemalloc_fail(jemalloc, "is no stack of addresses");
        array_need_room(&jemalloc->addresses, &jemalloc->address_capacity, jemalloc->address_count,
                        sizeof *jemalloc->addresses);
        jemalloc->addresses[jemalloc->address_count++] = address;
        stack->address_count++;
    }
    return 0;
}

/* "1: 8 [2: 16]" */
static int import_jemalloc_take_figures(struct jemalloc *jemalloc, struct import_text *line,
                                        struct import_jemalloc_stack *stack)
{
    if (!text_number(line, 10, &stack->live_count) || !text_skip(line, ":") ||
        !text_number(line, 10, &stack->live_bytes))
        return import_jemalloc_fail(jemalloc, "holds no figures");
    text_skip_spaces(line);
    if (!text_skip(line, "[") || !text_number(line, 10, &stack->alloc_count) ||
        !text_skip(line, ":") || !text_number(line, 10, &stack->alloc_bytes))
        return import_jemalloc_fail(jemalloc, "holds no figures");
    text_skip_spaces(line);
    text_skip(line, "]");
    stack->has_figures = true;
    return 0;
}

static int import_jemalloc_take_stack_line(struct jemalloc *jemalloc, struct import_text line)
{
    text_skip_spaces(&line);
    if (jemalloc->is_gperftools) {
        import_jemalloc_begin_stack(jemalloc);
        int error = import_jemalloc_take_figures(jemalloc, &line,
                                                 &jemalloc->stacks[jemalloc->stack_count - 1]);
        text_skip_spaces(&line);
        if (!error && !text_skip(&line, "@"))
            error = import_jemalloc_fail(jemalloc, "holds no stack");
        return error ? error : import_jemalloc_take_addresses(jemalloc, line);
    }
    if (text_skip(&line, "@")) {
        import_jemalloc_begin_stack(jemalloc);
        return import_jemalloc_take_addresses(jemalloc, line);
    }
    /* All threads together; single threads are not told apart. */
    if (text_skip(&line, "t*:") && jemalloc->stack_count)
        return import_jemalloc_take_figures(jemalloc, &line,
                                            &jemalloc->stacks[jemalloc->stack_count - 1]);
    return 0;
}

/* ---- Mappings ------------------------------------------------------------------------------ */

/* Where the file's address 0 is: programs that are not relocated say addresses as they are. */
static uint64_t import_jemalloc_bias_of(const char *path, uint64_t start, uint64_t offset)
{
    unsigned char head[ELF_HEAD] = {0};
    struct stat status;
    int fd = regular_file_open(path, &status);
    bool is_read = fd >= 0 && pread(fd, head, sizeof head, 0) == sizeof head;
    if (fd >= 0)
        close(fd);
    bool is_fixed = is_read && head[ELF_TYPE_AT] == ELF_EXECUTABLE && !head[ELF_TYPE_AT + 1];
    return is_fixed || offset > start ? 0 : start - offset;
}

/* "7f00-7f10 r-xp 00001000 08:01 123   /lib/libc.so.6" */
static void import_jemalloc_take_mapping(struct jemalloc *jemalloc, struct import_text line)
{
    uint64_t start, end, offset = 0;
    if (!text_number(&line, 16, &start) || !text_skip(&line, "-") ||
        !text_number(&line, 16, &end) || end <= start || end > INT64_MAX)
        return;
    text_skip_spaces(&line);
    bool is_code = line.end - line.at > 4 && line.at[2] == 'x';
    const char *slash = memchr(line.at, '/', (size_t)(line.end - line.at));
    if (!is_code || !slash)
        return;
    line.at += 4;
    text_number(&line, 16, &offset);
    array_need_room(&jemalloc->mappings, &jemalloc->mapping_capacity, jemalloc->mapping_count,
                    sizeof *jemalloc->mappings);
    struct import_jemalloc_mapping *mapping = &jemalloc->mappings[jemalloc->mapping_count++];
    *mapping = (struct import_jemalloc_mapping){
        start, end, offset > start ? 0 : start - offset, {slash, line.end}, -1};
    char *path = strndup(slash, (size_t)(line.end - slash));
    struct stat status;
    if (!path)
        memory_exhausted();
    if (jemalloc->symbols && !stat(path, &status) && S_ISREG(status.st_mode)) {
        mapping->bias = import_jemalloc_bias_of(path, start, offset);
        mapping->handle = symbols_add_module(jemalloc->symbols, path, NULL, 0);
    }
    free(path);
}

/* ---- Names --------------------------------------------------------------------------------- */

static const struct import_jemalloc_mapping *
import_jemalloc_mapping_of(const struct jemalloc *jemalloc, uint64_t address)
{
    for (size_t i = 0; i < jemalloc->mapping_count; i++)
        if (address >= jemalloc->mappings[i].start && address < jemalloc->mappings[i].end)
            return &jemalloc->mappings[i];
    return NULL;
}

/* The allocator's own frames stand innermost and say nothing of the program. */
static bool import_jemalloc_is_allocator(const struct jemalloc *jemalloc, uint64_t address)
{
    static const char *const names[] = {"/libjemalloc", "/libtcmalloc"};
    const struct import_jemalloc_mapping *mapping = import_jemalloc_mapping_of(jemalloc, address);
    for (size_t i = 0; mapping && i < sizeof names / sizeof *names; i++)
        if (memmem(mapping->path.at, (size_t)(mapping->path.end - mapping->path.at), names[i],
                   strlen(names[i])))
            return true;
    return false;
}

static uint32_t import_jemalloc_location_of(struct jemalloc *jemalloc, uint64_t address)
{
    struct symbols_frame found[FRAMES_MAX];
    struct gather_named frames[FRAMES_MAX];
    const struct import_jemalloc_mapping *mapping = import_jemalloc_mapping_of(jemalloc, address);
    size_t count = 0;
    if (!mapping)
        return gather_location(jemalloc->gather, -1, address & INT64_MAX, NULL, 0);
    uint64_t own = address - mapping->bias;
    if (mapping->handle >= 0)
        count = symbols_resolve(jemalloc->symbols, mapping->handle, own - 1, found, FRAMES_MAX);
    for (size_t i = 0; i < count; i++)
        frames[i] = (struct gather_named){.function = found[i].function,
                                          .function_length =
                                              found[i].function ? strlen(found[i].function) : 0,
                                          .file = found[i].file,
                                          .file_length = found[i].file ? strlen(found[i].file) : 0,
                                          .line = found[i].line};
    int64_t module = gather_module(jemalloc->gather, mapping->path.at,
                                   (size_t)(mapping->path.end - mapping->path.at), mapping->start,
                                   mapping->end, mapping->bias);
    return gather_location(jemalloc->gather, module, own, frames, count);
}

/* ---- Figures ------------------------------------------------------------------------------- */

/* How many blocks of that mean size each recorded one stands for. */
static double import_jemalloc_scale_of(const struct jemalloc *jemalloc, uint64_t count,
                                       uint64_t bytes)
{
    if (jemalloc->interval <= 1 || !count || !bytes)
        return 1;
    double seen = -expm1(-((double)bytes / (double)count) / jemalloc->interval);
    return seen > 1e-9 ? 1 / seen : 1e9;
}

static uint64_t import_jemalloc_scaled(uint64_t value, double scale)
{
    double product = (double)value * scale;
    return scale <= 1         ? value & INT64_MAX
           : product < 9.2e18 ? (uint64_t)(product + 0.5)
                              : (uint64_t)INT64_MAX - 1;
}

static void import_jemalloc_add_stack(struct jemalloc *jemalloc,
                                      const struct import_jemalloc_stack *stack)
{
    uint32_t path = 0;
    double live = import_jemalloc_scale_of(jemalloc, stack->live_count, stack->live_bytes);
    double all = import_jemalloc_scale_of(jemalloc, stack->alloc_count, stack->alloc_bytes);
    const uint64_t *addresses =
        stack->address_count ? &jemalloc->addresses[stack->first_address] : NULL;
    uint32_t innermost = 0;
    while (innermost + 1 < stack->address_count &&
           import_jemalloc_is_allocator(jemalloc, addresses[innermost]))
        innermost++;
    for (uint32_t i = stack->address_count; i-- > innermost;)
        path = gather_path(jemalloc->gather, path,
                           import_jemalloc_location_of(jemalloc, addresses[i]));
    struct call_metrics *metrics = &gather_site(jemalloc->gather, path)->metrics;
    gather_add(&metrics->live_count, import_jemalloc_scaled(stack->live_count, live));
    gather_add(&metrics->live_bytes, import_jemalloc_scaled(stack->live_bytes, live));
    gather_add(&metrics->alloc_count, import_jemalloc_scaled(stack->alloc_count, all));
    gather_add(&metrics->alloc_bytes, import_jemalloc_scaled(stack->alloc_bytes, all));
}

/* jemalloc counts what was ever allocated only if it was told to (prof_accum). */
static void import_jemalloc_add_stacks(struct jemalloc *jemalloc)
{
    GATHER_KNOWS(jemalloc->gather, live_count);
    GATHER_KNOWS(jemalloc->gather, live_bytes);
    bool knows_allocated = false;
    for (size_t i = 0; i < jemalloc->stack_count; i++)
        knows_allocated |= jemalloc->stacks[i].alloc_count > 0;
    if (knows_allocated) {
        GATHER_KNOWS(jemalloc->gather, alloc_count);
        GATHER_KNOWS(jemalloc->gather, alloc_bytes);
    }
    for (size_t i = 0; i < jemalloc->stack_count; i++)
        if (jemalloc->stacks[i].has_figures)
            import_jemalloc_add_stack(jemalloc, &jemalloc->stacks[i]);
}

/* ---- All of it ----------------------------------------------------------------------------- */

/* "heap_v2/524288", or "heap profile: … @ heap_v2/524288", "… @ heapprofile". */
static int import_jemalloc_take_head(struct jemalloc *jemalloc, struct import_text line)
{
    uint64_t interval = 0;
    jemalloc->is_gperftools = text_skip(&line, "heap profile:");
    if (jemalloc->is_gperftools)
        jemalloc->gather->tool = "gperftools";
    const char *slash = memchr(line.at, '/', (size_t)(line.end - line.at));
    struct import_text number = {slash ? slash + 1 : line.end, line.end};
    if (slash && !text_number(&number, 10, &interval))
        return import_jemalloc_fail(jemalloc, "holds no sampling interval");
    jemalloc->interval = (double)interval;
    return 0;
}

static int import_jemalloc_read_lines(struct jemalloc *jemalloc)
{
    struct import_text line;
    bool in_mappings = false;
    int error = 0;
    while (!error && text_line(&jemalloc->all, &line)) {
        if (!jemalloc->line_number++)
            error = import_jemalloc_take_head(jemalloc, line);
        else if (text_skip(&line, "MAPPED_LIBRARIES"))
            in_mappings = true;
        else if (in_mappings)
            import_jemalloc_take_mapping(jemalloc, line);
        else if (line.at < line.end)
            error = import_jemalloc_take_stack_line(jemalloc, line);
    }
    return error;
}

static void import_jemalloc_finish(struct jemalloc *jemalloc)
{
    static const char later[] = "a heap dump holds addresses only: names come from the files that "
                                "are on this machine now";
    static const char sampled[] = "the heap dump was sampled: figures are estimates, scaled up as "
                                  "jeprof does";
    struct gather *gather = jemalloc->gather;
    if (jemalloc->mapping_count) {
        struct import_text path = jemalloc->mappings[0].path;
        const char *slash = memrchr(path.at, '/', (size_t)(path.end - path.at));
        gather_fact(gather, PROFILE_META_EXECUTABLE, path.at, (size_t)(path.end - path.at));
        gather_fact(gather, PROFILE_META_PROGRAM, slash + 1, (size_t)(path.end - slash - 1));
    }
    gather_fact(gather, PROFILE_META_NAMED_LATER, later, sizeof later - 1);
    if (jemalloc->interval > 1)
        gather_fact(gather, PROFILE_META_IMPORT_NOTE, sampled, sizeof sampled - 1);
}

bool import_is_jemalloc(const char *bytes, size_t count)
{
    return (count > 8 && !memcmp(bytes, "heap_v2/", 8)) ||
           (count > 13 && !memcmp(bytes, "heap profile:", 13));
}

int import_jemalloc(struct gather *gather, const char *bytes, size_t count, struct strbuf *why)
{
    struct jemalloc jemalloc = {.gather = gather, .why = why, .all = {bytes, bytes + count}};
    jemalloc.symbols = gather->names_from_files ? symbols_new("") : NULL;
    int error = import_jemalloc_read_lines(&jemalloc);
    if (!error) {
        import_jemalloc_add_stacks(&jemalloc);
        import_jemalloc_finish(&jemalloc);
    }
    symbols_free(jemalloc.symbols);
    free(jemalloc.stacks);
    free(jemalloc.addresses);
    free(jemalloc.mappings);
    return error;
}
