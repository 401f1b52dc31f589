/* See exhibit.h. */
#include "server/exhibit.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/hash.h"
#include "gzip/gzip.h"

enum {
    LEAST_SECONDS = 1,      /* between two readings … */
    READING_PART = 5,       /* … and reading takes at most this part of the time */
    FAST_FROM = 256 << 10,  /* larger resources are packed at level 1: 100 MB/s instead of 30 */
    MAX_CACHED = 256 << 20, /* of a version, packed; beyond, resources are made each time */
};

/* A resource once it was made. */
struct cached {
    struct cached *next;
    char *name;
    char *packed;
    size_t packed_bytes, bytes;
    enum resource_type type;
};

struct exhibit_version {
    unsigned references; /* under the exhibit's lock */
    uint64_t generation, signature;
    struct exhibit *exhibit;
    struct profile *profile;
    struct resources resources;
    pthread_mutex_t making; /* held while a resource is made: each once */
    unsigned waiting;       /* requests that wait for it: the packer lets them by */
    pthread_cond_t idle;    /* none does */
    struct cached *cached;  /* atomic: written under `making`, read by all */
    size_t cached_bytes;
    const char *state;
    bool finished; /* nothing will be written to it any more */
};

struct exhibit {
    const struct shown *shown;
    const struct source_paths *paths;
    pthread_mutex_t opening; /* held while it is read for the first time */
    pthread_mutex_t lock;
    struct exhibit_version *now; /* NULL: not read yet */
    uint64_t generations;
    bool reading;
    double read_at, read_seconds;
    char error[256];
    pthread_t packer;
    bool has_packer, closing;
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- Versions ------------------------------------------------------------------------------ */

static void free_version(struct exhibit_version *version)
{
    for (struct cached *at = version->cached, *next; at; at = next) {
        next = at->next;
        free(at->packed);
        free(at->name);
        free(at);
    }
    resources_close(&version->resources);
    profile_free(version->profile);
    pthread_cond_destroy(&version->idle);
    pthread_mutex_destroy(&version->making);
    free(version);
}

static void release_version(struct exhibit_version *version)
{
    struct exhibit *exhibit = version->exhibit;
    pthread_mutex_lock(&exhibit->lock);
    bool last = !--version->references;
    pthread_mutex_unlock(&exhibit->lock);
    if (last)
        free_version(version);
}

static struct exhibit_version *hold_version(struct exhibit *exhibit)
{
    pthread_mutex_lock(&exhibit->lock);
    struct exhibit_version *version = exhibit->now;
    version->references++;
    pthread_mutex_unlock(&exhibit->lock);
    return version;
}

static int read_profile(struct profile **out, const struct shown *shown)
{
    int error = profile_read(out, shown->path);
    if (error || !shown->region)
        return error;
    error = profile_cut_region_at(*out, shown->region - 1);
    if (error)
        profile_free(*out);
    return error;
}

static int read_version(struct exhibit *exhibit, uint64_t signature, struct exhibit_version **out)
{
    struct profile *profile;
    int error = read_profile(&profile, exhibit->shown);
    if (error)
        return error;
    struct exhibit_version *version = calloc(1, sizeof *version);
    error = version ? resources_open(&version->resources, profile, exhibit->paths) : -ENOMEM;
    if (error) {
        free(version);
        profile_free(profile);
        return error;
    }
    version->resources.trace = exhibit->shown->trace;
    version->resources.has_regions = !exhibit->shown->region;
    pthread_mutex_init(&version->making, NULL);
    pthread_cond_init(&version->idle, NULL);
    version->references = 1;
    version->signature = signature;
    version->exhibit = exhibit;
    version->profile = profile;
    version->finished = !profile->being_written;
    version->state = profile->being_written ? "recording"
                     : profile->complete    ? "complete"
                                            : "cut short";
    *out = version;
    return 0;
}

/* ---- Resources ----------------------------------------------------------------------------- */

/* Entries are only ever put in front, so whoever looks needs no lock: what is made already does not wait for
 * what is being made. */
static struct cached *find_cached(const struct exhibit_version *version, const char *name)
{
    struct cached *at = __atomic_load_n(&version->cached, __ATOMIC_ACQUIRE);
    while (at && strcmp(at->name, name))
        at = at->next;
    return at;
}

/* Moments of a trace are many; source texts are read where they are. Both are seldom asked for twice.
 */
static bool is_kept(const struct exhibit_version *version, const char *name, size_t bytes)
{
    return strncmp(name, "source/", 7) && strncmp(name, "at/", 3) &&
           version->cached_bytes + bytes <= MAX_CACHED;
}

static int make_packed(const struct resources *resources, const char *name, struct cached *made,
                       struct strbuf *why)
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

static struct cached *keep(struct exhibit_version *version, const char *name,
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

static uint64_t tag_of(const struct exhibit_version *version, const char *name)
{
    static const char tool[] = TIDEMARK_VERSION;
    uint64_t parts[4] = {version->signature, hash_bytes(tool, sizeof tool),
                         hash_bytes(name, strlen(name)), version->exhibit->shown->region};
    return hash_bytes(parts, sizeof parts);
}

/* Takes over the reference to the version. */
static void fill_body(struct exhibit_body *body, struct exhibit_version *version, const char *name,
                      const struct cached *from, bool kept)
{
    *body = (struct exhibit_body){
        .packed = from->packed,
        .packed_bytes = from->packed_bytes,
        .bytes = from->bytes,
        .type = from->type,
        .generation = version->generation,
        .tag = kept ? tag_of(version, name) : hash_bytes(from->packed, from->packed_bytes),
        .version = version,
        .own = kept ? NULL : from->packed,
    };
}

/* Mutexes are not fair: whoever takes one again at once has it before those who wait for it. */
static void lock_making(struct exhibit_version *version, bool urgent)
{
    if (urgent)
        __atomic_add_fetch(&version->waiting, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&version->making);
    while (!urgent && __atomic_load_n(&version->waiting, __ATOMIC_RELAXED))
        pthread_cond_wait(&version->idle, &version->making);
    if (urgent && !__atomic_sub_fetch(&version->waiting, 1, __ATOMIC_RELAXED))
        pthread_cond_signal(&version->idle);
}

static int get_from(struct exhibit_version *version, const char *name, bool urgent,
                    struct exhibit_body *body, struct strbuf *why)
{
    struct cached made = {0};
    int error = 0;
    struct cached *cached = find_cached(version, name);
    if (cached) {
        fill_body(body, version, name, cached, true);
        return 0;
    }
    lock_making(version, urgent);
    cached = find_cached(version, name);
    if (!cached) {
        error = make_packed(&version->resources, name, &made, why);
        if (!error && is_kept(version, name, made.packed_bytes))
            cached = keep(version, name, &made);
    }
    if (!error)
        fill_body(body, version, name, cached ? cached : &made, cached);
    pthread_mutex_unlock(&version->making);
    return error;
}

int exhibit_get(struct exhibit *exhibit, const char *name, struct exhibit_body *body,
                struct strbuf *why)
{
    struct exhibit_version *version = hold_version(exhibit);
    int error = get_from(version, name, true, body, why);
    if (error)
        release_version(version);
    return error;
}

void exhibit_release(struct exhibit_body *body)
{
    free(body->own);
    release_version(body->version);
    *body = (struct exhibit_body){0};
}

bool exhibit_tag(struct exhibit *exhibit, const char *name, uint64_t *tag, uint64_t *generation)
{
    struct exhibit_version *version = hold_version(exhibit);
    *tag = tag_of(version, name);
    *generation = version->generation;
    release_version(version);
    return strncmp(name, "source/", 7);
}

size_t exhibit_region_count(struct exhibit *exhibit)
{
    struct exhibit_version *version = hold_version(exhibit);
    size_t count = version->profile->region_count;
    release_version(version);
    return count;
}

/* ---- Packing all of a finished profile ----------------------------------------------------- */

struct packing {
    struct exhibit_version *version;
    bool failed;
};

static void pack_one(void *context, const char *name)
{
    struct packing *packing = context;
    struct exhibit *exhibit = packing->version->exhibit;
    struct exhibit_body body;
    struct strbuf why = STRBUF_INIT;
    pthread_mutex_lock(&exhibit->lock);
    packing->failed |= exhibit->closing || exhibit->now != packing->version;
    pthread_mutex_unlock(&exhibit->lock);
    if (packing->failed)
        return;
    struct exhibit_version *version = hold_version(exhibit);
    bool done = !get_from(version, name, false, &body, &why);
    packing->failed |= !done || body.own;
    if (done)
        exhibit_release(&body);
    else
        release_version(version);
    strbuf_release(&why);
}

static void *pack_all(void *context)
{
    struct packing packing = {.version = context};
    struct exhibit_version *version = context;
    resources_list(&version->resources, pack_one, &packing);
    if (!packing.failed) {
        pthread_mutex_lock(&version->making);
        profile_drop_paths(version->profile);
        pthread_mutex_unlock(&version->making);
        malloc_trim(0);
    }
    release_version(version);
    return NULL;
}

/* Under the lock, by whoever has made this version the one of now. */
static void begin_packing(struct exhibit *exhibit)
{
    if (!exhibit->now->finished || exhibit->has_packer)
        return;
    exhibit->now->references++;
    exhibit->has_packer = !pthread_create(&exhibit->packer, NULL, pack_all, exhibit->now);
    exhibit->now->references -= !exhibit->has_packer;
}

/* ---- The exhibit --------------------------------------------------------------------------- */

static void install(struct exhibit *exhibit, struct exhibit_version *version)
{
    pthread_t packer = exhibit->packer;
    bool had_packer = exhibit->has_packer;
    if (had_packer)
        pthread_join(packer, NULL);
    pthread_mutex_lock(&exhibit->lock);
    struct exhibit_version *before = exhibit->now;
    version->generation = ++exhibit->generations;
    exhibit->now = version;
    exhibit->has_packer = false;
    *exhibit->error = 0;
    begin_packing(exhibit);
    pthread_mutex_unlock(&exhibit->lock);
    if (before)
        release_version(before);
}

static int read_first(struct exhibit *exhibit)
{
    struct exhibit_version *version;
    double begin = seconds_now();
    int error = read_version(exhibit, profile_signature(exhibit->shown->path), &version);
    pthread_mutex_lock(&exhibit->lock);
    if (error)
        snprintf(exhibit->error, sizeof exhibit->error, "%s", profile_error());
    exhibit->read_at = seconds_now();
    exhibit->read_seconds = exhibit->read_at - begin;
    pthread_mutex_unlock(&exhibit->lock);
    if (!error)
        install(exhibit, version);
    return error;
}

static bool is_read(struct exhibit *exhibit)
{
    pthread_mutex_lock(&exhibit->lock);
    bool read = exhibit->now;
    pthread_mutex_unlock(&exhibit->lock);
    return read;
}

int exhibit_need(struct exhibit *exhibit)
{
    int error = 0;
    if (is_read(exhibit))
        return 0;
    pthread_mutex_lock(&exhibit->opening);
    if (!is_read(exhibit))
        error = read_first(exhibit);
    pthread_mutex_unlock(&exhibit->opening);
    return error;
}

int exhibit_open(struct exhibit **out, const struct shown *shown, const struct source_paths *paths)
{
    struct exhibit *exhibit = calloc(1, sizeof *exhibit);
    if (!exhibit)
        return -ENOMEM;
    exhibit->shown = shown;
    exhibit->paths = paths;
    pthread_mutex_init(&exhibit->opening, NULL);
    pthread_mutex_init(&exhibit->lock, NULL);
    int error = shown->on_demand ? 0 : exhibit_need(exhibit);
    if (error)
        exhibit_close(exhibit);
    else
        *out = exhibit;
    return error;
}

void exhibit_close(struct exhibit *exhibit)
{
    if (!exhibit)
        return;
    pthread_mutex_lock(&exhibit->lock);
    exhibit->closing = true;
    pthread_mutex_unlock(&exhibit->lock);
    if (exhibit->has_packer)
        pthread_join(exhibit->packer, NULL);
    if (exhibit->now)
        release_version(exhibit->now);
    pthread_mutex_destroy(&exhibit->lock);
    pthread_mutex_destroy(&exhibit->opening);
    free(exhibit);
}

/* True: whoever called is the one to read, and no one else does meanwhile. */
static bool may_read(struct exhibit *exhibit, uint64_t signature)
{
    double now = seconds_now();
    pthread_mutex_lock(&exhibit->lock);
    double pause = READING_PART * exhibit->read_seconds;
    bool may = !exhibit->reading && signature && signature != exhibit->now->signature &&
               now - exhibit->read_at >= (pause > LEAST_SECONDS ? pause : LEAST_SECONDS);
    if (!signature)
        snprintf(exhibit->error, sizeof exhibit->error, "the file is gone");
    else if (signature == exhibit->now->signature)
        *exhibit->error = 0;
    exhibit->reading |= may;
    pthread_mutex_unlock(&exhibit->lock);
    return may;
}

void exhibit_refresh(struct exhibit *exhibit)
{
    if (!is_read(exhibit))
        return;
    uint64_t signature = profile_signature(exhibit->shown->path);
    if (!may_read(exhibit, signature))
        return;
    struct exhibit_version *version;
    double begin = seconds_now();
    int error = read_version(exhibit, signature, &version);
    if (!error)
        install(exhibit, version);
    pthread_mutex_lock(&exhibit->lock);
    if (error)
        snprintf(exhibit->error, sizeof exhibit->error, "%s", profile_error());
    exhibit->read_at = seconds_now();
    exhibit->read_seconds = exhibit->read_at - begin;
    exhibit->reading = false;
    pthread_mutex_unlock(&exhibit->lock);
}

void exhibit_state(struct exhibit *exhibit, struct exhibit_state *out)
{
    pthread_mutex_lock(&exhibit->lock);
    *out = (struct exhibit_state){.state = "not read"};
    if (exhibit->now)
        *out = (struct exhibit_state){exhibit->now->generation, exhibit->now->state, ""};
    memcpy(out->error, exhibit->error, sizeof out->error);
    pthread_mutex_unlock(&exhibit->lock);
}

const struct shown *exhibit_shown(const struct exhibit *exhibit)
{
    return exhibit->shown;
}
