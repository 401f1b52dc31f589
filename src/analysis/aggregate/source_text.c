/* Finds a source file's text and splits it into lines (source_text.h). The profile's copy is tried
 * first, then each --source-path, then the recorded path. An array of offsets gives each line's
 * beginning. */
#include "aggregate/source_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/regular.h"
#include "base/text.h"
#include "aggregate/facts.h"
#include "aggregate/source_lines.h"

enum { TAB_COLUMNS = 8 };

/* ---- Where it may be ----------------------------------------------------------------------- */

int source_paths_add(struct source_paths *paths, const char *pair)
{
    const char *equals = strchr(pair, '=');
    if (!equals || equals == pair)
        return -EINVAL;
    if (paths->count == SOURCE_PATHS_MAX)
        return -ENOSPC;
    size_t length = (size_t)(equals - pair);
    while (length > 1 && pair[length - 1] == '/')
        length--;
    paths->pairs[paths->count].from = pair;
    paths->pairs[paths->count].from_length = length;
    paths->pairs[paths->count++].to = equals + 1;
    return 0;
}

/* "/src" is above "/src/a.c", not above "/srcs/a.c". */
static bool source_is_below(const char *path, const char *from, size_t length)
{
    if (strncmp(path, from, length))
        return false;
    return !path[length] || path[length] == '/' || from[length - 1] == '/';
}

static void source_add_mapped(struct strbuf *out, const struct source_paths *paths, size_t index,
                              const char *path)
{
    const char *rest = path + paths->pairs[index].from_length, *to = paths->pairs[index].to;
    rest += strspn(rest, "/");
    strbuf_add_string(out, to);
    if (*rest && *to && to[strlen(to) - 1] != '/')
        strbuf_add_char(out, '/');
    strbuf_add_string(out, rest);
}

void source_paths_apply(const struct source_paths *paths, const char *path, struct strbuf *out)
{
    for (size_t i = paths ? paths->count : 0; i-- > 0;)
        if (source_is_below(path, paths->pairs[i].from, paths->pairs[i].from_length)) {
            source_add_mapped(out, paths, i, path);
            return;
        }
    strbuf_add_string(out, path);
}

/* A relative path begins at the directory of the program or of its compiler. Only the program's is
 * known. */
static void source_add_recorded(struct strbuf *out, const struct profile *profile, const char *path)
{
    const char *directory = profile_get(profile, PROFILE_META_DIRECTORY);
    if (*path != '/' && directory && *directory)
        strbuf_addf(out, "%s/", directory);
    strbuf_add_string(out, path);
}

/* ---- Lines --------------------------------------------------------------------------------- */

static bool source_split(struct source_text *text, const char *bytes, size_t count)
{
    size_t lines = count && bytes[count - 1] != '\n';
    for (size_t i = 0; i < count; i++)
        lines += bytes[i] == '\n';
    text->starts = malloc((lines + 1) * sizeof *text->starts);
    if (!text->starts)
        return false;
    text->bytes = bytes;
    text->starts[0] = 0;
    for (size_t i = 0; i < count; i++)
        if (bytes[i] == '\n' || i + 1 == count)
            text->starts[++text->line_count] = i + 1;
    return true;
}

bool source_text_line(const struct source_text *text, size_t number, const char **bytes,
                      size_t *length)
{
    if (!number || number > text->line_count)
        return false;
    *bytes = text->bytes + text->starts[number - 1];
    *length = text->starts[number] - text->starts[number - 1];
    while (*length && ((*bytes)[*length - 1] == '\n' || (*bytes)[*length - 1] == '\r'))
        --*length;
    return true;
}

static void source_add_expanded(struct strbuf *out, const char *bytes, size_t length)
{
    size_t column = 0;
    while (length) {
        const char *tab = memchr(bytes, '\t', length);
        size_t part = tab ? (size_t)(tab - bytes) : length, before = out->length;
        text_add_safe(out, bytes, part);
        column += text_width(out->data + before);
        if (tab) {
            size_t spaces = TAB_COLUMNS - column % TAB_COLUMNS;
            strbuf_add_repeated(out, " ", spaces);
            column += spaces;
        }
        bytes += part + (tab != NULL);
        length -= part + (tab != NULL);
    }
}

void source_text_add_line(struct strbuf *out, const char *bytes, size_t length, size_t columns,
                          const char *cut_sign)
{
    struct strbuf safe = STRBUF_INIT;
    /* A character takes at most four bytes a column, combining ones apart. Bytes beyond this are
     * cut off in any ordinary text. */
    size_t most = 16 * columns + 64;
    source_add_expanded(&safe, bytes, length < most ? length : most);
    bool cut = length > most || text_width(safe.data) > columns;
    size_t at = 0, room = cut && columns ? columns - 1 : columns;
    while (at < safe.length) {
        uint32_t code_point = 0;
        size_t count = text_decode(safe.data + at, safe.length - at, &code_point);
        size_t width = count ? text_char_width(code_point) : 1;
        if (width > room)
            break;
        room -= width;
        at += count ? count : 1;
    }
    strbuf_add(out, safe.data, at);
    if (cut && columns)
        strbuf_add_string(out, cut_sign);
    strbuf_release(&safe);
}

/* ---- Finding it ---------------------------------------------------------------------------- */

/* meta "changed_sources": paths, one a line. */
static bool source_is_listed(const char *list, const char *path)
{
    size_t length = strlen(path);
    while (list && *list) {
        size_t line = strcspn(list, "\n");
        if (line == length && !memcmp(list, path, length))
            return true;
        list += line + (list[line] == '\n');
    }
    return false;
}

static bool source_refuse_binary(struct source_text *text, const char *bytes, size_t count)
{
    if (!regular_file_is_binary(bytes, count))
        return false;
    strbuf_reset(&text->note);
    strbuf_add_string(&text->note, "it is not shown because it looks binary and not like source");
    return true;
}

static bool source_take_embedded(struct source_text *text, const struct profile *profile,
                                 const char *path)
{
    const struct profile_source *source = NULL;
    for (size_t i = 0; i < profile->source_count && !source; i++)
        if (!strcmp(profile->sources[i].path, path))
            source = &profile->sources[i];
    if (!source)
        return false;
    if (source_refuse_binary(text, source->text, source->bytes) ||
        !source_split(text, source->text, source->bytes))
        return true;
    text->origin = SOURCE_ORIGIN_EMBEDDED;
    text->changed = source_is_listed(profile_get(profile, PROFILE_META_CHANGED_SOURCES), path);
    strbuf_add_string(&text->note, "text as it was when the recording ended");
    if (text->changed)
        strbuf_add_string(&text->note, ", but changed after the program was built: figures may "
                                       "stand beside other lines than their own");
    return true;
}

static void source_say_disk(struct source_text *text, const struct profile *profile,
                            const char *from, const char *path, struct timespec modified)
{
    uint64_t start_ns = facts_number(profile, PROFILE_META_START);
    uint64_t modified_ns =
        modified.tv_sec < 0 ? 0
                            : (uint64_t)modified.tv_sec * 1000000000u + (uint64_t)modified.tv_nsec;
    text->origin = SOURCE_ORIGIN_DISK;
    text->changed = start_ns && modified_ns > start_ns;
    if (strcmp(from, path)) {
        strbuf_add_string(&text->note, "text from ");
        text_add_safe_string(&text->note, from);
    }
    if (!text->changed)
        return;
    strbuf_addf(&text->note,
                "%sthe file on disk is newer than the recording: figures may stand beside other "
                "lines than their own",
                text->note.length ? "; " : "");
}

/* True: the search is over, with a text or a reason not to have one. */
static bool source_take_disk(struct source_text *text, const struct profile *profile,
                             const char *from, const char *path)
{
    struct regular_file file;
    int error = regular_file_read(&file, from, SOURCE_TEXT_LIMIT);
    strbuf_reset(&text->note);
    if (error) {
        text_add_safe_string(&text->note, from);
        if (error == -ENOENT || error == -ENOTDIR)
            strbuf_add_string(&text->note,
                              " is not on this machine: say where its sources are with "
                              "--source-path OLD=NEW, or record with --embed-sources");
        else if (error == -EINVAL)
            strbuf_add_string(&text->note, " is no regular file");
        else
            strbuf_addf(&text->note, " cannot be read: %s", strerror(-error));
        return false;
    }
    text->own = file.bytes;
    if (!source_refuse_binary(text, file.bytes, file.count) &&
        source_split(text, file.bytes, file.count))
        source_say_disk(text, profile, from, path, file.status.st_mtim);
    return true;
}

/* May the recorded path be read here? A stranger's profile may name any file, but it does not have
 * the boot ID of this machine. */
static bool source_is_here(const struct profile *profile, const struct source_paths *paths)
{
    const char *host = profile_get(profile, PROFILE_META_HOST); /* of a job there is none */
    const char *boot = profile_get(profile, PROFILE_META_BOOT);
    if (!paths || !paths->only_here)
        return true;
    return boot && *boot && paths->boot && !strcmp(boot, paths->boot) &&
           (!host || (paths->host && !strcmp(host, paths->host)));
}

static void source_refuse_elsewhere(struct source_text *text, const char *path)
{
    text_add_safe_string(&text->note, path);
    strbuf_add_string(&text->note,
                      " is not read: the recording is of another machine, or of before this one "
                      "was started; say where its sources are with --source-path OLD=NEW, or "
                      "record with --embed-sources");
}

static bool source_leads_up(const char *path)
{
    for (size_t part; *path; path += part + (path[part] == '/')) {
        part = strcspn(path, "/");
        if (part == 2 && !strncmp(path, "..", 2))
            return true;
    }
    return false;
}

/* `path` as the pair of that number has it. False: it is not below the pair, or leaves by ".." the
 * folder that the user named, as a stranger's profile might. */
static bool source_map_as_is(struct strbuf *out, const struct source_paths *paths, size_t index,
                             const char *path)
{
    size_t length = paths->pairs[index].from_length;
    if (!source_is_below(path, paths->pairs[index].from, length) || source_leads_up(path + length))
        return false;
    strbuf_reset(out);
    source_add_mapped(out, paths, index, path);
    return true;
}

static bool source_map(struct strbuf *out, const struct source_paths *paths, size_t index,
                       const char *path)
{
    char *clean = source_lines_path_without_detours(path);
    bool mapped = source_map_as_is(out, paths, index, path) ||
                  (clean && source_map_as_is(out, paths, index, clean));
    free(clean);
    return mapped;
}

void source_text_open(struct source_text *text, const struct profile *profile, const char *path,
                      const struct source_paths *paths)
{
    *text = (struct source_text){.note = STRBUF_INIT, .bytes = ""};
    if (source_take_embedded(text, profile, path))
        return;
    struct strbuf recorded = STRBUF_INIT, mapped = STRBUF_INIT;
    bool done = false;
    source_add_recorded(&recorded, profile, path);
    for (size_t i = paths ? paths->count : 0; i-- > 0 && !done;) {
        if (source_map(&mapped, paths, i, path) || source_map(&mapped, paths, i, recorded.data))
            done = source_take_disk(text, profile, mapped.data, path);
    }
    if (!done && source_is_here(profile, paths))
        source_take_disk(text, profile, recorded.data, path);
    else if (!done && !text->note.length)
        source_refuse_elsewhere(text, recorded.data);
    strbuf_release(&recorded);
    strbuf_release(&mapped);
}

void source_text_close(struct source_text *text)
{
    strbuf_release(&text->note);
    free(text->starts);
    free(text->own);
    *text = (struct source_text){.note = STRBUF_INIT, .bytes = ""};
}
