/* Tables and bars for people. */
#include "census/show.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/human.h"
#include "base/text.h"

enum { BYTES_WIDTH = 10, LEAST_NAME = 12 };

/* ---- Lines --------------------------------------------------------------------------------- */

void show_bytes(struct strbuf *line, size_t width, uint64_t bytes)
{
    text_add_right(line, bytes == PROCESS_UNKNOWN ? "-" : human_bytes(bytes).text, width);
}

/* As much of `safe` from its start as takes at most `columns`. */
static size_t bytes_within(const char *safe, size_t columns)
{
    size_t at = 0, taken = 0, left = strlen(safe), length;
    uint32_t code_point;
    for (; (length = text_decode(safe + at, left, &code_point)); at += length, left -= length) {
        taken += text_char_width(code_point);
        if (taken > columns)
            break;
    }
    return at;
}

static void add_fitted(struct strbuf *line, const struct style *style, const char *safe,
                       size_t columns, bool keep_end)
{
    const char *mark = style_sign(style, "…", "~");
    size_t width = text_width(safe);
    if (width <= columns) {
        strbuf_add_string(line, safe);
    } else if (keep_end) { /* "…/libc.so.6" */
        strbuf_add_string(line, mark);
        strbuf_add_string(line, safe + bytes_within(safe, width - columns + 1));
    } else {
        strbuf_add(line, safe, bytes_within(safe, columns - 1));
        strbuf_add_string(line, mark);
    }
}

void show_name(struct strbuf *line, const struct style *style, const char *name, bool is_path)
{
    struct strbuf safe = STRBUF_INIT;
    size_t taken = text_width(line->data) + 2;
    if (!*name)
        return;
    text_add_safe_string(&safe, name);
    strbuf_add_string(line, "  ");
    add_fitted(line, style, safe.data,
               style->columns > taken + LEAST_NAME ? style->columns - taken : LEAST_NAME,
               is_path && *name == '/');
    strbuf_release(&safe);
}

void show_line(FILE *out, struct strbuf *line)
{
    fprintf(out, "%s\n", line->data);
    strbuf_reset(line);
}

size_t show_rows(uint64_t top, size_t count)
{
    return top && top + 1 < count ? (size_t)top : count;
}

/* ---- The table ----------------------------------------------------------------------------- */

struct columns {
    const struct show_options *options;
    bool swap, mappings, pids;
    size_t bar;
    uint64_t largest; /* the longest bar */
};

static bool is_by_piece(enum census_by by)
{
    return by == CENSUS_BY_MAPPING || by == CENSUS_BY_LIBRARY;
}

static struct columns columns_of(const struct census *census, const struct census_table *table,
                                 const struct show_options *options)
{
    struct columns columns = {
        .options = options,
        .swap = census->machine.swap_total != 0 || table->total.bytes.swap != 0,
        .mappings = is_by_piece(table->by),
        .pids = table->by == CENSUS_BY_PROCESS,
        .bar = options->bars ? options->style.columns / 3 : 0,
    };
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].bytes.pss != PROCESS_UNKNOWN &&
            table->rows[i].bytes.pss > columns.largest)
            columns.largest = table->rows[i].bytes.pss;
    return columns;
}

static const char *last_title(enum census_by by)
{
    static const char *const titles[] = {
        [CENSUS_BY_PROCESS] = "COMMAND", [CENSUS_BY_NAME] = "NAME",
        [CENSUS_BY_USER] = "USER",       [CENSUS_BY_CGROUP] = "CONTROL GROUP",
        [CENSUS_BY_MAPPING] = "MAPPING", [CENSUS_BY_LIBRARY] = "LIBRARY OR KIND",
    };
    return titles[by];
}

static void add_titles(struct strbuf *line, const struct columns *columns, enum census_by by)
{
    if (columns->pids)
        strbuf_add_string(line, "    PID USER    ");
    else
        strbuf_add_string(line, columns->mappings ? " PROCS   MAPS" : " PROCS");
    text_add_right(line, "PSS", BYTES_WIDTH);
    if (columns->bar) {
        strbuf_add_string(line, "  ");
        strbuf_add_string(line, "USS, SHARED");
        strbuf_add_repeated(line, " ", columns->bar - strlen("USS, SHARED"));
    } else {
        text_add_right(line, "USS", BYTES_WIDTH);
        text_add_right(line, "RSS", BYTES_WIDTH);
        if (columns->swap)
            text_add_right(line, "SWAP", BYTES_WIDTH);
    }
    strbuf_addf(line, "  %s", last_title(by));
}

/* Filled: what only these processes have; shaded: their part of what they share. */
static void add_bar(struct strbuf *line, const struct columns *columns,
                    const struct smaps_bytes *bytes)
{
    const struct style *style = &columns->options->style;
    bool known = bytes->pss != PROCESS_UNKNOWN && bytes->uss != PROCESS_UNKNOWN;
    double scale = columns->largest ? (double)columns->bar / (double)columns->largest : 0;
    size_t all = known ? (size_t)((double)bytes->pss * scale + 0.5) : 0;
    size_t own = known ? (size_t)((double)bytes->uss * scale + 0.5) : 0;
    all = all < columns->bar ? all : columns->bar;
    own = own < all ? own : all;
    strbuf_add_string(line, "  ");
    style_begin(line, style, TONE_AREA);
    strbuf_add_repeated(line, style_sign(style, "█", "#"), own);
    strbuf_add_repeated(line, style_sign(style, "░", "-"), all - own);
    style_end(line, style);
    strbuf_add_repeated(line, " ", columns->bar - all);
}

static void add_figures(struct strbuf *line, const struct columns *columns,
                        const struct smaps_bytes *bytes)
{
    show_bytes(line, BYTES_WIDTH, bytes->uss);
    show_bytes(line, BYTES_WIDTH, bytes->rss);
    if (columns->swap)
        show_bytes(line, BYTES_WIDTH, bytes->swap);
}

static void add_user(struct strbuf *line, uid_t uid)
{
    enum { USER_WIDTH = 8 };
    char name[64];
    struct strbuf safe = STRBUF_INIT, cut = STRBUF_INIT;
    census_user_name(uid, name, sizeof name);
    text_add_safe_string(&safe, name);
    text_add_cut(&cut, safe.data, USER_WIDTH);
    strbuf_add_string(line, cut.data);
    strbuf_add_repeated(line, " ", USER_WIDTH - text_width(cut.data));
    strbuf_release(&safe);
    strbuf_release(&cut);
}

/* What a line begins with: the process and its user, or how many there are. */
static void add_identity(struct strbuf *line, const struct columns *columns,
                         const struct census_row *row)
{
    if (columns->pids && row->process) {
        strbuf_addf(line, "%7d ", (int)row->process->status.pid);
        add_user(line, row->process->status.uid);
        return;
    }
    if (columns->pids)
        strbuf_addf(line, "%16s", "");
    else
        text_add_right(line, human_count(row->processes).text, 6);
    if (columns->mappings)
        text_add_right(line, human_count(row->mappings).text, 7);
}

static void print_row(FILE *out, const struct columns *columns, const struct census_row *row,
                      bool bar, const char *name)
{
    const struct style *plain = &columns->options->style;
    struct strbuf line = STRBUF_INIT, shown = STRBUF_INIT;
    add_identity(&line, columns, row);
    show_bytes(&line, BYTES_WIDTH, row->bytes.pss);
    if (!columns->bar)
        add_figures(&line, columns, &row->bytes);
    strbuf_add_string(&shown, line.data);
    if (columns->bar && bar)
        add_bar(&shown, columns, &row->bytes);
    if (columns->bar) {
        strbuf_add_repeated(&line, " ", columns->bar + 2);
        if (!bar)
            strbuf_add_repeated(&shown, " ", columns->bar + 2);
    }
    size_t before = line.length;
    show_name(&line, plain, name, !columns->pids);
    strbuf_add_string(&shown, line.data + before);
    show_line(out, &shown);
    strbuf_release(&shown);
    strbuf_release(&line);
}

/* Of a command the program says more than the folder it lies in: "/usr/bin/python3 x" is
 * "python3 x". Some write their arguments as one word, which is quoted. */
static const char *row_name(const struct census_row *row, enum census_by by)
{
    const char *name = row->name + (*row->name == '\'' && row->name[1] == '/');
    if (by != CENSUS_BY_PROCESS || *name != '/')
        return *row->name ? row->name : "(no name)";
    for (const char *at = name, *end = name + strcspn(name, " '"); at < end; at++)
        if (*at == '/' && at + 1 < end)
            name = at + 1;
    return name;
}

static void print_others(FILE *out, const struct columns *columns, const struct census_table *table,
                         size_t shown)
{
    struct census_row others = {0};
    char name[64];
    for (size_t i = shown; i < table->count; i++) {
        smaps_add(&others.bytes, &table->rows[i].bytes);
        others.processes += table->rows[i].processes;
        others.mappings += table->rows[i].mappings;
    }
    snprintf(name, sizeof name, "%s others (-n 0: all)", human_exact(table->count - shown).text);
    if (is_by_piece(table->by)) /* a process is in many rows */
        others.processes = table->total.processes;
    print_row(out, columns, &others, false, name);
}

static void print_rows(FILE *out, const struct columns *columns, const struct census_table *table)
{
    size_t shown = show_rows(columns->options->top, table->count);
    char name[64];
    for (size_t i = 0; i < shown; i++)
        print_row(out, columns, &table->rows[i], true, row_name(&table->rows[i], table->by));
    if (shown < table->count)
        print_others(out, columns, table, shown);
    snprintf(name, sizeof name, "total of %s process%s", human_exact(table->total.processes).text,
             table->total.processes == 1 ? "" : "es");
    print_row(out, columns, &table->total, false, name);
}

/* ---- The machine --------------------------------------------------------------------------- */

enum { LABEL_WIDTH = 46 };

static void print_share(FILE *out, const struct style *style, const char *label, uint64_t bytes,
                        uint64_t total)
{
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "  %s", label);
    strbuf_add_repeated(&line, " ", LABEL_WIDTH - text_width(label));
    style_begin(&line, style, TONE_FIGURE);
    show_bytes(&line, BYTES_WIDTH, bytes);
    style_end(&line, style);
    text_add_right(&line, human_percent((double)bytes, (double)total).text, 9);
    show_line(out, &line);
    strbuf_release(&line);
}

static void print_rest(FILE *out, const struct style *style, const struct census_balance *balance)
{
    if (balance->rest >= 0)
        print_share(out, style, "not said: drivers, firmware", (uint64_t)balance->rest,
                    balance->total);
    else
        fprintf(out, "  %-*s-%*s\n", LABEL_WIDTH, "counted twice while it changed", BYTES_WIDTH - 1,
                human_bytes((uint64_t)-balance->rest).text);
}

static void print_swap(FILE *out, const struct census_balance *balance)
{
    if (balance->swap_total == PROCESS_UNKNOWN)
        return;
    if (!balance->swap_total) {
        fputs("  There is no swap.\n", out);
        return;
    }
    fprintf(out, "  Swap: %s of %s used",
            balance->swap_used == PROCESS_UNKNOWN ? "?" : human_bytes(balance->swap_used).text,
            human_bytes(balance->swap_total).text);
    if (balance->swap_processes != PROCESS_UNKNOWN)
        fprintf(out, ", %s by these processes", human_bytes(balance->swap_processes).text);
    fputs(".\n", out);
}

static void print_balance(FILE *out, const struct census *census, const struct style *style)
{
    struct census_balance balance;
    struct strbuf title = STRBUF_INIT;
    if (!census_balance(census, &balance))
        return;
    strbuf_add_char(&title, '\n');
    style_begin(&title, style, TONE_TITLE);
    strbuf_addf(&title, "The machine's %s", human_bytes(balance.total).text);
    style_end(&title, style);
    if (balance.available != PROCESS_UNKNOWN)
        strbuf_addf(&title, " (%s available to programs)", human_bytes(balance.available).text);
    show_line(out, &title);
    strbuf_release(&title);
    print_share(out, style, "these processes (PSS)", balance.processes, balance.total);
    print_share(out, style, "anonymous memory of others", balance.anonymous_elsewhere,
                balance.total);
    print_share(out, style, "shared memory and tmpfs that these do not map", balance.shared_memory,
                balance.total);
    print_share(out, style, "page cache that these do not map", balance.page_cache, balance.total);
    print_share(out, style, "kernel: slab, stacks, page tables", balance.kernel, balance.total);
    if (balance.huge_pool)
        print_share(out, style, "pool of huge pages", balance.huge_pool, balance.total);
    print_share(out, style, "free", balance.free, balance.total);
    print_rest(out, style, &balance);
    if (balance.kernel_reclaimable)
        fprintf(out, "  Of the kernel's %s are caches, given up when memory is short.\n",
                human_bytes(balance.kernel_reclaimable).text);
    print_swap(out, &balance);
}

/* ---- What was not read --------------------------------------------------------------------- */

static int compare_uids(const void *left, const void *right)
{
    uid_t a = *(const uid_t *)left, b = *(const uid_t *)right;
    return (a > b) - (a < b);
}

static void add_owners(struct strbuf *text, uid_t *uids, size_t count)
{
    qsort(uids, count, sizeof *uids, compare_uids);
    for (size_t i = 0, end; i < count; i = end) {
        char name[64];
        for (end = i + 1; end < count && uids[end] == uids[i];)
            end++;
        census_user_name(uids[i], name, sizeof name);
        strbuf_addf(text, "%s%s of ", i ? ", " : "", human_exact(end - i).text);
        text_add_safe_string(text, name);
    }
}

static void print_forbidden(FILE *out, const struct census *census, const struct style *style)
{
    size_t count = 0;
    uint64_t rss = 0;
    uid_t *uids = calloc(census->count, sizeof *uids);
    struct strbuf text = STRBUF_INIT, shown = STRBUF_INIT;
    for (size_t i = 0; i < census->count; i++) {
        const struct census_process *process = &census->processes[i];
        if (process->state != CENSUS_FORBIDDEN)
            continue;
        if (uids)
            uids[count] = process->status.uid;
        count++;
        rss += process->bytes.rss == PROCESS_UNKNOWN ? 0 : process->bytes.rss;
    }
    strbuf_addf(&text,
                "%s process%s could not be read for lack of permission: ", human_exact(count).text,
                count == 1 ? "" : "es");
    add_owners(&text, uids, uids ? count : 0);
    strbuf_addf(&text, ". RSS is all that is said of %s: %s.%s", count == 1 ? "it" : "them",
                human_bytes(rss).text, geteuid() == 0 ? "" : " Root can read more.");
    style_begin(&shown, style, TONE_WARNING);
    text_add_wrapped(&shown, text.data, 0, style->columns);
    style_end(&shown, style);
    show_line(out, &shown);
    strbuf_release(&text);
    strbuf_release(&shown);
    free(uids);
}

static void print_memoryless(FILE *out, const struct census *census, const struct style *style)
{
    static const struct {
        enum census_state state;
        const char *one, *many;
    } said[] = {
        {CENSUS_KERNEL, "thread of the kernel", "threads of the kernel"},
        {CENSUS_ZOMBIE, "zombie", "zombies"},
        {CENSUS_GONE, "process that ended meanwhile", "processes that ended meanwhile"},
    };
    struct strbuf text = STRBUF_INIT, shown = STRBUF_INIT;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        size_t count = census->state_counts[said[i].state];
        if (count)
            strbuf_addf(&text, "%s%s %s",
                        text.length ? ", " : "Without memory: ", human_exact(count).text,
                        count == 1 ? said[i].one : said[i].many);
    }
    if (text.length) {
        strbuf_add_char(&text, '.');
        style_begin(&shown, style, TONE_DIM);
        text_add_wrapped(&shown, text.data, 0, style->columns);
        style_end(&shown, style);
        show_line(out, &shown);
    }
    strbuf_release(&text);
    strbuf_release(&shown);
}

static void print_notes(FILE *out, const struct census *census, const struct style *style)
{
    bool any = census->state_counts[CENSUS_FORBIDDEN] || census->state_counts[CENSUS_KERNEL] ||
               census->state_counts[CENSUS_ZOMBIE] || census->state_counts[CENSUS_GONE];
    if (any || census->hides_processes)
        fputc('\n', out);
    if (census->state_counts[CENSUS_FORBIDDEN])
        print_forbidden(out, census, style);
    if (census->hides_processes)
        fputs("/proc hides other users' processes (hidepid): there may be more.\n", out);
    print_memoryless(out, census, style);
}

void show_census_text(FILE *out, const struct census *census, const struct census_table *table,
                      const struct show_options *options)
{
    struct columns columns = columns_of(census, table, options);
    struct strbuf titles = STRBUF_INIT, line = STRBUF_INIT;
    add_titles(&titles, &columns, table->by);
    style_add(&line, &options->style, TONE_TITLE, titles.data);
    show_line(out, &line);
    strbuf_release(&titles);
    strbuf_release(&line);
    print_rows(out, &columns, table);
    print_balance(out, census, &options->style);
    print_notes(out, census, &options->style);
}
