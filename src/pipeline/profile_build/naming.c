/* Symbols that several processes share (naming.h). One mutex guards a symbol table and a list of
 * the modules in it, by path and build-id. For a profile that is read again, its own code locations
 * answer first. */
#include "profile_build/naming.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/allocator.h"
#include "base/array.h"
#include "base/memory.h"
#include "profile_build/code_index.h"
#include "profile_build/name_answers.h"
#include "profile_build/name_turn.h"

enum { BUILD_ID_MAX = 64, WORTH_TRIMMING = 1 << 20 };

/* A module that is open already. Without a build-id it is not known whether it is the same file. A
 * build-id that is longer than a profile may have counts as none. */
struct naming_known {
    char *path;
    uint8_t build_id[BUILD_ID_MAX];
    size_t build_id_bytes;
    int module;
};

struct naming {
    struct symbols *symbols;
    bool is_awake; /* files may be open */
    int turn;      /* name_turn.h, while it is awake and turns are taken */
    pthread_mutex_t lock;
    struct naming_known *known;
    size_t known_count, known_room;
    struct name_answers *answers; /* NULL: none are kept */
    /* of a profile's names; the modules that were added are `known`, and `module` is their handle
     * in `files`, -1 as long as the profile has all that is asked for */
    const struct profile *profile;
    struct code_index *codes;
    struct naming *files;
};

static struct naming *naming_shared; /* never closed, because the session's next process uses it */
static pthread_mutex_t naming_shared_lock = PTHREAD_MUTEX_INITIALIZER;

void naming_keep_answers(void)
{
    struct naming *naming = naming_open(getpid());
    if (naming == naming_shared && !naming->answers)
        naming->answers = name_answers_new();
}

/* With the lock, before a question that may open a file. */
static void naming_wake(struct naming *naming)
{
    if (!naming->is_awake)
        naming->turn = name_turn_begin(NAME_TURN_CODE);
    naming->is_awake = true;
}

void naming_rest(struct naming *naming)
{
    if (!name_turns_are_taken() || naming->profile)
        return;
    pthread_mutex_lock(&naming->lock);
    bool was_awake = naming->is_awake;
    if (was_awake) {
        symbols_rest(naming->symbols);
        name_turn_end(naming->turn);
    }
    naming->is_awake = false;
    pthread_mutex_unlock(&naming->lock);
    allocator_trim(was_awake ? 0 : WORTH_TRIMMING);
}

static struct naming *naming_new(const char *root)
{
    struct naming *naming = memory_zeroed(1, sizeof *naming);
    naming->symbols = memory_need(symbols_new(root));
    pthread_mutex_init(&naming->lock, NULL);
    return naming;
}

static int naming_root_is_ours(const char *root)
{
    struct stat ours, theirs;
    return stat("/", &ours) < 0 || stat(root, &theirs) < 0 ||
           (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino);
}

struct naming *naming_open(pid_t pid)
{
    char root[64];
    snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
    if (!naming_root_is_ours(root))
        return naming_new(root);
    pthread_mutex_lock(&naming_shared_lock);
    if (!naming_shared)
        naming_shared = naming_new("");
    pthread_mutex_unlock(&naming_shared_lock);
    return naming_shared;
}

struct naming *naming_of_profile(const struct profile *profile)
{
    struct naming *naming = calloc(1, sizeof *naming);
    struct code_index *codes = code_index_new(profile);
    if (!naming || !codes) {
        free(naming);
        code_index_free(codes);
        return NULL;
    }
    naming->profile = profile;
    naming->codes = codes;
    naming->files = naming_open(0);
    pthread_mutex_init(&naming->lock, NULL);
    return naming;
}

bool naming_sees_our_files(const struct naming *naming)
{
    return naming == naming_shared;
}

void naming_close(struct naming *naming)
{
    if (!naming || naming == naming_shared)
        return;
    for (size_t i = 0; i < naming->known_count; i++)
        free(naming->known[i].path);
    free(naming->known);
    if (naming->profile) {
        code_index_free(naming->codes);
        naming_close(naming->files);
    } else {
        symbols_free(naming->symbols);
        if (naming->is_awake)
            name_turn_end(naming->turn);
    }
    pthread_mutex_destroy(&naming->lock);
    name_answers_free(naming->answers);
    free(naming);
}

static const struct naming_known *naming_find(const struct naming *naming, const char *path,
                                              const uint8_t *build_id, size_t bytes)
{
    for (size_t i = 0; bytes && i < naming->known_count; i++) {
        const struct naming_known *known = &naming->known[i];
        if (known->build_id_bytes == bytes && memcmp(known->build_id, build_id, bytes) == 0 &&
            strcmp(known->path, path) == 0)
            return known;
    }
    return NULL;
}

static void naming_remember(struct naming *naming, const char *path, const uint8_t *build_id,
                            size_t bytes, int module)
{
    if (bytes > BUILD_ID_MAX)
        bytes = 0;
    array_need_room(&naming->known, &naming->known_room, naming->known_count,
                    sizeof *naming->known);
    struct naming_known *known = &naming->known[naming->known_count++];
    *known = (struct naming_known){.path = strdup(path), .build_id_bytes = bytes, .module = module};
    if (!known->path)
        memory_exhausted();
    memcpy(known->build_id, build_id, bytes);
}

/* ---- Of a profile -------------------------------------------------------------------------- */

static uint32_t naming_profile_module(const struct naming *naming, int module)
{
    return module < 0 ? UINT32_MAX : code_index_module(naming->codes, (int64_t)module + 1);
}

static int naming_file_handle(struct naming *naming, int module)
{
    struct naming_known *known = &naming->known[module];
    if (known->module < 0)
        known->module =
            naming_add_module(naming->files, known->path, known->build_id, known->build_id_bytes);
    return known->module;
}

static enum symbols_quality naming_profile_quality(struct naming *naming, int module)
{
    uint32_t index = naming_profile_module(naming, module);
    return index == UINT32_MAX
               ? naming_module_quality(naming->files, naming_file_handle(naming, module))
               : (enum symbols_quality)naming->profile->modules[index].quality;
}

static size_t naming_frames_of(const struct profile *profile, uint32_t code,
                               struct symbols_frame *resolved, size_t max)
{
    enum { FRAMES_MAX = 64 };
    struct profile_frame frames[FRAMES_MAX];
    size_t count = code_frames(profile, code, frames, max < FRAMES_MAX ? max : FRAMES_MAX);
    for (size_t i = 0; i < count; i++)
        resolved[i] = (struct symbols_frame){.function = frames[i].function,
                                             .linkage = frames[i].linkage,
                                             .file = frames[i].file,
                                             .line = frames[i].line};
    return count;
}

static size_t naming_profile_resolve(struct naming *naming, int module, uint64_t address,
                                     struct symbols_frame *frames, size_t max)
{
    uint32_t index = naming_profile_module(naming, module);
    bool is_known = module < 0 || index != UINT32_MAX;
    uint32_t code = is_known ? code_index_find(naming->codes, index, address + 1) : 0;
    if (code)
        return naming_frames_of(naming->profile, code, frames, max);
    return naming_resolve(naming->files, module < 0 ? -1 : naming_file_handle(naming, module), 0,
                          address, frames, max);
}

/* ---- From outside -------------------------------------------------------------------------- */

int naming_add_module(struct naming *naming, const char *path, const uint8_t *build_id,
                      size_t build_id_bytes)
{
    pthread_mutex_lock(&naming->lock);
    if (naming->profile) {
        naming_remember(naming, path, build_id, build_id_bytes, -1);
        int added = (int)naming->known_count - 1;
        pthread_mutex_unlock(&naming->lock);
        return added;
    }
    const struct naming_known *known = naming_find(naming, path, build_id, build_id_bytes);
    int module =
        known ? known->module : symbols_add_module(naming->symbols, path, build_id, build_id_bytes);
    if (!known)
        naming_remember(naming, path, build_id, build_id_bytes, module);
    pthread_mutex_unlock(&naming->lock);
    return module;
}

enum symbols_quality naming_module_quality(struct naming *naming, int module)
{
    pthread_mutex_lock(&naming->lock);
    if (!naming->profile && !symbols_knows_quality(naming->symbols, module))
        naming_wake(naming);
    enum symbols_quality quality = naming->profile
                                       ? naming_profile_quality(naming, module)
                                       : symbols_module_quality(naming->symbols, module);
    pthread_mutex_unlock(&naming->lock);
    return quality;
}

/* Answers that lack names for want of memory, or because names were given up, are not kept. */
static bool naming_may_keep(struct naming *naming, int module)
{
    return naming->answers && !symbols_have_given_up() &&
           symbols_module_quality(naming->symbols, module) != SYMBOLS_PACKED;
}

static size_t naming_resolve_in_files(struct naming *naming, int module, uint64_t address,
                                      struct symbols_frame *frames, size_t max)
{
    size_t known =
        naming->answers ? name_answers_find(naming->answers, module, address, frames, max) : 0;
    if (known)
        return known;
    naming_wake(naming);
    size_t count = symbols_resolve(naming->symbols, module, address, frames, max);
    if (naming_may_keep(naming, module))
        name_answers_keep(naming->answers, module, address, frames, count);
    return count;
}

size_t naming_resolve(struct naming *naming, int module, pid_t pid, uint64_t address,
                      struct symbols_frame *frames, size_t max)
{
    pthread_mutex_lock(&naming->lock);
    size_t count = naming->profile ? naming_profile_resolve(naming, module, address, frames, max)
                   : module < 0    ? symbols_resolve_jit(naming->symbols, pid, address, frames, max)
                                   : naming_resolve_in_files(naming, module, address, frames, max);
    pthread_mutex_unlock(&naming->lock);
    return count;
}

void naming_add_jit_dump(struct naming *naming, pid_t pid, const char *path)
{
    pthread_mutex_lock(&naming->lock);
    if (!naming->profile)
        symbols_add_jit_dump(naming->symbols, pid, path);
    pthread_mutex_unlock(&naming->lock);
}

unsigned naming_jit_maps(struct naming *naming, pid_t pid)
{
    pthread_mutex_lock(&naming->lock);
    unsigned maps = naming->profile ? 0 : symbols_jit_maps(naming->symbols, pid);
    pthread_mutex_unlock(&naming->lock);
    return maps;
}

static bool naming_type_in_files(struct naming *naming, int module, uint64_t address,
                                 struct symbols_call_type *type)
{
    bool is_known;
    if (naming->answers &&
        name_answers_find_type(naming->answers, module, address, &is_known, type))
        return is_known;
    naming_wake(naming);
    is_known = symbols_type_of_call(naming->symbols, module, address, type);
    if (naming_may_keep(naming, module))
        name_answers_keep_type(naming->answers, module, address, is_known ? type : NULL);
    return is_known;
}

bool naming_type_of_call(struct naming *naming, int module, uint64_t address,
                         struct symbols_call_type *type)
{
    pthread_mutex_lock(&naming->lock);
    bool is_known = !naming->profile && naming_type_in_files(naming, module, address, type);
    pthread_mutex_unlock(&naming->lock);
    return is_known;
}
