/* One profile as the server shows it (served_profile.h). Each reading is a version with references.
 * A version's resources are made once, packed by gzip, and kept in a list that readers walk without
 * a lock. Two may be made at a time, in places of the version: what a page asks for does not wait
 * until the packer is done with another one. */
#include "server/served_profile.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/hash.h"
#include "base/now.h"
#include "gzip/gzip.h"

enum {
    LEAST_SECONDS = 1,      /* between two readings … */
    READING_PART = 5,       /* … and reading takes at most this part of the time */
    FAST_FROM = 256 << 10,  /* larger resources are packed at level 1: 100 MB/s instead of 30 */
    MAX_CACHED = 256 << 20, /* of a version, packed; with more, resources are made each time */
    PLACES = 2,             /* for resources of a version that are made at once */
};

/* A resource that was made. */
struct cached {
    struct cached *next;
    char *name;
    char *packed;
    size_t packed_bytes, bytes;
    enum resource_type type;
};

struct served_profile_version {
    unsigned references; /* under the served profile's lock */
    uint64_t generation, signature;
    struct served_profile *served;
    struct profile *profile;
    struct resources resources;
    pthread_mutex_t making;        /* for the next five */
    pthread_cond_t made;           /* a place is free again, or no request waits any more */
    const char *under_way[PLACES]; /* the resource that is made there; NULL: none */
    unsigned waiting;              /* requests that wait: the packer lets them by */
    bool dropping;                 /* nothing is begun: the packer frees the tables */
    size_t cached_bytes;
    struct cached *cached; /* atomic: written under `making`, read by all */
    const char *state;
    bool finished; /* nothing will be written to it any more */
    bool is_first; /* of a job whose ranks' profiles are being read: another one will follow */
};

struct served_profile {
    const struct served_source *shown;
    const struct source_paths *paths;
    pthread_mutex_t opening; /* held while it is read for the first time */
    pthread_mutex_t lock;
    struct served_profile_version *now; /* NULL: not read yet */
    uint64_t generations;
    bool reading;
    double read_at, read_seconds;
    char error[256];
    pthread_t packer;
    bool has_packer, closing;
};

static double served_profile_seconds_now(void)
{
    return (double)now_monotonic_ns() / 1e9;
}

/* ---- Versions ------------------------------------------------------------------------------ */

static void served_profile_free_version(struct served_profile_version *version)
{
    for (struct cached *at = version->cached, *next; at; at = next) {
        next = at->next;
        free(at->packed);
        free(at->name);
        free(at);
    }
    resources_close(&version->resources);
    profile_free(version->profile);
    pthread_cond_destroy(&version->made);
    pthread_mutex_destroy(&version->making);
    free(version);
}

static void served_profile_release_version(struct served_profile_version *version)
{
    struct served_profile *served = version->served;
    pthread_mutex_lock(&served->lock);
    bool last = !--version->references;
    pthread_mutex_unlock(&served->lock);
    if (last)
        served_profile_free_version(version);
}

static struct served_profile_version *served_profile_hold_version(struct served_profile *served)
{
    pthread_mutex_lock(&served->lock);
    struct served_profile_version *version = served->now;
    version->references++;
    pthread_mutex_unlock(&served->lock);
    return version;
}

static int served_profile_read(struct profile **out, const struct served_source *shown)
{
    int error = profile_read(out, shown->path);
    if (error)
        return error;
    if (shown->region)
        error = profile_cut_region_at(*out, shown->region - 1);
    if (!error && shown->level != MEMORY_HEAP)
        error = profile_take_level(*out, shown->level);
    if (error)
        profile_free(*out);
    return error;
}

static int served_profile_read_version(struct served_profile *served, uint64_t signature,
                                       struct served_profile_version **out)
{
    struct profile *profile;
    int error = served_profile_read(&profile, served->shown);
    if (error)
        return error;
    struct served_profile_version *version = calloc(1, sizeof *version);
    error = version ? resources_open(&version->resources, profile, served->paths) : -ENOMEM;
    if (error) {
        free(version);
        profile_free(profile);
        return error;
    }
    version->resources.trace = served->shown->trace;
    version->resources.born = served->shown->born;
    version->resources.born_count = served->shown->born_count;
    version->resources.has_regions = !served->shown->region && !served->shown->level;
    version->resources.levels = resources_levels_of(profile);
    pthread_mutex_init(&version->making, NULL);
    pthread_cond_init(&version->made, NULL);
    version->references = 1;
    version->signature = signature;
    version->served = served;
    version->profile = profile;
    version->is_first = served->shown->reading && profile_get(profile, PROFILE_META_TO_READ);
    version->resources.is_first = version->is_first;
    version->resources.has_levels = profile_get(profile, PROFILE_META_RANKS_ONLY);
    version->finished = !profile->being_written && !version->is_first;
    version->state = version->is_first        ? "reading"
                     : profile->being_written ? "recording"
                     : profile->complete      ? "complete"
                                              : "cut short";
    *out = version;
    return 0;
}

/* ---- Resources ----------------------------------------------------------------------------- */

/* Entries are only added in front, so readers need no lock: a resource that exists does not wait
 * for one that is being made. */
static struct cached *served_profile_find_cached(const struct served_profile_version *version,
                                                 const char *name)
{
    struct cached *at = __atomic_load_n(&version->cached, __ATOMIC_ACQUIRE);
    while (at && strcmp(at->name, name))
        at = at->next;
    return at;
}

/* Moments of a trace are many, and source texts are read from their files. Both are seldom asked
 * for twice. */
static bool served_profile_is_kept(const struct served_profile_version *version, const char *name,
                                   size_t bytes)
{
    return strncmp(name, "source/", 7) && strncmp(name, "at/", 3) &&
           version->cached_bytes + bytes <= MAX_CACHED;
}

static int served_profile_make_packed(const struct resources *resources, const char *name,
                                      struct cached *made, struct strbuf *why)
{
    struct strbuf plain = STRBUF_INIT, packed = STRBUF_INIT;
    int error = resources_make(resources, name, &plain, &made->type, why);
    if (!error)
        error = gzip_pack(&packed, plain.data, plain.length, plain.length > FAST_FROM ? 1 : 6);
    made->bytes = plain.length;
    strbuf_release(&plain);
    if (error) {
        strbuf_release(&packed);
        return error;
    }
    made->packed_bytes = packed.length;
    made->packed = strbuf_detach(&packed);
    char *fitting = realloc(made->packed, made->packed_bytes + 1);
    made->packed = fitting ? fitting : made->packed;
    return 0;
}

static struct cached *served_profile_keep(struct served_profile_version *version, const char *name,
                                          const struct cached *made)
{
    struct cached *entry = malloc(sizeof *entry);
    char *copy = strdup(name);
    if (!entry || !copy) {
        free(entry);
        free(copy);
        return NULL;
    }
    *entry = *made;
    entry->name = copy;
    entry->next = version->cached;
    __atomic_store_n(&version->cached, entry, __ATOMIC_RELEASE);
    version->cached_bytes += made->packed_bytes;
    return entry;
}

static uint64_t served_profile_tag_of(const struct served_profile_version *version,
                                      const char *name)
{
    static const char tool[] = TIDEMARK_VERSION;
    uint64_t parts[5] = {version->signature, hash_bytes(tool, sizeof tool),
                         hash_bytes(name, strlen(name)), version->served->shown->region,
                         (uint64_t)version->served->shown->level};
    return hash_bytes(parts, sizeof parts);
}

/* The body owns the reference to the version. */
static void served_profile_fill_body(struct served_profile_body *body,
                                     struct served_profile_version *version, const char *name,
                                     const struct cached *from, bool kept)
{
    *body = (struct served_profile_body){
        .packed = from->packed,
        .packed_bytes = from->packed_bytes,
        .bytes = from->bytes,
        .type = from->type,
        .generation = version->generation,
        .tag = kept ? served_profile_tag_of(version, name)
                    : hash_bytes(from->packed, from->packed_bytes),
        .version = version,
        .own = kept ? NULL : from->packed,
    };
}

/* A free place for a resource that nobody is making; NULL: there is none now. Urgent requests go
 * first. */
static const char **served_profile_place_for(struct served_profile_version *version,
                                             const char *name, bool urgent)
{
    const char **place = NULL;
    if (version->dropping || (!urgent && version->waiting))
        return NULL;
    for (size_t i = 0; i < PLACES; i++)
        if (!version->under_way[i])
            place = &version->under_way[i];
        else if (!strcmp(version->under_way[i], name))
            return NULL;
    return place;
}

/* Waits for a place to make the resource in, or until somebody else has made it: then there is no
 * place. */
static struct cached *served_profile_begin_making(struct served_profile_version *version,
                                                  const char *name, bool urgent,
                                                  const char ***place)
{
    struct cached *cached;
    pthread_mutex_lock(&version->making);
    version->waiting += urgent;
    for (;;) {
        cached = served_profile_find_cached(version, name);
        *place = cached ? NULL : served_profile_place_for(version, name, urgent);
        if (cached || *place)
            break;
        pthread_cond_wait(&version->made, &version->making);
    }
    version->waiting -= urgent;
    if (*place)
        **place = name;
    if (urgent && !version->waiting)
        pthread_cond_broadcast(&version->made); /* the packer */
    pthread_mutex_unlock(&version->making);
    return cached;
}

/* What was made is kept, if it is to be; NULL: it is not. */
static struct cached *served_profile_end_making(struct served_profile_version *version,
                                                const char *name, const struct cached *made,
                                                const char **place)
{
    struct cached *cached = NULL;
    pthread_mutex_lock(&version->making);
    if (made && served_profile_is_kept(version, name, made->packed_bytes))
        cached = served_profile_keep(version, name, made);
    *place = NULL;
    pthread_cond_broadcast(&version->made);
    pthread_mutex_unlock(&version->making);
    return cached;
}

static int served_profile_get_from(struct served_profile_version *version, const char *name,
                                   bool urgent, struct served_profile_body *body,
                                   struct strbuf *why)
{
    struct cached made = {0};
    const char **place = NULL;
    struct cached *cached = served_profile_find_cached(version, name);
    if (!cached)
        cached = served_profile_begin_making(version, name, urgent, &place);
    if (place) {
        int error = served_profile_make_packed(&version->resources, name, &made, why);
        cached = served_profile_end_making(version, name, error ? NULL : &made, place);
        if (error)
            return error;
    }
    served_profile_fill_body(body, version, name, cached ? cached : &made, cached);
    return 0;
}

int served_profile_get(struct served_profile *served, const char *name,
                       struct served_profile_body *body, struct strbuf *why)
{
    struct served_profile_version *version = served_profile_hold_version(served);
    int error = served_profile_get_from(version, name, true, body, why);
    if (error)
        served_profile_release_version(version);
    return error;
}

void served_profile_release(struct served_profile_body *body)
{
    free(body->own);
    served_profile_release_version(body->version);
    *body = (struct served_profile_body){0};
}

bool served_profile_tag(struct served_profile *served, const char *name, uint64_t *tag,
                        uint64_t *generation)
{
    struct served_profile_version *version = served_profile_hold_version(served);
    *tag = served_profile_tag_of(version, name);
    *generation = version->generation;
    served_profile_release_version(version);
    return strncmp(name, "source/", 7);
}

bool served_profile_has_level(struct served_profile *served, enum memory_level level)
{
    struct served_profile_version *version = served_profile_hold_version(served);
    bool has = version->resources.levels >> level & 1; /* the profile's tables may be freed */
    served_profile_release_version(version);
    return has;
}

size_t served_profile_region_count(struct served_profile *served)
{
    struct served_profile_version *version = served_profile_hold_version(served);
    size_t count = version->profile->region_count;
    served_profile_release_version(version);
    return count;
}

/* ---- Packing all of a finished profile ----------------------------------------------------- */

struct served_packing {
    struct served_profile_version *version;
    bool failed;
};

static void served_profile_pack_one(void *context, const char *name)
{
    struct served_packing *packing = context;
    struct served_profile *served = packing->version->served;
    struct served_profile_body body;
    struct strbuf why = STRBUF_INIT;
    pthread_mutex_lock(&served->lock);
    packing->failed |= served->closing || served->now != packing->version;
    pthread_mutex_unlock(&served->lock);
    if (packing->failed)
        return;
    struct served_profile_version *version = served_profile_hold_version(served);
    bool done = !served_profile_get_from(version, name, false, &body, &why);
    packing->failed |= !done || body.own;
    if (done)
        served_profile_release(&body);
    else
        served_profile_release_version(version);
    strbuf_release(&why);
}

static bool served_profile_makes_any(const struct served_profile_version *version)
{
    for (size_t i = 0; i < PLACES; i++)
        if (version->under_way[i])
            return true;
    return false;
}

/* All that is made of paths is kept by now. */
static void served_profile_drop_paths(struct served_profile_version *version)
{
    pthread_mutex_lock(&version->making);
    version->dropping = true;
    while (served_profile_makes_any(version))
        pthread_cond_wait(&version->made, &version->making);
    profile_drop_paths(version->profile);
    version->dropping = false;
    pthread_cond_broadcast(&version->made);
    pthread_mutex_unlock(&version->making);
}

static void *served_profile_pack_all(void *context)
{
    struct served_packing packing = {.version = context};
    struct served_profile_version *version = context;
    resources_list(&version->resources, served_profile_pack_one, &packing);
    if (!packing.failed) {
        served_profile_drop_paths(version);
        malloc_trim(0);
    }
    served_profile_release_version(version);
    return NULL;
}

/* Under the lock, after this version has become the current one. */
static void served_profile_begin_packing(struct served_profile *served)
{
    if (!served->now->finished || served->has_packer)
        return;
    served->now->references++;
    served->has_packer =
        !pthread_create(&served->packer, NULL, served_profile_pack_all, served->now);
    served->now->references -= !served->has_packer;
}

/* ---- The served profile --------------------------------------------------------------------- */

static void served_profile_install(struct served_profile *served,
                                   struct served_profile_version *version)
{
    pthread_t packer = served->packer;
    bool had_packer = served->has_packer;
    if (had_packer)
        pthread_join(packer, NULL);
    pthread_mutex_lock(&served->lock);
    struct served_profile_version *before = served->now;
    version->generation = ++served->generations;
    served->now = version;
    served->has_packer = false;
    *served->error = 0;
    served_profile_begin_packing(served);
    pthread_mutex_unlock(&served->lock);
    if (before)
        served_profile_release_version(before);
}

static int served_profile_read_first(struct served_profile *served)
{
    struct served_profile_version *version;
    double begin = served_profile_seconds_now();
    int error =
        served_profile_read_version(served, profile_signature(served->shown->path), &version);
    pthread_mutex_lock(&served->lock);
    if (error)
        snprintf(served->error, sizeof served->error, "%s", error_text());
    served->read_at = served_profile_seconds_now();
    served->read_seconds = served->read_at - begin;
    pthread_mutex_unlock(&served->lock);
    if (!error)
        served_profile_install(served, version);
    return error;
}

static bool served_profile_is_read(struct served_profile *served)
{
    pthread_mutex_lock(&served->lock);
    bool read = served->now;
    pthread_mutex_unlock(&served->lock);
    return read;
}

int served_profile_need(struct served_profile *served)
{
    int error = 0;
    if (served_profile_is_read(served))
        return 0;
    pthread_mutex_lock(&served->opening);
    if (!served_profile_is_read(served))
        error = served_profile_read_first(served);
    pthread_mutex_unlock(&served->opening);
    return error;
}

int served_profile_open(struct served_profile **out, const struct served_source *shown,
                        const struct source_paths *paths)
{
    struct served_profile *served = calloc(1, sizeof *served);
    if (!served)
        return -ENOMEM;
    served->shown = shown;
    served->paths = paths;
    pthread_mutex_init(&served->opening, NULL);
    pthread_mutex_init(&served->lock, NULL);
    int error = shown->on_demand ? 0 : served_profile_need(served);
    if (error)
        served_profile_close(served);
    else
        *out = served;
    return error;
}

void served_profile_close(struct served_profile *served)
{
    if (!served)
        return;
    pthread_mutex_lock(&served->lock);
    served->closing = true;
    pthread_mutex_unlock(&served->lock);
    if (served->has_packer)
        pthread_join(served->packer, NULL);
    if (served->now)
        served_profile_release_version(served->now);
    pthread_mutex_destroy(&served->lock);
    pthread_mutex_destroy(&served->opening);
    free(served);
}

/* True: the caller reads, and nobody else does meanwhile. */
static bool served_profile_may_read(struct served_profile *served, uint64_t signature)
{
    double now = served_profile_seconds_now();
    pthread_mutex_lock(&served->lock);
    double pause = READING_PART * served->read_seconds;
    pause = pause > LEAST_SECONDS ? pause : LEAST_SECONDS;
    bool may = !served->reading && signature && signature != served->now->signature &&
               (served->now->is_first || now - served->read_at >= pause);
    if (!signature)
        snprintf(served->error, sizeof served->error, "the file is gone");
    else if (signature == served->now->signature)
        *served->error = 0;
    served->reading |= may;
    pthread_mutex_unlock(&served->lock);
    return may;
}

void served_profile_refresh(struct served_profile *served)
{
    if (!served_profile_is_read(served))
        return;
    uint64_t signature = profile_signature(served->shown->path);
    if (!served_profile_may_read(served, signature))
        return;
    struct served_profile_version *version;
    double begin = served_profile_seconds_now();
    int error = served_profile_read_version(served, signature, &version);
    if (!error)
        served_profile_install(served, version);
    pthread_mutex_lock(&served->lock);
    if (error)
        snprintf(served->error, sizeof served->error, "%s", error_text());
    served->read_at = served_profile_seconds_now();
    served->read_seconds = served->read_at - begin;
    served->reading = false;
    pthread_mutex_unlock(&served->lock);
}

bool served_profile_has_read(struct served_profile *served, const char *name)
{
    struct served_profile_version *version = served_profile_hold_version(served);
    bool has = resources_are_read(&version->resources, name);
    served_profile_release_version(version);
    return has;
}

static void served_profile_say_reading(struct served_reading *reading,
                                       struct served_profile_state *out)
{
    struct served_reading_state now;
    served_reading_get(reading, &now);
    out->is_of_job = true;
    out->lists = now.lists;
    out->done = now.done;
    out->of = now.of;
    if (!*now.error)
        return;
    out->state = "not read";
    snprintf(out->error, sizeof out->error, "%s", now.error);
}

void served_profile_state(struct served_profile *served, struct served_profile_state *out)
{
    pthread_mutex_lock(&served->lock);
    *out = (struct served_profile_state){.state = "not read"};
    if (served->now) {
        out->generation = served->now->generation;
        out->state = served->now->state;
    }
    memcpy(out->error, served->error, sizeof out->error);
    bool is_first = served->now && served->now->is_first && served->shown->reading;
    pthread_mutex_unlock(&served->lock);
    if (is_first)
        served_profile_say_reading(served->shown->reading, out);
}

const struct served_source *served_profile_shown(const struct served_profile *served)
{
    return served->shown;
}
