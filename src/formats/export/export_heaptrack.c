/* heaptrack's data file, format 3: heaptrack_print and heaptrack_gui read it and replay its events.
 *
 * A profile has sums and no events, so events are made up that have the profile's sums, path by
 * path: blocks and bytes in all, at the peak, never freed, temporary. Sizes are means, two a group:
 *
 *   before   others   + x  -   or, if temporary, + x - x      nothing else is alive
 *   rise     kept     + k                                     alive at the peak and never freed
 *            peak     + p                                     alive at the peak, which is here
 *   fall     peak     - p
 *   end      late     + l                                     never freed, born after the peak
 *
 * How many blocks are `kept` is not known; as many are as can be, with as many bytes. heaptrack
 * calls a block temporary when it is freed by the first event after its allocation, so others are
 * parted from their end by that of an empty block, which changes nothing else.
 *
 * heaptrack_gui counts allocation infos by number and wants each number's first allocation in the
 * order of numbers: another order makes it write beyond an array. The empty block, which is never
 * allocated, is the last. Number 0 passes for "no last allocation" where a block of it is freed, so
 * one block alone has it, the opening: a temporary one, for which that is right, or one that is
 * never freed. Where there is neither, heaptrack says one temporary block too many.
 *
 * The format has no event for many blocks, so a file has as many as the profile has blocks. A
 * profile with more than can be written is refused before the first line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "export/exporting.h"
#include "aggregate/facts.h"
#include "base/digits.h"
#include "base/human.h"
#include "base/memory.h"

enum { PAGE_BYTES = 4096 };
/* Some 80 GB. */
#define EVENTS_MOST 10000000000
#define MANY        1e19 /* and more */

/* The block of the first allocation. */
struct export_heaptrack_opening {
    enum { OPENING_NONE, OPENING_TEMPORARY, OPENING_OTHER, OPENING_KEPT, OPENING_PEAK } what;
    size_t site;
};

struct export_heaptrack {
    struct exporting *exporting;
    struct intern strings, ips, traces;
    uint32_t *trace_of; /* by node: + 1, 0: not known yet */
    uint32_t infos;     /* at last also the number of the empty block */
    struct export_heaptrack_opening opening;
};

/* ---- Names --------------------------------------------------------------------------------- */

static uint32_t export_heaptrack_string_number(struct export_heaptrack *heaptrack, const char *text)
{
    struct strbuf plain = STRBUF_INIT;
    bool is_new = false;
    uint32_t number = 0;
    export_add_plain(&plain, text, NULL, 0);
    if (plain.length)
        number = export_intern(&heaptrack->strings, plain.data, plain.length, &is_new);
    if (is_new)
        fprintf(heaptrack->exporting->out, "s %zx %s\n", plain.length, plain.data);
    strbuf_release(&plain);
    return number;
}

static bool export_heaptrack_is_shown(const struct export_heaptrack *heaptrack, uint32_t code_index)
{
    const struct profile_code *code = &heaptrack->exporting->profile->codes[code_index];
    for (uint32_t i = 0; i < code->line_count; i++)
        if (!heaptrack->exporting->hidden[code->first_line + i])
            return true;
    return false;
}

static void export_heaptrack_add_frame(struct export_heaptrack *heaptrack, struct strbuf *text,
                                       struct frame frame)
{
    const struct profile *profile = heaptrack->exporting->profile;
    struct strbuf name = STRBUF_INIT, path = STRBUF_INIT;
    uint32_t line;
    const char *file = frame_file(profile, frame, &line);
    if (frame_has_name(profile, frame) || profile->codes[frame.code].mark || !frame.code)
        frame_add_name(&name, profile, frame);
    export_add_file(&path, heaptrack->exporting, file);
    uint32_t function = export_heaptrack_string_number(heaptrack, name.data);
    uint32_t file_number = export_heaptrack_string_number(heaptrack, path.data);
    strbuf_addf(text, " %x %x %x", function, file_number, line);
    strbuf_release(&name);
    strbuf_release(&path);
}

/* An instruction pointer with its frames, innermost first. */
static uint32_t export_heaptrack_ip_number(struct export_heaptrack *heaptrack, uint32_t code_index,
                                           bool show_all)
{
    const struct profile *profile = heaptrack->exporting->profile;
    const struct profile_code *code = &profile->codes[code_index];
    bool is_new;
    uint32_t number =
        export_intern(&heaptrack->ips, (char *)&code_index, sizeof code_index, &is_new);
    if (!is_new)
        return number;
    struct strbuf text = STRBUF_INIT;
    bool in_module = code->module != UINT32_MAX;
    const char *path = in_module ? profile->modules[code->module].path : NULL;
    uint64_t bias = in_module ? profile->modules[code->module].bias : 0;
    strbuf_addf(&text, "i %llx %x", (unsigned long long)(code->address + bias),
                path ? export_heaptrack_string_number(heaptrack, path) : 0);
    for (uint32_t i = 0; i < code->line_count; i++)
        if (show_all || !heaptrack->exporting->hidden[code->first_line + i])
            export_heaptrack_add_frame(heaptrack, &text,
                                       frame_at(code_index, code->first_line + i));
    fprintf(heaptrack->exporting->out, "%s\n", text.data);
    strbuf_release(&text);
    return number;
}

static uint32_t export_heaptrack_trace_number(struct export_heaptrack *heaptrack, uint32_t parent,
                                              uint32_t code, bool show_all)
{
    uint32_t key[] = {parent, export_heaptrack_ip_number(heaptrack, code, show_all)};
    bool is_new;
    uint32_t number = export_intern(&heaptrack->traces, (char *)key, sizeof key, &is_new);
    if (is_new)
        fprintf(heaptrack->exporting->out, "t %x %x\n", key[1], key[0]);
    return number;
}

/* The trace of a node, made from the outermost frame that has none yet. */
static uint32_t export_heaptrack_trace_of(struct export_heaptrack *heaptrack, uint32_t node)
{
    const struct profile_node *nodes = heaptrack->exporting->profile->nodes;
    while (node && !heaptrack->trace_of[node]) {
        uint32_t at = node;
        while (nodes[at].parent && !heaptrack->trace_of[nodes[at].parent])
            at = nodes[at].parent;
        uint32_t parent = nodes[at].parent ? heaptrack->trace_of[nodes[at].parent] - 1 : 0;
        uint32_t trace =
            export_heaptrack_is_shown(heaptrack, nodes[at].location)
                ? export_heaptrack_trace_number(heaptrack, parent, nodes[at].location, false)
                : parent;
        heaptrack->trace_of[at] = trace + 1;
    }
    return node ? heaptrack->trace_of[node] - 1 : 0;
}

static uint32_t export_heaptrack_trace_of_site(struct export_heaptrack *heaptrack, size_t site)
{
    const struct profile *profile = heaptrack->exporting->profile;
    uint32_t node = profile_site_path(profile, site);
    uint32_t trace = export_heaptrack_trace_of(heaptrack, node);
    return trace ? trace
                 : export_heaptrack_trace_number(heaptrack, 0, profile->nodes[node].location, true);
}

/* ---- Blocks -------------------------------------------------------------------------------- */

/* `count` blocks of `bytes` in all: `larger` of them one byte larger than the others. */
struct export_heaptrack_group {
    uint64_t count, bytes, larger;
    uint32_t
        info; /* of the larger ones, which come first; of the smaller the next, if there are both */
};
struct export_heaptrack_site {
    struct export_heaptrack_group others, kept, peak, late;
    uint32_t trace;
    uint64_t temporary; /* of the others */
    bool is_last;       /* its last block at the peak is freed at once: a temporary one */
};

static uint64_t export_heaptrack_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t export_heaptrack_less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* exporters.c has made sure that what was allocated and what is left is known. */
static void export_heaptrack_divide(struct export_heaptrack_site *site,
                                    const struct call_metrics *metrics)
{
    struct export_level peak = export_peak_level(metrics);
    struct export_level left = {figure_or(metrics->live_count, 0),
                                figure_or(metrics->live_bytes, 0)};
    struct export_level born = {figure_or(export_blocks(metrics), 0),
                                figure_or(export_bytes(metrics), 0)};
    struct export_level kept = export_kept(born, peak, left);
    uint64_t temporary = figure_or(metrics->temporary_count, 0);
    site->kept = (struct export_heaptrack_group){.count = kept.blocks, .bytes = kept.bytes};
    site->peak = (struct export_heaptrack_group){.count = peak.blocks - kept.blocks,
                                                 .bytes = peak.bytes - kept.bytes};
    site->late = (struct export_heaptrack_group){.count = left.blocks - kept.blocks,
                                                 .bytes = left.bytes - kept.bytes};
    site->others = (struct export_heaptrack_group){
        .count = export_heaptrack_less(born.blocks + kept.blocks, peak.blocks + left.blocks),
        .bytes = export_heaptrack_less(born.bytes + kept.bytes, peak.bytes + left.bytes)};
    site->temporary = export_heaptrack_least(temporary, site->others.count);
    site->is_last = temporary > site->others.count && site->peak.count;
}

/* About: exact while it matters. */
static double export_heaptrack_count_events(const struct exporting *exporting)
{
    double events = 0;
    for (size_t i = 0; i < exporting->profile->site_count; i++) {
        struct export_heaptrack_site site = {0};
        struct profile_site room;
        if (!export_wants(exporting, i))
            continue;
        export_heaptrack_divide(&site, &profile_site_at(exporting->profile, i, &room)->metrics);
        events += 3 * (double)site.others.count - (double)site.temporary;
        events += (double)site.kept.count + 2 * (double)site.peak.count + (double)site.late.count;
    }
    return events;
}

static int export_heaptrack_check(struct exporting *exporting)
{
    double events = export_heaptrack_count_events(exporting);
    if (events <= EVENTS_MOST)
        return 0;
    return export_fail(
        exporting, -EFBIG,
        "heaptrack files have an event for each block that comes or goes, here %s of "
        "them, and no more than %s are written: choose another format, dhat or pprof "
        "for example",
        human_count((uint64_t)(events < MANY ? events : MANY)).text, human_count(EVENTS_MOST).text);
}

static void export_heaptrack_add_info(struct export_heaptrack *heaptrack, uint64_t size,
                                      uint32_t trace)
{
    fprintf(heaptrack->exporting->out, "a %llx %x\n", (unsigned long long)size, trace);
    heaptrack->infos++;
}

static void export_heaptrack_add_infos(struct export_heaptrack *heaptrack,
                                       struct export_heaptrack_group *group, uint32_t trace)
{
    if (!group->count)
        return;
    uint64_t size = group->bytes / group->count;
    group->larger = group->bytes % group->count;
    group->info = heaptrack->infos;
    if (group->larger)
        export_heaptrack_add_info(heaptrack, size + 1, trace);
    export_heaptrack_add_info(heaptrack, size, trace);
}

static uint32_t export_heaptrack_info_of(const struct export_heaptrack_group *group, uint64_t block)
{
    return group->info + (group->larger && block >= group->larger);
}

/* ---- The opening --------------------------------------------------------------------------- */

static uint64_t export_heaptrack_largest(const struct export_heaptrack_group *group)
{
    return group->count ? group->bytes / group->count + (group->bytes % group->count != 0) : 0;
}

/* A kept block is alive while others come and go: all together are no more than the peak. */
static struct export_heaptrack_opening
export_heaptrack_choose_kept(const struct export_heaptrack_site *sites, size_t count)
{
    uint64_t most = 0, peak = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t size = export_heaptrack_largest(&sites[i].others);
        most = size > most ? size : most;
        peak += sites[i].kept.bytes + sites[i].peak.bytes;
    }
    for (size_t i = 0; i < count; i++)
        if (sites[i].kept.count && export_heaptrack_largest(&sites[i].kept) + most <= peak)
            return (struct export_heaptrack_opening){OPENING_KEPT, i};
    return (struct export_heaptrack_opening){0};
}

static struct export_heaptrack_opening
export_heaptrack_choose(const struct export_heaptrack_site *sites, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sites[i].temporary)
            return (struct export_heaptrack_opening){OPENING_TEMPORARY, i};
    struct export_heaptrack_opening kept = export_heaptrack_choose_kept(sites, count);
    if (kept.what)
        return kept;
    for (size_t i = 0; i < count; i++)
        if (sites[i].others.count)
            return (struct export_heaptrack_opening){OPENING_OTHER, i};
    for (size_t i = 0; i < count; i++)
        if (sites[i].peak.count > sites[i].is_last)
            return (struct export_heaptrack_opening){OPENING_PEAK, i};
    return (struct export_heaptrack_opening){0};
}

/* Takes the block out of its group: it has the first info. */
static void export_heaptrack_take_opening(struct export_heaptrack *heaptrack,
                                          struct export_heaptrack_site *sites)
{
    struct export_heaptrack_opening *opening = &heaptrack->opening;
    *opening = export_heaptrack_choose(sites, heaptrack->exporting->profile->site_count);
    if (!opening->what)
        return;
    struct export_heaptrack_site *site = &sites[opening->site];
    struct export_heaptrack_group *group = opening->what == OPENING_KEPT   ? &site->kept
                                           : opening->what == OPENING_PEAK ? &site->peak
                                                                           : &site->others;
    uint64_t size = export_heaptrack_largest(group);
    site->temporary -= opening->what == OPENING_TEMPORARY;
    group->count--;
    group->bytes -= size;
    export_heaptrack_add_info(heaptrack, size, site->trace);
}

static void export_heaptrack_open(struct export_heaptrack *heaptrack)
{
    FILE *out = heaptrack->exporting->out;
    if (!heaptrack->opening.what)
        return;
    fputs("+ 0\n", out);
    if (heaptrack->opening.what == OPENING_OTHER)
        fprintf(out, "- %x\n", heaptrack->infos);
    if (heaptrack->opening.what < OPENING_KEPT)
        fputs("- 0\n", out);
}

/* ---- Events -------------------------------------------------------------------------------- */

/* "+ 1f": a block of that info is allocated, or freed ('-'). */
static void export_heaptrack_event(FILE *out, char kind, uint32_t info)
{
    char text[4 + DIGITS_MOST], *end = text + sizeof text, *at = end;
    *--at = '\n';
    at = digits_hex(at, info);
    *--at = ' ';
    *--at = kind;
    fwrite_unlocked(at, 1, (size_t)(end - at), out);
}

static void export_heaptrack_allocate_all(struct export_heaptrack *heaptrack,
                                          const struct export_heaptrack_group *group)
{
    for (uint64_t i = 0; i < group->count; i++)
        export_heaptrack_event(heaptrack->exporting->out, '+', export_heaptrack_info_of(group, i));
}

static void export_heaptrack_free_blocks(struct export_heaptrack *heaptrack,
                                         const struct export_heaptrack_group *group, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        export_heaptrack_event(heaptrack->exporting->out, '-', export_heaptrack_info_of(group, i));
}

static void export_heaptrack_come_and_go(struct export_heaptrack *heaptrack,
                                         const struct export_heaptrack_site *site)
{
    FILE *out = heaptrack->exporting->out;
    for (uint64_t i = 0; i < site->others.count; i++) {
        uint32_t info = export_heaptrack_info_of(&site->others, i);
        export_heaptrack_event(out, '+', info);
        if (i >= site->temporary)
            export_heaptrack_event(out, '-', heaptrack->infos);
        export_heaptrack_event(out, '-', info);
    }
}

/* ---- Writing ------------------------------------------------------------------------------- */

static void export_heaptrack_write_head(struct export_heaptrack *heaptrack)
{
    const struct profile *profile = heaptrack->exporting->profile;
    const char *command = profile_get(profile, PROFILE_META_COMMAND);
    uint64_t machine = 0; /* not known: heaptrack then says 0 too */
    struct strbuf plain = STRBUF_INIT;
    for (size_t i = 0; i < profile->sample_count; i++)
        figure_get(profile->samples[i].machine_bytes, &machine);
    export_add_plain(&plain, command ? command : export_title(profile), NULL, 0);
    fprintf(heaptrack->exporting->out, "v 10400 3\nX %s\nI %x %llx\n", plain.data, PAGE_BYTES,
            (unsigned long long)(machine / PAGE_BYTES));
    strbuf_release(&plain);
}

/* Numbers the infos in the order in which their first blocks are allocated. */
static void export_heaptrack_number(struct export_heaptrack *heaptrack,
                                    struct export_heaptrack_site *sites, size_t last)
{
    size_t count = heaptrack->exporting->profile->site_count;
    export_heaptrack_take_opening(heaptrack, sites);
    for (size_t i = 0; i < count; i++)
        export_heaptrack_add_infos(heaptrack, &sites[i].others, sites[i].trace);
    for (size_t i = 0; i < count; i++) {
        export_heaptrack_add_infos(heaptrack, &sites[i].kept, sites[i].trace);
        if (i != last)
            export_heaptrack_add_infos(heaptrack, &sites[i].peak, sites[i].trace);
    }
    if (last < count)
        export_heaptrack_add_infos(heaptrack, &sites[last].peak, sites[last].trace);
    for (size_t i = 0; i < count; i++)
        export_heaptrack_add_infos(heaptrack, &sites[i].late, sites[i].trace);
    fputs("a 0 0\n", heaptrack->exporting->out); /* the empty block */
}

/* Exactly one site is the last one: the peak's last block has one maker. */
static void export_heaptrack_take_sites(struct export_heaptrack *heaptrack,
                                        struct export_heaptrack_site *sites, size_t *last)
{
    const struct profile *profile = heaptrack->exporting->profile;
    *last = profile->site_count;
    for (size_t i = 0; i < profile->site_count; i++) {
        struct profile_site room;
        if (!export_wants(heaptrack->exporting, i))
            continue;
        sites[i].trace = export_heaptrack_trace_of_site(heaptrack, i);
        export_heaptrack_divide(&sites[i], &profile_site_at(profile, i, &room)->metrics);
        if (sites[i].is_last)
            *last = i;
    }
    export_heaptrack_number(heaptrack, sites, *last);
}

static void export_heaptrack_write_time(struct export_heaptrack *heaptrack, uint64_t time_ns)
{
    fprintf(heaptrack->exporting->out, "c %llx\n", (unsigned long long)(time_ns / 1000000));
}

/* The first block that goes: the last that came, where that is a temporary one. Nothing goes where
 * nothing came: the empty block would have number 0. */
static void export_heaptrack_end_peak(struct export_heaptrack *heaptrack,
                                      const struct export_heaptrack_site *sites, size_t last)
{
    bool is_last = last < heaptrack->exporting->profile->site_count;
    bool is_opening = heaptrack->opening.what == OPENING_PEAK;
    uint32_t info = heaptrack->infos;
    if (is_last)
        info = export_heaptrack_info_of(&sites[last].peak, sites[last].peak.count - 1);
    if ((is_last || !is_opening) && heaptrack->infos)
        fprintf(heaptrack->exporting->out, "- %x\n", info);
    if (is_opening)
        fputs("- 0\n", heaptrack->exporting->out);
}

static void export_heaptrack_write_peak(struct export_heaptrack *heaptrack,
                                        const struct export_heaptrack_site *sites, size_t last)
{
    const struct profile *profile = heaptrack->exporting->profile;
    uint64_t resident;
    for (size_t i = 0; i < profile->site_count; i++) {
        export_heaptrack_allocate_all(heaptrack, &sites[i].kept);
        if (i != last)
            export_heaptrack_allocate_all(heaptrack, &sites[i].peak);
    }
    if (last < profile->site_count)
        export_heaptrack_allocate_all(heaptrack, &sites[last].peak);
    if (figure_get(facts_resident_peak(profile), &resident))
        fprintf(heaptrack->exporting->out, "R %llx\n",
                (unsigned long long)((resident + PAGE_BYTES - 1) / PAGE_BYTES));
    export_heaptrack_end_peak(heaptrack, sites, last);
    for (size_t i = 0; i < profile->site_count; i++)
        export_heaptrack_free_blocks(heaptrack, &sites[i].peak, sites[i].peak.count - (i == last));
}

static void export_heaptrack_write_events(struct export_heaptrack *heaptrack,
                                          const struct export_heaptrack_site *sites, size_t last)
{
    const struct profile *profile = heaptrack->exporting->profile;
    size_t count = profile->site_count;
    uint64_t end_ns = export_number(profile, PROFILE_META_DURATION);
    export_heaptrack_write_time(heaptrack, 0);
    export_heaptrack_open(heaptrack);
    for (size_t i = 0; i < count; i++)
        export_heaptrack_come_and_go(heaptrack, &sites[i]);
    export_heaptrack_write_time(heaptrack, figure_or(heaptrack->exporting->peak_ns, end_ns));
    export_heaptrack_write_peak(heaptrack, sites, last);
    export_heaptrack_write_time(heaptrack, end_ns);
    for (size_t i = 0; i < count; i++)
        export_heaptrack_allocate_all(heaptrack, &sites[i].late);
    fprintf(heaptrack->exporting->out, "# strings: %zu\n# ips: %zu\n", heaptrack->strings.count,
            heaptrack->ips.count);
}

int export_heaptrack(struct exporting *exporting)
{
    const struct profile *profile = exporting->profile;
    struct export_heaptrack heaptrack = {.exporting = exporting};
    size_t last;
    int error = export_heaptrack_check(exporting);
    if (error)
        return error;
    struct export_heaptrack_site *sites = calloc(profile->site_count + 1, sizeof *sites);
    heaptrack.trace_of = calloc(profile->node_count + 1, sizeof *heaptrack.trace_of);
    if (!sites || !heaptrack.trace_of)
        memory_exhausted();
    export_heaptrack_write_head(&heaptrack);
    export_heaptrack_take_sites(&heaptrack, sites, &last);
    export_heaptrack_write_events(&heaptrack, sites, last);
    free(sites);
    free(heaptrack.trace_of);
    intern_release(&heaptrack.strings);
    intern_release(&heaptrack.ips);
    intern_release(&heaptrack.traces);
    return 0;
}
