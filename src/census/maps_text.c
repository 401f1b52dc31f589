/* A process's mappings for people: kinds, and under each its files or every mapping. */
#include "census/show.h"

#include <inttypes.h>
#include <string.h>

#include "base/human.h"
#include "base/text.h"

enum { BYTES_WIDTH = 9 };

struct shape {
    const struct maps *maps;
    const struct show_options *options;
    bool swap;
};

static void add_figures(struct strbuf *line, const struct shape *shape,
                        const struct smaps_bytes *bytes, uint64_t mappings)
{
    text_add_right(line, mappings ? human_count(mappings).text : "", 6);
    show_bytes(line, BYTES_WIDTH + 1, bytes->pss);
    show_bytes(line, BYTES_WIDTH, bytes->uss);
    show_bytes(line, BYTES_WIDTH, bytes->rss);
    if (shape->swap)
        show_bytes(line, BYTES_WIDTH, bytes->swap);
    show_bytes(line, BYTES_WIDTH, bytes->size);
}

static void print_titles(FILE *out, const struct shape *shape)
{
    struct strbuf titles = STRBUF_INIT, line = STRBUF_INIT;
    strbuf_addf(&titles, "%6s%*s%*s%*s", "MAPS", BYTES_WIDTH + 1, "PSS", BYTES_WIDTH, "USS",
                BYTES_WIDTH, "RSS");
    if (shape->swap)
        text_add_right(&titles, "SWAP", BYTES_WIDTH);
    text_add_right(&titles, "SIZE", BYTES_WIDTH);
    strbuf_add_string(&titles, shape->maps->lists_all ? "  KIND, ADDRESS" : "  KIND, FILE");
    style_add(&line, &shape->options->style, TONE_TITLE, titles.data);
    show_line(out, &line);
    strbuf_release(&titles);
    strbuf_release(&line);
}

/* A kind's line stands out, those under it are indented. */
static void print_row(FILE *out, const struct shape *shape, const struct smaps_bytes *bytes,
                      uint64_t mappings, const char *before_name, const char *name, bool is_kind)
{
    struct strbuf line = STRBUF_INIT, shown = STRBUF_INIT;
    add_figures(&line, shape, bytes, mappings);
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

static void print_file(FILE *out, const struct shape *shape, const struct maps_group *file)
{
    struct strbuf name = STRBUF_INIT;
    strbuf_add_string(&name, *file->name ? file->name : "(no name)");
    if (file->deleted)
        strbuf_add_string(&name, " (deleted)");
    print_row(out, shape, &file->bytes, file->mappings, "  ", name.data, false);
    strbuf_release(&name);
}

static void print_mapping(FILE *out, const struct shape *shape, const struct smaps_mapping *mapping,
                          bool with_kind)
{
    struct strbuf start = STRBUF_INIT, name = STRBUF_INIT;
    strbuf_addf(&start, "  %s%012" PRIx64 " %c%c%c%c", with_kind ? "" : "  ", mapping->start,
                mapping->readable ? 'r' : '-', mapping->writable ? 'w' : '-',
                mapping->executable ? 'x' : '-', mapping->shared ? 's' : 'p');
    if (with_kind)
        strbuf_addf(&start, "  %-13s", smaps_kind_name(mapping->kind));
    strbuf_addf(&name, "%s%s", mapping->path, mapping->deleted ? " (deleted)" : "");
    print_row(out, shape, &mapping->bytes, 0, start.data, name.data, false);
    strbuf_release(&start);
    strbuf_release(&name);
}

static void print_others(FILE *out, const struct shape *shape, const struct maps_group *files,
                         size_t count)
{
    struct maps_group others = {0};
    char name[64];
    for (size_t i = 0; i < count; i++) {
        others.mappings += files[i].mappings;
        smaps_add(&others.bytes, &files[i].bytes);
    }
    snprintf(name, sizeof name, "%s others (-n 0: all)", human_exact(count).text);
    print_row(out, shape, &others.bytes, others.mappings, "  ", name, false);
}

static void print_files(FILE *out, const struct shape *shape, const struct maps_group *kind)
{
    const struct maps_group *files = shape->maps->files + kind->first;
    size_t shown = show_rows(shape->options->top, kind->count);
    if (kind->count == 1 && (!*files->name || *files->name == '['))
        return; /* the kind has said it all */
    for (size_t i = 0; i < shown; i++)
        print_file(out, shape, &files[i]);
    if (shown < kind->count)
        print_others(out, shape, files + shown, kind->count - shown);
}

static void print_mappings(FILE *out, const struct shape *shape, const struct maps_group *kind)
{
    const struct maps *maps = shape->maps;
    for (size_t i = kind->first; i < kind->first + kind->count; i++)
        for (size_t j = 0; j < maps->files[i].count; j++)
            print_mapping(out, shape, &maps->smaps.mappings[maps->order[maps->files[i].first + j]],
                          false);
}

static void print_kinds(FILE *out, const struct shape *shape)
{
    const struct maps *maps = shape->maps;
    for (size_t i = 0; i < maps->kind_count; i++) {
        const struct maps_group *kind = &maps->kinds[i];
        struct strbuf name = STRBUF_INIT;
        strbuf_addf(&name, "%s%s", kind->name, kind->guessed ? " (some guessed)" : "");
        print_row(out, shape, &kind->bytes, kind->mappings, "", name.data, true);
        if (maps->lists_all)
            print_mappings(out, shape, kind);
        else
            print_files(out, shape, kind);
        strbuf_release(&name);
    }
}

static void print_process(FILE *out, const struct maps *maps, const struct style *style)
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
    const struct shape shape = {maps, options, maps->total.bytes.swap != 0};
    print_process(out, maps, &options->style);
    print_titles(out, &shape);
    if (maps->lists_all && maps->sorted_by == MAPS_ADDRESS)
        for (size_t i = 0; i < maps->smaps.count; i++)
            print_mapping(out, &shape, &maps->smaps.mappings[i], true);
    else
        print_kinds(out, &shape);
    print_row(out, &shape, &maps->total.bytes, maps->total.mappings, "", "total", true);
}
