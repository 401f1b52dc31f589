/* Reads lists of columns and fills their cells (show_columns.h). A column is a row of one table:
 * its name, its heading, and the figure that it shows. */
#include "system_memory/show_columns.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/text.h"
#include "model/figure_human.h"
#include "system_memory/show.h"

enum { USER_WIDTH = 8, BYTES_WIDTH = 10, SHARE_WIDTH = 8 };

enum column_kind {
    COLUMN_PID,
    COLUMN_PARENT,
    COLUMN_USER,
    COLUMN_PROCESSES,
    COLUMN_MAPPINGS,
    COLUMN_BYTES,
    COLUMN_SHARE,
    COLUMN_TREE,
    COLUMN_GROWTH
};

#define BYTES(name, heading, field)                                                                \
    {                                                                                              \
        name, heading, COLUMN_BYTES, offsetof(struct smaps_bytes, field)                           \
    }
#define SHARE(name, heading, field)                                                                \
    {                                                                                              \
        name, heading, COLUMN_SHARE, offsetof(struct smaps_bytes, field)                           \
    }

/* What is dropped first where a line has no room stands last. */
static const struct show_column {
    const char *name, *heading;
    enum column_kind kind;
    size_t offset; /* in struct smaps_bytes */
} all[] = {
    BYTES("pss", "PSS", pss),
    {"pid", "PID", COLUMN_PID, 0},
    {"procs", "PROCS", COLUMN_PROCESSES, 0},
    {"tree", "WITH ALL", COLUMN_TREE, 0},
    {"growth", "GROWTH", COLUMN_GROWTH, 0},
    BYTES("uss", "USS", uss),
    BYTES("swap", "SWAP", swap),
    {"maps", "MAPS", COLUMN_MAPPINGS, 0},
    {"user", "USER", COLUMN_USER, 0},
    BYTES("rss", "RSS", rss),
    SHARE("pss%", "PSS %", pss),
    SHARE("uss%", "USS %", uss),
    SHARE("rss%", "RSS %", rss),
    SHARE("swap%", "SWAP %", swap),
    BYTES("anon", "ANON", anonymous),
    BYTES("file", "FILE", pss_file),
    BYTES("shmem", "SHMEM", pss_shared_memory),
    BYTES("shared", "SHARED", shared),
    BYTES("swappss", "SWAP PSS", swap_pss),
    BYTES("huge", "HUGE", huge),
    BYTES("hugetlb", "HUGETLB", hugetlb),
    BYTES("locked", "LOCKED", locked),
    BYTES("size", "SIZE", size),
    {"ppid", "PPID", COLUMN_PARENT, 0},
};
enum { COLUMNS = sizeof all / sizeof *all };
_Static_assert((int)COLUMNS <= (int)SHOW_COLUMNS_MOST, "each may be asked for");

static const struct show_column *show_column_at(const struct show_columns *columns, size_t index)
{
    return &all[columns->at[index]];
}

/* ---- Lists --------------------------------------------------------------------------------- */

static size_t show_columns_find(const char *name, size_t length)
{
    size_t at = 0;
    while (at < COLUMNS && (strlen(all[at].name) != length || strncmp(all[at].name, name, length)))
        at++;
    return at;
}

static int show_columns_refuse(struct strbuf *why, const char *name, size_t length)
{
    struct strbuf raw = STRBUF_INIT, safe = STRBUF_INIT;
    strbuf_add(&raw, name, length);
    text_add_safe_string(&safe, raw.data);
    strbuf_addf(why, "there is no column '%s', or it is there twice: ", safe.data);
    for (size_t i = 0; i < COLUMNS; i++)
        strbuf_addf(why, "%s%s", i ? "," : "", all[i].name);
    strbuf_release(&safe);
    strbuf_release(&raw);
    return -EINVAL;
}

/* The name at the end of a line is always there. Lists as for ps name it as their last column. */
static bool show_columns_is_last(const struct show_columns *columns, const char *rest)
{
    return columns->count && (!strcmp(rest, "command") || !strcmp(rest, "comm") ||
                              !strcmp(rest, "args") || !strcmp(rest, "name"));
}

int show_columns_parse(struct show_columns *columns, const char *list, struct strbuf *why)
{
    *columns = (struct show_columns){0};
    for (const char *name = list;; name++) {
        if (show_columns_is_last(columns, name))
            return 0;
        size_t length = strcspn(name, ","), at = show_columns_find(name, length);
        for (size_t i = 0; i < columns->count; i++)
            at = columns->at[i] == at ? COLUMNS : at;
        if (at == COLUMNS)
            return show_columns_refuse(why, name, length);
        columns->at[columns->count++] = (unsigned char)at;
        name += length;
        if (!*name)
            return 0;
    }
}

struct show_columns show_columns_of(const char *list)
{
    struct show_columns columns;
    struct strbuf why = STRBUF_INIT;
    if (show_columns_parse(&columns, list, &why))
        columns = (struct show_columns){0};
    strbuf_release(&why);
    return columns;
}

bool show_columns_drop(struct show_columns *columns)
{
    size_t least = 0;
    if (columns->count < 2)
        return false;
    for (size_t i = 1; i < columns->count; i++)
        least = columns->at[i] > columns->at[least] ? i : least;
    columns->count--;
    memmove(columns->at + least, columns->at + least + 1, columns->count - least);
    return true;
}

/* ---- Cells --------------------------------------------------------------------------------- */

struct text_column show_column_layout(const struct show_columns *columns, size_t index)
{
    const struct show_column *column = show_column_at(columns, index);
    static const struct text_column layouts[] = {
        [COLUMN_PID] = {NULL, 7, TEXT_RIGHT, 0},
        [COLUMN_PARENT] = {NULL, 8, TEXT_RIGHT, 0},
        [COLUMN_USER] = {NULL, USER_WIDTH, TEXT_LEFT, 1},
        [COLUMN_PROCESSES] = {NULL, 6, TEXT_RIGHT, 0},
        [COLUMN_MAPPINGS] = {NULL, 7, TEXT_RIGHT, 0},
        [COLUMN_BYTES] = {NULL, BYTES_WIDTH, TEXT_RIGHT, 0},
        [COLUMN_SHARE] = {NULL, SHARE_WIDTH, TEXT_RIGHT, 0},
        [COLUMN_TREE] = {NULL, BYTES_WIDTH, TEXT_RIGHT, 0},
        [COLUMN_GROWTH] = {NULL, BYTES_WIDTH + 1, TEXT_RIGHT, 0},
    };
    struct text_column layout = layouts[column->kind];
    layout.heading = column->heading;
    return layout;
}

size_t show_columns_width(const struct show_columns *columns)
{
    size_t width = 0;
    for (size_t i = 0; i < columns->count; i++) {
        struct text_column layout = show_column_layout(columns, i);
        width += layout.width + layout.gap;
    }
    return width;
}

static void show_column_add_pid(struct text_row *cells, pid_t pid)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)pid);
    text_row_add(cells, text);
}

static void show_column_add_user(struct text_row *cells, uid_t uid)
{
    char name[64];
    struct strbuf safe = STRBUF_INIT, cut = STRBUF_INIT;
    system_memory_user_name(uid, name, sizeof name);
    text_add_safe_string(&safe, name);
    text_add_cut(&cut, safe.data, USER_WIDTH);
    text_row_add(cells, cut.data);
    strbuf_release(&safe);
    strbuf_release(&cut);
}

static struct figure show_column_figure(const struct show_column *column,
                                        const struct smaps_bytes *bytes)
{
    return *(const struct figure *)((const char *)bytes + column->offset);
}

/* Of the machine's memory, and of its swap. */
static void show_column_add_share(struct text_row *cells, const struct show_column *column,
                                  const struct system_memory_row *row,
                                  const struct system_memory_machine *machine)
{
    bool swap = column->offset == offsetof(struct smaps_bytes, swap);
    double share = figure_double(show_column_figure(column, &row->bytes)),
           whole = figure_double(swap ? machine->swap_total : machine->total);
    text_row_add(cells, share >= 0 && whole > 0 ? human_percent(share, whole).text : "-");
}

void show_growth(struct text_row *cells, double bytes)
{
    struct strbuf text = STRBUF_INIT;
    if (isnan(bytes))
        strbuf_add_char(&text, '-');
    else if (bytes == 0)
        strbuf_add_char(&text, '0');
    else
        strbuf_addf(&text, "%c%s", bytes < 0 ? '-' : '+', human_bytes((uint64_t)fabs(bytes)).text);
    text_row_add(cells, text.data);
    strbuf_release(&text);
}

static void show_column_add_of_process(struct text_row *cells, enum column_kind kind,
                                       const struct system_memory_process *process)
{
    if (!process)
        text_row_add(cells, "");
    else if (kind == COLUMN_USER)
        show_column_add_user(cells, process->status.uid);
    else
        show_column_add_pid(cells,
                            kind == COLUMN_PID ? process->status.pid : process->status.parent);
}

void show_column_add(struct text_row *cells, const struct show_columns *columns, size_t index,
                     const struct system_memory_row *row,
                     const struct system_memory_machine *machine)
{
    const struct show_column *column = show_column_at(columns, index);
    switch (column->kind) {
    case COLUMN_PROCESSES:
        text_row_add(cells, human_count(row->processes).text);
        break;
    case COLUMN_MAPPINGS:
        text_row_add(cells, human_count(row->mappings).text);
        break;
    case COLUMN_BYTES:
        show_bytes(cells, show_column_figure(column, &row->bytes));
        break;
    case COLUMN_TREE:
        show_bytes(cells, row->with_all);
        break;
    case COLUMN_GROWTH:
        show_growth(cells, row->growth_bytes);
        break;
    case COLUMN_SHARE:
        show_column_add_share(cells, column, row, machine);
        break;
    default:
        show_column_add_of_process(cells, column->kind, row->process);
    }
}
