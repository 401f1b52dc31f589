/* Writes a process's mappings as a table for people. Kinds of mappings are lines of their own,
 * and under each stand its files or every mapping. Columns without figures are left out. */
#include "system_memory/show.h"

#include <inttypes.h>
#include <string.h>

#include "base/human.h"
#include "base/text.h"
#include "base/text_table.h"

enum { BYTES_WIDTH = 9, MOST_COLUMNS = 7 };

struct maps_shape {
    const struct maps *maps;
    const struct show_options *options;
    bool swap;
    struct text_column columns[MOST_COLUMNS];
    size_t count;
};

static void process_maps_text_add_column(struct maps_shape *shape, const char *heading,
                                         size_t width)
{
    shape->columns[shape->count++] = (struct text_column){heading, width, TEXT_RIGHT, 0};
}

static void process_maps_text_lay_out(struct maps_shape *shape)
{
    process_maps_text_add_column(shape, "MAPS", 6);
    process_maps_text_add_column(shape, "PSS", BYTES_WIDTH + 1);
    process_maps_text_add_column(shape, "USS", BYTES_WIDTH);
    process_maps_text_add_column(shape, "RSS", BYTES_WIDTH);
    if (shape->swap)
        process_maps_text_add_column(shape, "SWAP", BYTES_WIDTH);
    process_maps_text_add_column(shape, "SIZE", BYTES_WIDTH);
    const char *last = shape->maps->lists_all ? "KIND, ADDRESS" : "KIND, FILE";
    shape->columns[shape->count++] = (struct text_column){last, 0, TEXT_LEFT, 2};
}

static void process_maps_text_add_figures(struct strbuf *line, const struct maps_shape *shape,
                                          const struct smaps_bytes *bytes, uint64_t mappings)
{
    struct text_row row = text_row_begin(line, shape->columns);
    text_row_add(&row, mappings ? human_count(mappings).text : "");
    show_bytes(&row, bytes->pss);
    show_bytes(&row, bytes->uss);
    show_bytes(&row, bytes->rss);
    if (shape->swap)
        show_bytes(&row, bytes->swap);
    show_bytes(&row, bytes->size);
}

static void process_maps_text_print_titles(FILE *out, const struct maps_shape *shape)
{
    struct strbuf titles = STRBUF_INIT, line = STRBUF_INIT;
    text_row_add_headings(&titles, shape->columns, shape->count);
    style_add(&line, &shape->options->style, TONE_TITLE, titles.data);
    show_line(out, &line);
    strbuf_release(&titles);
    strbuf_release(&line);
}

/* A kind's line stands out, those under it are indented. */
static void process_maps_text_print_row(FILE *out, const struct maps_shape *shape,
                                        const struct smaps_bytes *bytes, uint64_t mappings,
                                        const char *before_name, const char *name, bool is_kind)
{
    struct strbuf line = STRBUF_INIT, shown = STRBUF_INIT;
    process_maps_text_add_figures(&line, shape, bytes, mappings);
    strbuf_add_string(&line, before_name);
    size_t before = line.length;
    show_name(&line, &shape->options->style, name, !is_kind);
    strbuf_add(&shown, line.data, before);
    if (is_kind)
        style_add(&shown, &shape->options->style, TONE_FIGURE, line.data + before);
    else
        strbuf_add_string(&shown, line.data + before);
    show_line(out, &shown);
    strbuf_release(&line);
    strbuf_release(&shown);
}

static void process_maps_text_print_file(FILE *out, const struct maps_shape *shape,
                                         const struct maps_group *file)
{
    struct strbuf name = STRBUF_INIT;
    strbuf_add_string(&name, *file->name ? file->name : "(no name)");
    if (file->deleted)
        strbuf_add_string(&name, " (deleted)");
    process_maps_text_print_row(out, shape, &file->bytes, file->mappings, "  ", name.data, false);
    strbuf_release(&name);
}

static void process_maps_text_print_mapping(FILE *out, const struct maps_shape *shape,
                                            const struct smaps_mapping *mapping, bool with_kind)
{
    struct strbuf start = STRBUF_INIT, name = STRBUF_INIT;
    strbuf_addf(&start, "  %s%012" PRIx64 " %c%c%c%c", with_kind ? "" : "  ", mapping->start,
                mapping->readable ? 'r' : '-', mapping->writable ? 'w' : '-',
                mapping->executable ? 'x' : '-', mapping->shared ? 's' : 'p');
    if (with_kind)
        strbuf_addf(&start, "  %-13s", smaps_kind_name(mapping->kind));
    strbuf_addf(&name, "%s%s", mapping->path, mapping->deleted ? " (deleted)" : "");
    process_maps_text_print_row(out, shape, &mapping->bytes, 0, start.data, name.data, false);
    strbuf_release(&start);
    strbuf_release(&name);
}

static void process_maps_text_print_others(FILE *out, const struct maps_shape *shape,
                                           const struct maps_group *files, size_t count)
{
    struct maps_group others = {0};
    char name[64];
    for (size_t i = 0; i < count; i++) {
        others.mappings += files[i].mappings;
        smaps_add(&others.bytes, &files[i].bytes);
    }
    snprintf(name, sizeof name, "%s others (-n 0: all)", human_exact(count).text);
    process_maps_text_print_row(out, shape, &others.bytes, others.mappings, "  ", name, false);
}

static void process_maps_text_print_files(FILE *out, const struct maps_shape *shape,
                                          const struct maps_group *kind)
{
    const struct maps_group *files = shape->maps->files + kind->first;
    size_t shown = show_rows(shape->options->top, kind->count);
    if (kind->count == 1 && (!*files->name || *files->name == '['))
        return; /* the kind has said it all */
    for (size_t i = 0; i < shown; i++)
        process_maps_text_print_file(out, shape, &files[i]);
    if (shown < kind->count)
        process_maps_text_print_others(out, shape, files + shown, kind->count - shown);
}

static void process_maps_text_print_mappings(FILE *out, const struct maps_shape *shape,
                                             const struct maps_group *kind)
{
    const struct maps *maps = shape->maps;
    for (size_t i = kind->first; i < kind->first + kind->count; i++)
        for (size_t j = 0; j < maps->files[i].count; j++)
            process_maps_text_print_mapping(
                out, shape, &maps->smaps.mappings[maps->order[maps->files[i].first + j]], false);
}

static void process_maps_text_print_kinds(FILE *out, const struct maps_shape *shape)
{
    const struct maps *maps = shape->maps;
    for (size_t i = 0; i < maps->kind_count; i++) {
        const struct maps_group *kind = &maps->kinds[i];
        struct strbuf name = STRBUF_INIT;
        strbuf_addf(&name, "%s%s", kind->name, kind->guessed ? " (some guessed)" : "");
        process_maps_text_print_row(out, shape, &kind->bytes, kind->mappings, "", name.data, true);
        if (maps->lists_all)
            process_maps_text_print_mappings(out, shape, kind);
        else
            process_maps_text_print_files(out, shape, kind);
        strbuf_release(&name);
    }
}

static void process_maps_text_print_process(FILE *out, const struct maps *maps,
                                            const struct style *style)
{
    struct strbuf line = STRBUF_INIT, title = STRBUF_INIT;
    strbuf_addf(&line, "Process %d", (int)maps->status.pid);
    show_name(&line, style, maps->command ? maps->command : maps->status.name, false);
    style_add(&title, style, TONE_TITLE, line.data);
    show_line(out, &title);
    strbuf_release(&line);
    strbuf_release(&title);
}

void show_maps_text(FILE *out, const struct maps *maps, const struct show_options *options)
{
    struct maps_shape shape = {
        .maps = maps, .options = options, .swap = !figure_zero(maps->total.bytes.swap)};
    process_maps_text_lay_out(&shape);
    process_maps_text_print_process(out, maps, &options->style);
    process_maps_text_print_titles(out, &shape);
    if (maps->lists_all && maps->sorted_by == MAPS_ADDRESS)
        for (size_t i = 0; i < maps->smaps.count; i++)
            process_maps_text_print_mapping(out, &shape, &maps->smaps.mappings[i], true);
    else
        process_maps_text_print_kinds(out, &shape);
    process_maps_text_print_row(out, &shape, &maps->total.bytes, maps->total.mappings, "", "total",
                                true);
}
