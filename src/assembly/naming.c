#include "assembly/naming.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BUILD_ID_MAX = 32 };

/* A module that is open already. Without a build-id nothing says that it is the same file. */
struct known {
    char *path;
    uint8_t build_id[BUILD_ID_MAX];
    size_t build_id_bytes;
    int module;
};

struct naming {
    struct symbols *symbols;
    pthread_mutex_t lock;
    struct known *known;
    size_t known_count;
};

static struct naming *shared; /* never closed: a session's next process will want it */
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

static struct naming *naming_new(const char *root)
{
    struct naming *naming = calloc(1, sizeof *naming);
    if (!naming || !(naming->symbols = symbols_new(root)))
        abort();
    pthread_mutex_init(&naming->lock, NULL);
    return naming;
}

static int sees_our_files(const char *root)
{
    struct stat ours, theirs;
    return stat("/", &ours) < 0 || stat(root, &theirs) < 0 ||
           (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino);
}

struct naming *naming_open(pid_t pid)
{
    char root[64];
    snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
    if (!sees_our_files(root))
        return naming_new(root);
    pthread_mutex_lock(&shared_lock);
    if (!shared)
        shared = naming_new("");
    pthread_mutex_unlock(&shared_lock);
    return shared;
}

bool naming_sees_our_files(const struct naming *naming)
{
    return naming == shared;
}

void naming_close(struct naming *naming)
{
    if (!naming || naming == shared)
        return;
    for (size_t i = 0; i < naming->known_count; i++)
        free(naming->known[i].path);
    free(naming->known);
    symbols_free(naming->symbols);
    pthread_mutex_destroy(&naming->lock);
    free(naming);
}

static const struct known *find(const struct naming *naming, const char *path,
                                const uint8_t *build_id, size_t bytes)
{
    for (size_t i = 0; bytes && i < naming->known_count; i++) {
        const struct known *known = &naming->known[i];
        if (known->build_id_bytes == bytes && memcmp(known->build_id, build_id, bytes) == 0 &&
            strcmp(known->path, path) == 0)
            return known;
    }
    return NULL;
}

static void remember(struct naming *naming, const char *path, const uint8_t *build_id,
                     size_t bytes, int module)
{
    struct known *grown = realloc(naming->known, (naming->known_count + 1) * sizeof *grown);
    if (!grown || bytes > BUILD_ID_MAX)
        abort();
    naming->known = grown;
    struct known *known = &grown[naming->known_count++];
    *known = (struct known){.path = strdup(path), .build_id_bytes = bytes, .module = module};
    if (!known->path)
        abort();
    memcpy(known->build_id, build_id, bytes);
}

int naming_add_module(struct naming *naming, const char *path, const uint8_t *build_id,
                      size_t build_id_bytes)
{
    pthread_mutex_lock(&naming->lock);
    const struct known *known = find(naming, path, build_id, build_id_bytes);
    int module = known ? known->module
                       : symbols_add_module(naming->symbols, path, build_id, build_id_bytes);
    if (!known)
        remember(naming, path, build_id, build_id_bytes, module);
    pthread_mutex_unlock(&naming->lock);
    return module;
}

enum symbols_quality naming_module_quality(struct naming *naming, int module)
{
    pthread_mutex_lock(&naming->lock);
    enum symbols_quality quality = symbols_module_quality(naming->symbols, module);
    pthread_mutex_unlock(&naming->lock);
    return quality;
}

size_t naming_resolve(struct naming *naming, int module, pid_t pid, uint64_t address,
                      struct symbols_frame *frames, size_t max)
{
    pthread_mutex_lock(&naming->lock);
    size_t count = module < 0 ? symbols_resolve_jit(naming->symbols, pid, address, frames, max)
                              : symbols_resolve(naming->symbols, module, address, frames, max);
    pthread_mutex_unlock(&naming->lock);
    return count;
}
