/* Writes what `tidemark ps` found as tables and bars for a terminal. Columns are laid out for
 * the width that there is. Below the table stands what the sum does not contain, such as
 * processes that could not be read. */
#include "system_memory/show.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/human.h"
#include "base/text.h"
#include "base/text_table.h"
#include "model/figure_human.h"

enum { BYTES_WIDTH = 10, LEAST_NAME = 12 };

/* ---- Lines --------------------------------------------------------------------------------- */

void show_bytes(struct text_row *row, struct figure bytes)
{
    text_row_add(row, figure_human_bytes(bytes).text);
}

/* As much of `safe` from its start as takes at most `columns`. */
static size_t processes_text_bytes_within(const char *safe, size_t columns)
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

static void processes_text_add_fitted(struct strbuf *line, const struct style *style,
                                      const char *safe, size_t columns, bool keep_end)
{
    const char *mark = style_sign(style, "…", "~");
    size_t width = text_width(safe);
    if (width <= columns) {
        strbuf_add_string(line, safe);
    } else if (keep_end) { /* "…/libc.so.6" */
        strbuf_add_string(line, mark);
        strbuf_add_string(line, safe + processes_text_bytes_within(safe, width - columns + 1));
    } else {
        strbuf_add(line, safe, processes_text_bytes_within(safe, columns - 1));
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
    processes_text_add_fitted(line, style, safe.data,
                              style->columns > taken + LEAST_NAME ? style->columns - taken
                                                                  : LEAST_NAME,
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

struct processes_columns {
    const struct show_options *options;
    const struct system_memory_machine *machine;
    struct show_columns chosen;
    bool is_path; /* the name at the end of a line is a path, or what a path is shown as */
    size_t bar;
    struct figure largest; /* the longest bar */
    struct text_column table[SHOW_COLUMNS_MOST + 2];
    size_t count;
};

static bool processes_text_is_by_piece(enum system_memory_by by)
{
    return by == SYSTEM_MEMORY_BY_MAPPING || by == SYSTEM_MEMORY_BY_LIBRARY;
}

static const char *processes_text_last_title(enum system_memory_by by)
{
    static const char *const titles[] = {
        [SYSTEM_MEMORY_BY_PROCESS] = "COMMAND", [SYSTEM_MEMORY_BY_NAME] = "NAME",
        [SYSTEM_MEMORY_BY_USER] = "USER",       [SYSTEM_MEMORY_BY_CGROUP] = "CONTROL GROUP",
        [SYSTEM_MEMORY_BY_MAPPING] = "MAPPING", [SYSTEM_MEMORY_BY_LIBRARY] = "LIBRARY OR KIND",
    };
    return titles[by];
}

/* A line begins with the process and its user, or with how many there are. */
static struct show_columns processes_text_usual(const struct system_memory_table *table,
                                                const struct show_options *options, bool swap)
{
    bool bars = options->bars;
    struct strbuf list = STRBUF_INIT;
    strbuf_add_string(&list, table->by == SYSTEM_MEMORY_BY_PROCESS   ? "pid,user"
                             : processes_text_is_by_piece(table->by) ? "procs,maps"
                                                                     : "procs");
    strbuf_add_string(&list, table->is_tree ? ",tree,pss" : ",pss");
    if (options->watched)
        strbuf_add_string(&list, ",growth");
    if (!bars)
        strbuf_add_string(&list, swap ? ",uss,rss,swap" : ",uss,rss");
    struct show_columns columns = show_columns_of(list.data);
    strbuf_release(&list);
    return columns;
}

static void processes_text_lay_out(struct processes_columns *columns, enum system_memory_by by)
{
    for (size_t i = 0; i < columns->chosen.count; i++)
        columns->table[columns->count++] = show_column_layout(&columns->chosen, i);
    if (columns->bar)
        columns->table[columns->count++] =
            (struct text_column){"USS, SHARED", columns->bar, TEXT_LEFT, 2};
    columns->table[columns->count++] =
        (struct text_column){processes_text_last_title(by), 0, TEXT_LEFT, 2};
}

static struct processes_columns processes_text_columns_of(const struct system_memory *system,
                                                          const struct system_memory_table *table,
                                                          const struct show_options *options)
{
    bool swap = !figure_zero(system->machine.swap_total) || !figure_zero(table->total.bytes.swap);
    struct processes_columns columns = {
        .options = options,
        .machine = &system->machine,
        .chosen =
            options->columns.count ? options->columns : processes_text_usual(table, options, swap),
        .is_path = table->by != SYSTEM_MEMORY_BY_PROCESS,
        .bar = options->bars ? options->style.columns / 3 : 0,
    };
    for (size_t i = 0; i < table->count; i++)
        columns.largest = figure_max(columns.largest, table->rows[i].bytes.pss);
    size_t name = text_width(processes_text_last_title(table->by));
    size_t fixed =
        (columns.bar ? columns.bar + 2 : 0) + 2 + (name > LEAST_NAME ? name : LEAST_NAME);
    if (!options->columns.count) /* what is asked for is shown, however narrow the terminal */
        while (show_columns_width(&columns.chosen) + fixed > options->style.columns &&
               show_columns_drop(&columns.chosen))
            ;
    processes_text_lay_out(&columns, table->by);
    return columns;
}

/* Filled: what only these processes have; shaded: their part of what they share. The bar fills its
 * cell, because the colours in it have no width. */
static void processes_text_add_bar(struct text_row *row, const struct processes_columns *columns,
                                   const struct smaps_bytes *bytes)
{
    const struct style *style = &columns->options->style;
    bool known =
        figure_known(bytes->pss) && figure_known(bytes->uss) && figure_positive(columns->largest);
    double scale = (double)columns->bar / figure_double(columns->largest);
    size_t all = known ? (size_t)(figure_double(bytes->pss) * scale + 0.5) : 0;
    size_t own = known ? (size_t)(figure_double(bytes->uss) * scale + 0.5) : 0;
    all = all < columns->bar ? all : columns->bar;
    own = own < all ? own : all;
    struct strbuf bar = STRBUF_INIT;
    style_begin(&bar, style, TONE_AREA);
    strbuf_add_repeated(&bar, style_sign(style, "█", "#"), own);
    strbuf_add_repeated(&bar, style_sign(style, "░", "-"), all - own);
    style_end(&bar, style);
    strbuf_add_repeated(&bar, " ", columns->bar - all);
    text_row_add(row, bar.data);
    strbuf_release(&bar);
}

/* "│  ├─ " before the name of a process in a tree; deep ones stand less far to the right. */
static void processes_text_add_branches(struct strbuf *name, const struct style *style,
                                        const struct system_memory_row *row)
{
    enum { MOST_BRANCHES = 12 };
    size_t from = row->depth > MOST_BRANCHES ? row->depth - MOST_BRANCHES : 1;
    for (size_t depth = from; depth <= row->depth; depth++) {
        bool open = depth < 64 && row->open_levels >> depth & 1;
        if (depth == row->depth)
            strbuf_add_string(name,
                              open ? style_sign(style, "├ ", "+ ") : style_sign(style, "└ ", "` "));
        else
            strbuf_add_string(name, open ? style_sign(style, "│ ", "| ") : "  ");
    }
}

/* `line` has no colours, so that its width says how much room is left for the name. */
static void processes_text_print_row(FILE *out, const struct processes_columns *columns,
                                     const struct system_memory_row *row, bool bar,
                                     const char *name)
{
    const struct style *plain = &columns->options->style;
    struct strbuf line = STRBUF_INIT, shown = STRBUF_INIT;
    struct text_row cells = text_row_begin(&line, columns->table);
    for (size_t i = 0; i < columns->chosen.count; i++)
        show_column_add(&cells, &columns->chosen, i, row, columns->machine);
    strbuf_add_string(&shown, line.data);
    if (columns->bar) {
        struct text_row behind = {&shown, cells.next};
        text_row_add(&cells, "");
        if (bar)
            processes_text_add_bar(&behind, columns, &row->bytes);
        else
            text_row_add(&behind, "");
    }
    size_t before = line.length;
    show_name(&line, plain, name, columns->is_path);
    strbuf_add_string(&shown, line.data + before);
    show_line(out, &shown);
    strbuf_release(&shown);
    strbuf_release(&line);
}

/* Of a command the program says more than the folder it lies in: "/usr/bin/python3 x" is
 * "python3 x". Some write their arguments as one word, which is quoted. */
static const char *processes_text_row_name(const struct system_memory_row *row,
                                           enum system_memory_by by)
{
    const char *name = row->name + (*row->name == '\'' && row->name[1] == '/');
    if (by != SYSTEM_MEMORY_BY_PROCESS || *name != '/')
        return *row->name ? row->name : "(no name)";
    for (const char *at = name, *end = name + strcspn(name, " '"); at < end; at++)
        if (*at == '/' && at + 1 < end)
            name = at + 1;
    return name;
}

static void processes_text_print_others(FILE *out, const struct processes_columns *columns,
                                        const struct system_memory_table *table, size_t shown)
{
    struct system_memory_row others = {0};
    char name[64];
    for (size_t i = shown; i < table->count; i++) {
        smaps_add(&others.bytes, &table->rows[i].bytes);
        others.processes += table->rows[i].processes;
        others.mappings += table->rows[i].mappings;
        others.growth_bytes += table->rows[i].growth_bytes;
    }
    snprintf(name, sizeof name, "%s others (-n 0: all)", human_exact(table->count - shown).text);
    if (processes_text_is_by_piece(table->by)) /* a process is in many rows */
        others.processes = table->total.processes;
    processes_text_print_row(out, columns, &others, false, name);
}

static void processes_text_print_rows(FILE *out, const struct processes_columns *columns,
                                      const struct system_memory_table *table)
{
    size_t shown = show_rows(columns->options->top, table->count);
    char name[64];
    for (size_t i = 0; i < shown; i++) {
        struct strbuf row = STRBUF_INIT;
        if (table->is_tree)
            processes_text_add_branches(&row, &columns->options->style, &table->rows[i]);
        strbuf_add_string(&row, processes_text_row_name(&table->rows[i], table->by));
        processes_text_print_row(out, columns, &table->rows[i], true, row.data);
        strbuf_release(&row);
    }
    if (shown < table->count)
        processes_text_print_others(out, columns, table, shown);
    snprintf(name, sizeof name, "total of %s process%s", human_exact(table->total.processes).text,
             table->total.processes == 1 ? "" : "es");
    processes_text_print_row(out, columns, &table->total, false, name);
}

/* ---- The machine --------------------------------------------------------------------------- */

enum { LABEL_WIDTH = 46 };

static size_t processes_text_label_width(const struct style *style)
{
    size_t others = 2 + BYTES_WIDTH + 9 + 1;
    return style->columns >= LABEL_WIDTH + others ? LABEL_WIDTH
           : style->columns > others + LEAST_NAME ? style->columns - others
                                                  : LEAST_NAME;
}

static void processes_text_print_share(FILE *out, const struct style *style, const char *label,
                                       uint64_t bytes, uint64_t total)
{
    size_t width = processes_text_label_width(style);
    const struct text_column columns[] = {
        {NULL, width, TEXT_LEFT, 2}, {NULL, BYTES_WIDTH, TEXT_RIGHT, 0}, {NULL, 9, 0, 0}};
    struct strbuf line = STRBUF_INIT, cut = STRBUF_INIT;
    struct text_row row = text_row_begin(&line, columns);
    text_add_cut(&cut, label, width);
    text_row_add(&row, cut.data);
    strbuf_release(&cut);
    style_begin(&line, style, TONE_FIGURE);
    show_bytes(&row, figure_of(bytes));
    style_end(&line, style);
    text_row_add(&row, human_percent((double)bytes, (double)total).text);
    show_line(out, &line);
    strbuf_release(&line);
}

static void processes_text_print_rest(FILE *out, const struct style *style,
                                      const struct system_memory_balance *balance)
{
    if (balance->rest >= 0)
        processes_text_print_share(out, style, "not said: drivers, firmware",
                                   (uint64_t)balance->rest, balance->total);
    else
        fprintf(out, "  %-*.*s-%*s\n", (int)processes_text_label_width(style),
                (int)processes_text_label_width(style), "counted twice while it changed",
                BYTES_WIDTH - 1, human_bytes((uint64_t)-balance->rest).text);
}

/* Indented, and no line longer than there is room. */
static void processes_text_print_sentence(FILE *out, const struct style *style, const char *text)
{
    struct strbuf shown = STRBUF_INIT;
    strbuf_add_string(&shown, "  ");
    text_add_wrapped(&shown, text, 2, style->columns);
    show_line(out, &shown);
    strbuf_release(&shown);
}

static void processes_text_print_swap(FILE *out, const struct style *style,
                                      const struct system_memory_balance *balance)
{
    struct strbuf text = STRBUF_INIT;
    if (!figure_known(balance->swap_total))
        return;
    if (figure_zero(balance->swap_total)) {
        strbuf_add_string(&text, "There is no swap.");
    } else {
        strbuf_addf(&text, "Swap: %s of %s used",
                    figure_known(balance->swap_used) ? figure_human_bytes(balance->swap_used).text
                                                     : "?",
                    figure_human_bytes(balance->swap_total).text);
        if (figure_known(balance->swap_processes))
            strbuf_addf(&text, ", %s by these processes",
                        figure_human_bytes(balance->swap_processes).text);
        strbuf_add_char(&text, '.');
    }
    processes_text_print_sentence(out, style, text.data);
    strbuf_release(&text);
}

static void processes_text_print_balance(FILE *out, const struct system_memory *system,
                                         const struct style *style)
{
    struct system_memory_balance balance;
    struct strbuf title = STRBUF_INIT;
    if (!system_memory_balance(system, &balance))
        return;
    strbuf_add_char(&title, '\n');
    style_begin(&title, style, TONE_TITLE);
    strbuf_addf(&title, "The machine's %s", human_bytes(balance.total).text);
    style_end(&title, style);
    if (figure_known(balance.available))
        strbuf_addf(&title, "%s(%s available to programs)", style->columns < 60 ? "\n  " : " ",
                    figure_human_bytes(balance.available).text);
    show_line(out, &title);
    strbuf_release(&title);
    processes_text_print_share(out, style, "these processes (PSS)", balance.processes,
                               balance.total);
    processes_text_print_share(out, style, "anonymous memory of others",
                               balance.anonymous_elsewhere, balance.total);
    processes_text_print_share(out, style, "shared memory and tmpfs that these do not map",
                               balance.shared_memory, balance.total);
    processes_text_print_share(out, style, "page cache that these do not map", balance.page_cache,
                               balance.total);
    processes_text_print_share(out, style, "kernel: slab, stacks, page tables", balance.kernel,
                               balance.total);
    if (balance.huge_pool)
        processes_text_print_share(out, style, "pool of huge pages", balance.huge_pool,
                                   balance.total);
    processes_text_print_share(out, style, "free", balance.free, balance.total);
    processes_text_print_rest(out, style, &balance);
    if (balance.kernel_reclaimable) {
        struct strbuf text = STRBUF_INIT;
        strbuf_addf(&text, "Of the kernel's %s are caches, given up when memory is short.",
                    human_bytes(balance.kernel_reclaimable).text);
        processes_text_print_sentence(out, style, text.data);
        strbuf_release(&text);
    }
    processes_text_print_swap(out, style, &balance);
}

/* ---- What was not read --------------------------------------------------------------------- */

static int processes_text_compare_uids(const void *left, const void *right)
{
    uid_t a = *(const uid_t *)left, b = *(const uid_t *)right;
    return (a > b) - (a < b);
}

static void processes_text_add_owners(struct strbuf *text, uid_t *uids, size_t count)
{
    qsort(uids, count, sizeof *uids, processes_text_compare_uids);
    for (size_t i = 0, end; i < count; i = end) {
        char name[64];
        for (end = i + 1; end < count && uids[end] == uids[i];)
            end++;
        system_memory_user_name(uids[i], name, sizeof name);
        strbuf_addf(text, "%s%s of ", i ? ", " : "", human_exact(end - i).text);
        text_add_safe_string(text, name);
    }
}

static void processes_text_print_forbidden(FILE *out, const struct system_memory *system,
                                           const struct style *style)
{
    size_t count = 0;
    uint64_t rss = 0;
    uid_t *uids = calloc(system->count, sizeof *uids);
    struct strbuf text = STRBUF_INIT, shown = STRBUF_INIT;
    for (size_t i = 0; i < system->count; i++) {
        const struct system_memory_process *process = &system->processes[i];
        if (process->state != SYSTEM_MEMORY_FORBIDDEN)
            continue;
        if (uids)
            uids[count] = process->status.uid;
        count++;
        rss += figure_or(process->bytes.rss, 0);
    }
    strbuf_addf(&text,
                "%s process%s could not be read for lack of permission: ", human_exact(count).text,
                count == 1 ? "" : "es");
    processes_text_add_owners(&text, uids, uids ? count : 0);
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

static void processes_text_print_memoryless(FILE *out, const struct system_memory *system,
                                            const struct style *style)
{
    static const struct {
        enum system_memory_state state;
        const char *one, *many;
    } said[] = {
        {SYSTEM_MEMORY_KERNEL, "thread of the kernel", "threads of the kernel"},
        {SYSTEM_MEMORY_ZOMBIE, "zombie", "zombies"},
        {SYSTEM_MEMORY_GONE, "process that ended meanwhile", "processes that ended meanwhile"},
    };
    struct strbuf text = STRBUF_INIT, shown = STRBUF_INIT;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        size_t count = system->state_counts[said[i].state];
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

static void processes_text_print_notes(FILE *out, const struct system_memory *system,
                                       const struct style *style)
{
    bool any = system->state_counts[SYSTEM_MEMORY_FORBIDDEN] ||
               system->state_counts[SYSTEM_MEMORY_KERNEL] ||
               system->state_counts[SYSTEM_MEMORY_ZOMBIE] ||
               system->state_counts[SYSTEM_MEMORY_GONE];
    if (any || system->hides_processes)
        fputc('\n', out);
    if (system->state_counts[SYSTEM_MEMORY_FORBIDDEN])
        processes_text_print_forbidden(out, system, style);
    if (system->hides_processes)
        fputs("/proc hides other users' processes (hidepid): there may be more.\n", out);
    processes_text_print_memoryless(out, system, style);
}

void show_system_memory_text(FILE *out, const struct system_memory *system,
                             const struct system_memory_table *table,
                             const struct show_options *options)
{
    struct processes_columns columns = processes_text_columns_of(system, table, options);
    struct strbuf titles = STRBUF_INIT, line = STRBUF_INIT;
    text_row_add_headings(&titles, columns.table, columns.count);
    style_add(&line, &options->style, TONE_TITLE, titles.data);
    show_line(out, &line);
    strbuf_release(&titles);
    strbuf_release(&line);
    processes_text_print_rows(out, &columns, table);
    if (options->watched)
        return;
    processes_text_print_balance(out, system, &options->style);
    processes_text_print_notes(out, system, &options->style);
}
