/* The set of source files that a profile embeds (sources.h). Paths are an array with an index by
 * open addressing. At the end files are read within the limits, the user's own before those of the
 * system. */
#include "profile_build/sources.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/regular.h"

struct code_source {
    char *path;
    struct timespec built; /* when the oldest module of it was written; 0: no module is there */
};

struct sources {
    struct code_source *files;
    size_t count, room;
    struct map by_path; /* of files */
    /* Locations come module by module: most are of the last one. */
    char *module;
    struct timespec module_built;
};

struct sources *sources_new(void)
{
    return calloc(1, sizeof(struct sources));
}

void sources_free(struct sources *sources)
{
    if (!sources)
        return;
    for (size_t i = 0; i < sources->count; i++)
        free(sources->files[i].path);
    free(sources->files);
    map_release(&sources->by_path);
    free(sources->module);
    free(sources);
}

/* ---- The set ------------------------------------------------------------------------------- */

/* NULL: it is not there. */
static struct code_source *sources_find(const struct sources *sources, uint64_t hash,
                                        const char *path)
{
    uint32_t number;
    for (struct map_probe probe = map_probe(&sources->by_path, hash); map_next(&probe, &number);)
        if (!strcmp(sources->files[number].path, path))
            return &sources->files[number];
    return NULL;
}

static int sources_add_new(struct sources *sources, uint64_t hash, const char *file)
{
    char *path = strdup(file);
    if (!path ||
        !array_make_room(&sources->files, &sources->room, sources->count, sizeof *sources->files) ||
        !map_try_add(&sources->by_path, hash, (uint32_t)sources->count)) {
        free(path);
        return -ENOMEM;
    }
    sources->files[sources->count++] = (struct code_source){path, sources->module_built};
    return 0;
}

static bool sources_is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

static int sources_look_at_module(struct sources *sources, const char *module)
{
    struct stat status;
    if (sources->module && !strcmp(sources->module, module))
        return 0;
    char *copy = strdup(module);
    if (!copy)
        return -ENOMEM;
    free(sources->module);
    sources->module = copy;
    sources->module_built = stat(module, &status) < 0 ? (struct timespec){0, 0} : status.st_mtim;
    return 0;
}

int sources_add(struct sources *sources, const char *file, const char *module)
{
    if (*file != '/')
        return 0;
    int error = sources_look_at_module(sources, module);
    if (error)
        return error;
    uint64_t hash = hash_bytes(file, strlen(file));
    struct code_source *source = sources_find(sources, hash, file);
    if (!source)
        return sources_add_new(sources, hash, file);
    bool known = sources->module_built.tv_sec != 0;
    if (known && (!source->built.tv_sec || sources_is_before(sources->module_built, source->built)))
        source->built = sources->module_built;
    return 0;
}

size_t sources_count(const struct sources *sources)
{
    return sources->count;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* Appends a line to a malloc'd string. */
static int sources_add_changed(char **list, const char *path)
{
    size_t before = *list ? strlen(*list) : 0, length = strlen(path);
    char *longer = realloc(*list, before + length + 2);
    if (!longer)
        return -ENOMEM;
    if (before)
        longer[before++] = '\n';
    memcpy(longer + before, path, length + 1);
    *list = longer;
    return 0;
}

struct sources_reading {
    size_t file_limit, left;
    int (*put)(void *context, const char *path, const char *text, size_t bytes);
    void *context;
    struct sources_result *result;
};

static int sources_keep(struct sources_reading *reading, const struct code_source *source,
                        const struct regular_file *file)
{
    int error = reading->put(reading->context, source->path, file->bytes, file->count);
    if (error)
        return error;
    reading->left -= file->count;
    reading->result->kept++;
    bool changed = source->built.tv_sec && sources_is_before(source->built, file->status.st_mtim);
    return changed ? sources_add_changed(&reading->result->changed, source->path) : 0;
}

static int sources_read_one(struct sources_reading *reading, const struct code_source *source)
{
    struct regular_file file;
    size_t limit = reading->left < reading->file_limit ? reading->left : reading->file_limit;
    int error = regular_file_read(&file, source->path, limit);
    if (error == -ENOMEM)
        return error;
    bool refused = error || regular_file_is_binary(file.bytes, file.count);
    if (error == -EFBIG)
        reading->result->too_large++;
    else if (refused)
        reading->result->missing++;
    error = refused ? 0 : sources_keep(reading, source, &file);
    free(file.bytes);
    return error;
}

static bool sources_is_of_system(const char *path)
{
    return !strncmp(path, "/usr/", 5) && strncmp(path, "/usr/local/", 11) &&
           strncmp(path, "/usr/src/", 9);
}

int sources_read(const struct sources *sources, size_t file_limit, size_t total_limit,
                 int (*put)(void *context, const char *path, const char *text, size_t bytes),
                 void *context, struct sources_result *result)
{
    struct sources_reading reading = {file_limit, total_limit, put, context, result};
    int error = 0;
    *result = (struct sources_result){0};
    for (int system = 0; system < 2; system++)
        for (size_t i = 0; i < sources->count && !error; i++)
            if (sources_is_of_system(sources->files[i].path) == (system != 0))
                error = sources_read_one(&reading, &sources->files[i]);
    return error;
}
