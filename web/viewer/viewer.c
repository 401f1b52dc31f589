/* The readers of profiles inside a browser: what `tidemark viewer` writes has them as WebAssembly.
 * A page drops files into a directory in memory (src/data/wasi.ts), and asks for the same resources
 * as of `tidemark serve` (doc/API.md). One instance has one file, and one caller at a time.
 *
 *   file ─ viewer_list() ─▶ its profiles ─ viewer_open() ─▶ number ─ viewer_make() ─▶ a resource
 *
 * A function that fails returns -1 and leaves the sentence in viewer_text(). */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "profile/profile.h"
#include "query/query.h"
#include "server/resources.h"
#include "server/router.h"
#include "server/served_list.h"
#include "session/session_file.h"

#define EXPORT(name) __attribute__((export_name(#name)))

/* What a call has to say: a list, a resource, or the sentence of its failure. */
static struct strbuf text = STRBUF_INIT;

EXPORT(viewer_text) const char *viewer_text(void)
{
    return text.data;
}
EXPORT(viewer_text_bytes) size_t viewer_text_bytes(void)
{
    return text.length;
}
/* Room for a name that is handed over. */
EXPORT(viewer_room) void *viewer_room(size_t bytes)
{
    return malloc(bytes);
}
EXPORT(viewer_give_back) void viewer_give_back(void *room)
{
    free(room);
}

static int viewer_fail(const char *sentence)
{
    strbuf_release(&text);
    strbuf_add_string(&text, sentence);
    return -1;
}

/* ---- Profiles, their regions and levels ---------------------------------------------------- */

struct shown {
    char *path;
    size_t region;           /* 1 + its place; 0: the whole profile */
    enum memory_level level; /* MEMORY_HEAP: the profile as it is */
    struct profile *profile;
    struct resources resources;
};

/* Whole profiles stay. Of parts the last one asked for does. */
static struct shown *opened;
static size_t opened_count;
static struct shown part;

static void viewer_close(struct shown *shown)
{
    if (!shown->profile)
        return;
    resources_close(&shown->resources);
    profile_free(shown->profile);
    *shown = (struct shown){0};
}

static int viewer_read(struct shown *shown)
{
    struct profile *profile;
    int error = profile_read(&profile, shown->path);
    if (error)
        return error;
    if (shown->region)
        error = profile_cut_region_at(profile, shown->region - 1);
    if (!error && shown->level)
        error = profile_take_level(profile, shown->level);
    if (!error)
        error = resources_open(&shown->resources, profile, NULL);
    if (error) {
        profile_free(profile);
        return error;
    }
    shown->resources.has_regions = !shown->region && !shown->level && profile->region_count;
    shown->resources.levels = resources_levels_of(profile);
    shown->profile = profile;
    return 0;
}

/* Of what is opened already or is now; -1 with error_text(). */
static int viewer_number(const char *path)
{
    for (size_t i = 0; i < opened_count; i++)
        if (strcmp(opened[i].path, path) == 0)
            return (int)i;
    struct shown shown = {.path = strdup(path)};
    opened = realloc(opened, (opened_count + 1) * sizeof *opened);
    if (!shown.path || !opened)
        memory_exhausted();
    if (viewer_read(&shown)) {
        free(shown.path);
        return -1;
    }
    opened[opened_count] = shown;
    return (int)opened_count++;
}

/* The number of a profile that viewer_list() has named. */
EXPORT(viewer_open) int viewer_open(const char *path)
{
    int number = viewer_number(path);
    return number < 0 ? viewer_fail(error_text()) : number;
}

static const struct resources *viewer_part(const struct shown *whole, size_t region,
                                           enum memory_level level)
{
    if (!region && !level)
        return &whole->resources;
    if (part.profile && part.path == whole->path && part.region == region && part.level == level)
        return &part.resources;
    viewer_close(&part);
    part = (struct shown){.path = whole->path, .region = region, .level = level};
    return viewer_read(&part) ? NULL : &part.resources;
}

/* ---- Which profiles a file has ------------------------------------------------------------- */

static void viewer_list_one(struct json *json, const struct served_source *shown, size_t index)
{
    json_object(json, NULL);
    served_list_write(json, shown, index, true);
    json_end(json);
}

/* Of a session file, each process as FILE@PID. */
static int viewer_list_session(struct json *json, const char *path)
{
    struct session *session;
    struct strbuf of = STRBUF_INIT, name = STRBUF_INIT;
    int error = session_read(&session, path);
    for (size_t i = 0; !error && i < session->count; i++) {
        const struct session_row *row = &session->entries[i].row;
        of.length = name.length = 0;
        strbuf_addf(&of, "%s@%d", path, (int)row->pid);
        strbuf_addf(&name, "%s (%d)", row->program, (int)row->pid);
        viewer_list_one(json, &(struct served_source){.path = of.data, .name = name.data}, i);
    }
    if (!error)
        session_free(session);
    strbuf_release(&of);
    strbuf_release(&name);
    return error;
}

/* A profile is read at once: what it is of stands in it. */
static int viewer_list_file(struct json *json, const char *path)
{
    int number = viewer_number(path);
    if (number < 0)
        return number;
    bool is_job = opened[number].profile->rank_count;
    struct served_source shown = {.path = path, .kind = is_job ? SHOWN_JOB : SHOWN_PROFILE};
    viewer_list_one(json, &shown, 0);
    return 0;
}

/* {"profiles": […]} of the file at `path`, whose `path` members are for viewer_open(). */
EXPORT(viewer_list) int viewer_list(const char *path)
{
    char *written = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&written, &bytes);
    if (!stream)
        return viewer_fail("out of memory");
    struct json json = json_begin(stream, false);
    json_object(&json, NULL);
    json_array(&json, "profiles");
    int error =
        session_is_file(path) ? viewer_list_session(&json, path) : viewer_list_file(&json, path);
    json_end(&json);
    json_end(&json);
    json_finish(&json);
    fclose(stream);
    strbuf_release(&text);
    strbuf_add(&text, written, bytes);
    free(written);
    return error ? viewer_fail(error_text()) : 0;
}

/* ---- Resources ----------------------------------------------------------------------------- */

/* A resource of profile `number`, by the name that `serve` has for it. 0: JSON, 1: columns; -1: it
 * cannot be made; -2: there is no such resource. */
EXPORT(viewer_make) int viewer_make(unsigned number, const char *name)
{
    struct strbuf made = STRBUF_INIT, why = STRBUF_INIT;
    enum memory_level level = MEMORY_HEAP;
    enum resource_type type = RESOURCE_JSON;
    uint64_t region = 0;
    if (number >= opened_count)
        return viewer_fail("no such profile");
    if (route_region(name, &region, &name))
        region++;
    else
        route_level(name, &level, &name);
    const struct resources *resources = viewer_part(&opened[number], (size_t)region, level);
    if (!resources)
        return viewer_fail(error_text());
    int error = resources_make(resources, name, &made, &type, &why);
    strbuf_release(&text);
    text = error ? why : made;
    strbuf_release(error ? &made : &why);
    if (error && !text.length)
        viewer_fail("this profile does not have that");
    return !error ? (int)type : error == -ENOENT || error == -ENODATA ? -2 : -1;
}

/* ---- SQL ----------------------------------------------------------------------------------- */

/* Of the profile that was asked last. */
static struct query *asked;
static char *asked_path;

static int viewer_ask(const char *path)
{
    if (asked && strcmp(asked_path, path) == 0)
        return 0;
    query_close(asked);
    free(asked_path);
    asked = NULL;
    asked_path = strdup(path);
    return query_open(&asked, path);
}

/* What can be asked, as text, of the profile of that name. */
EXPORT(viewer_tables) int viewer_tables(const char *path)
{
    char *written = NULL;
    size_t bytes = 0;
    enum { COLUMNS = 100 };
    int error = viewer_ask(path);
    FILE *stream = error ? NULL : open_memstream(&written, &bytes);
    if (stream) {
        error = query_list(asked, stream, COLUMNS);
        fclose(stream);
    }
    strbuf_release(&text);
    strbuf_add(&text, written, bytes);
    free(written);
    return error ? viewer_fail(error_text()) : 0;
}

/* The rows of a statement about it, as query_sheet() writes them: `question` is "PATH\nSQL". */
EXPORT(viewer_query) int viewer_query(char *question)
{
    char *written = NULL, *sql = strchr(question, '\n');
    size_t bytes = 0;
    *sql++ = '\0';
    int error = viewer_ask(question);
    FILE *stream = error ? NULL : open_memstream(&written, &bytes);
    if (stream) {
        error = query_sheet(asked, sql, &query_page_bounds, stream);
        fclose(stream);
    }
    strbuf_release(&text);
    strbuf_add(&text, written, bytes);
    free(written);
    return error ? viewer_fail(error_text()) : 0;
}
