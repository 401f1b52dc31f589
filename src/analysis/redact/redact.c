/* Takes out of a profile what tells about somebody (redact.h). Each text that may do so is replaced
 * in place. A hash is SipHash-2-4 under a key that is made of the salt. A list says what is done to
 * each fact: one that is not in the list is dropped. */
#include "redact/redact.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/random.h"

struct redaction {
    struct profile *profile;
    enum redact_level level;
    uint64_t key[2];
    struct strbuf text; /* what is being made */
    bool no_memory;
    /* Paths that were replaced already: hundreds of thousands of rows share few texts. */
    struct map paths;
    struct redact_path {
        const char *from, *to;
    } * path_list;
    size_t path_count, path_capacity;
};

/* ---- Hashes -------------------------------------------------------------------------------- */

static uint64_t redact_rotate(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

static void redact_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = redact_rotate(v[1], 13) ^ v[0];
    v[3] = redact_rotate(v[3], 16) ^ v[2];
    v[0] = redact_rotate(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = redact_rotate(v[3], 21) ^ v[0];
    v[1] = redact_rotate(v[1], 17) ^ v[2];
    v[2] = redact_rotate(v[2], 32);
}

/* SipHash-2-4 (Aumasson and Bernstein, 2012). */
static uint64_t redact_hash(const uint64_t key[2], const char *bytes, size_t count)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
                     key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull};
    for (size_t at = 0; at <= count; at += 8) {
        uint64_t word = at + 8 > count ? (uint64_t)count << 56 : 0;
        for (size_t i = 0; i < 8 && at + i < count; i++)
            word |= (uint64_t)(unsigned char)bytes[at + i] << 8 * i;
        v[3] ^= word;
        redact_round(v);
        redact_round(v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        redact_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void redact_add_hash(struct redaction *redaction, const char *bytes, size_t count)
{
    uint64_t hash = redact_hash(redaction->key, bytes, count);
    strbuf_addf(&redaction->text, "%010llx", (unsigned long long)(hash & 0xffffffffffull));
}

static int redact_make_key(uint64_t key[2], const char *salt)
{
    if (!salt || !*salt)
        return random_fill(key, 2 * sizeof *key)
                   ? 0
                   : error_set(-ENODATA, "there are no random bytes for a salt: name one");
    key[0] = hash_bytes(salt, strlen(salt));
    key[1] =
        hash_u64(key[0] ^ strlen(salt)) ^ hash_bytes(salt + strlen(salt) / 2, strlen(salt) / 2);
    return 0;
}

/* ---- Texts --------------------------------------------------------------------------------- */

/* The profile's own copy of what was made. */
static const char *redact_keep(struct redaction *redaction)
{
    const char *kept = profile_keep_text(redaction->profile, redaction->text.data);
    redaction->no_memory |= !kept;
    strbuf_reset(&redaction->text);
    return kept ? kept : "";
}

static void redact_name(struct redaction *redaction, const char **name, const char *what)
{
    if (redaction->level < REDACT_NAMES || !*name || !**name || strcmp(*name, "?") == 0)
        return;
    strbuf_addf(&redaction->text, "%s_", what);
    redact_add_hash(redaction, *name, strlen(*name));
    *name = redact_keep(redaction);
}

static bool redact_is_public_place(const char *path)
{
    static const char *const places[] = {"/usr/", "/lib",   "/bin/", "/sbin/",      "/etc/",
                                         "/dev/", "/proc/", "/sys/", "/nix/store/", "/gnu/store/"};
    if (strncmp(path, "/usr/local/", strlen("/usr/local/")) == 0)
        return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strncmp(path, places[i], strlen(places[i])) == 0)
            return true;
    return !strchr(path, '/'); /* [heap], linux-vdso.so.1, a source's bare name */
}

/* ~HASH/name.c: files of one directory stay together. */
static const char *redact_path_made(struct redaction *redaction, const char *path)
{
    const char *base = strrchr(path, '/') + 1, *dot = strrchr(base, '.');
    strbuf_add_string(&redaction->text, "~");
    redact_add_hash(redaction, path, (size_t)(base - path));
    strbuf_add_string(&redaction->text, "/");
    if (redaction->level < REDACT_NAMES) {
        strbuf_add_string(&redaction->text, base);
    } else {
        redact_add_hash(redaction, base, strlen(base));
        strbuf_add_string(&redaction->text, dot ? dot : "");
    }
    return redact_keep(redaction);
}

static bool redact_same_path(const void *list, uint32_t number, const void *path)
{
    return ((const struct redact_path *)list)[number].from == path;
}

static void redact_path(struct redaction *redaction, const char **path)
{
    bool is_new;
    if (!*path || !**path || redact_is_public_place(*path))
        return;
    uint32_t number =
        map_number(&redaction->paths, hash_u64((uintptr_t)*path), redact_same_path,
                   redaction->path_list, *path, (uint32_t)redaction->path_count, &is_new);
    if (is_new) {
        array_need_room(&redaction->path_list, &redaction->path_capacity, redaction->path_count,
                        sizeof *redaction->path_list);
        redaction->path_list[redaction->path_count++] =
            (struct redact_path){*path, redact_path_made(redaction, *path)};
    }
    *path = redaction->path_list[number].to;
}

/* ---- Facts --------------------------------------------------------------------------------- */

/* NAMED: it may hold a mark's name, and is dropped where names are hidden. */
enum redact_fact {
    REDACT_FACT_DROP,
    REDACT_FACT_KEEP,
    REDACT_FACT_PATH,
    REDACT_FACT_HASH,
    REDACT_FACT_NAMED,
};

/* What is done to facts that are texts; numbers stay. */
static const struct {
    const char *key;
    enum redact_fact what;
} redact_facts[] = {
    {PROFILE_META_PROGRAM, REDACT_FACT_KEEP},
    {PROFILE_META_EXECUTABLE, REDACT_FACT_PATH},
    {PROFILE_META_COMMAND, REDACT_FACT_DROP},
    {PROFILE_META_DIRECTORY, REDACT_FACT_DROP},
    {PROFILE_META_HOST, REDACT_FACT_HASH},
    {PROFILE_META_BOOT, REDACT_FACT_HASH},
    {PROFILE_META_JOB, REDACT_FACT_HASH},
    {PROFILE_META_STARTED_BY, REDACT_FACT_KEEP},
    {PROFILE_META_LAUNCHER, REDACT_FACT_KEEP},
    {PROFILE_META_END, REDACT_FACT_KEEP},
    {PROFILE_META_TOOL, REDACT_FACT_KEEP},
    {PROFILE_META_STACKS, REDACT_FACT_KEEP},
    {PROFILE_META_IMPORTED, REDACT_FACT_KEEP},
    {PROFILE_META_IMPORT_NOTE, REDACT_FACT_KEEP},
    {PROFILE_META_NO_LEDGER, REDACT_FACT_KEEP},
    {PROFILE_META_NO_GRAPH, REDACT_FACT_KEEP},
    {PROFILE_META_CUT, REDACT_FACT_KEEP},
    {PROFILE_META_LEVEL, REDACT_FACT_KEEP},
    {PROFILE_META_SAMPLE_CHANGES, REDACT_FACT_KEEP},
    {PROFILE_META_SAMPLE_WHY, REDACT_FACT_KEEP},
    {PROFILE_META_MISSING, REDACT_FACT_KEEP},
    {PROFILE_META_SNAPSHOT, REDACT_FACT_NAMED},
    {PROFILE_META_ENDED_ON, REDACT_FACT_NAMED},
    {PROFILE_META_NAMED_LATER, REDACT_FACT_KEEP},
};

static enum redact_fact redact_fact_of(const struct profile_meta *meta)
{
    if (meta->is_number)
        return strcmp(meta->key, PROFILE_META_PID) && strcmp(meta->key, PROFILE_META_PARENT_PID)
                   ? REDACT_FACT_KEEP
                   : REDACT_FACT_DROP;
    for (size_t i = 0; i < sizeof redact_facts / sizeof *redact_facts; i++)
        if (strcmp(meta->key, redact_facts[i].key) == 0)
            return redact_facts[i].what;
    return REDACT_FACT_DROP;
}

/* False: the fact goes. */
static bool redact_fact(struct redaction *redaction, struct profile_meta *meta)
{
    enum redact_fact what = redact_fact_of(meta);
    if (what == REDACT_FACT_PATH)
        redact_path(redaction, &meta->value);
    if (what == REDACT_FACT_HASH) {
        redact_add_hash(redaction, meta->value, strlen(meta->value));
        meta->value = redact_keep(redaction);
    }
    if (strcmp(meta->key, PROFILE_META_PROGRAM) == 0)
        redact_name(redaction, &meta->value, "program");
    return what != REDACT_FACT_DROP &&
           (what != REDACT_FACT_NAMED || redaction->level < REDACT_NAMES);
}

static void redact_all_facts(struct redaction *redaction)
{
    struct profile *profile = redaction->profile;
    size_t kept = 0;
    for (size_t i = 0; i < profile->meta_count; i++)
        if (redact_fact(redaction, &profile->meta[i]))
            profile->meta[kept++] = profile->meta[i];
    profile->meta_count = kept;
}

static int redact_command(struct redaction *redaction)
{
    struct profile *profile = redaction->profile;
    for (size_t i = 0; i < profile->meta_count; i++) {
        if (strcmp(profile->meta[i].key, PROFILE_META_COMMAND) != 0)
            continue;
        int found = (int)redact_secrets(&redaction->text, profile->meta[i].value);
        profile->meta[i].value = redact_keep(redaction);
        return found;
    }
    return 0;
}

/* ---- The tables ---------------------------------------------------------------------------- */

static void redact_code(struct redaction *redaction)
{
    struct profile *profile = redaction->profile;
    for (size_t i = 0; i < profile->module_count; i++)
        redact_path(redaction, &profile->modules[i].path);
    for (size_t i = 1; i < profile->function_count; i++) {
        redact_name(redaction, &profile->functions[i].name, "function");
        redact_name(redaction, &profile->functions[i].linkage, "function");
        redact_path(redaction, &profile->functions[i].file);
    }
    for (size_t i = 0; i < profile->line_count; i++)
        redact_path(redaction, &profile->lines[i].file);
    for (size_t i = 0; i < profile->block_type_count; i++)
        redact_name(redaction, &profile->block_types[i].name, "type");
    for (size_t i = 0; i < profile->call_type_count; i++)
        redact_name(redaction, &profile->call_types[i].name, "type");
    for (size_t i = 0; i < profile->variable_count; i++) {
        redact_name(redaction, &profile->variables[i].name, "variable");
        redact_name(redaction, &profile->variables[i].linkage, "variable");
        redact_path(redaction, &profile->variables[i].file);
    }
}

static void redact_thread(struct redaction *redaction, char *name, size_t size)
{
    if (redaction->level < REDACT_NAMES || !*name)
        return;
    strbuf_add_string(&redaction->text, "t_");
    redact_add_hash(redaction, name, strlen(name));
    snprintf(name, size, "%s", redaction->text.data);
    strbuf_reset(&redaction->text);
}

static void redact_owner(struct redaction *redaction, struct profile_owner *owner)
{
    redact_path(redaction, &owner->module);
    if (owner->kind == PROFILE_OWNER_FILE || owner->kind == PROFILE_OWNER_MAPPING)
        redact_path(redaction, &owner->name);
    else if (owner->kind == PROFILE_OWNER_GLOBALS)
        redact_name(redaction, &owner->name, "variable");
    else if (owner->kind == PROFILE_OWNER_STACK)
        redact_name(redaction, &owner->name, "thread");
}

/* What the name of a holder of that kind is. */
static void redact_holder(struct redaction *redaction, int kind, const char **name,
                          const char **module)
{
    redact_path(redaction, module);
    if (kind == PROFILE_HOLDER_MAPPING)
        redact_path(redaction, name);
    else if (kind == PROFILE_HOLDER_STACK || kind == PROFILE_HOLDER_REGISTERS ||
             (kind == PROFILE_HOLDER_TLS && !*module))
        redact_name(redaction, name, "thread");
    else if (kind == PROFILE_HOLDER_CLASS)
        redact_name(redaction, name, "class");
    else
        redact_name(redaction, name, "variable");
}

/* Processes of the container may be others' than the recorded ones. */
static void redact_container(struct redaction *redaction, struct profile_container *container)
{
    if (container->kind == PROFILE_CONTAINER_PAGE_CACHE) {
        redact_path(redaction, &container->name);
    } else if (container->name && *container->name) {
        redact_add_hash(redaction, container->name, strlen(container->name));
        container->name = redact_keep(redaction);
    }
}

static void redact_run(struct redaction *redaction)
{
    struct profile *profile = redaction->profile;
    for (size_t i = 0; i < profile->owner_count; i++)
        redact_owner(redaction, &profile->owners[i]);
    for (size_t i = 0; i < profile->container_count; i++)
        redact_container(redaction, &profile->containers[i]);
    for (size_t i = 0; i < profile->holder_count; i++)
        redact_holder(redaction, profile->holders[i].kind, &profile->holders[i].name,
                      &profile->holders[i].module);
    for (size_t i = 0; i < profile->sharer_count; i++)
        redact_holder(redaction, profile->sharers[i].kind, &profile->sharers[i].name,
                      &profile->sharers[i].module);
    for (size_t i = 0; i < profile->chain_count; i++)
        redact_holder(redaction, profile->chains[i].kind, &profile->chains[i].name,
                      &profile->chains[i].module);
    for (size_t i = 0; i < profile->mapping_count; i++)
        redact_path(redaction, &profile->mappings[i].path);
    for (size_t i = 0; i < profile->mark_count; i++)
        redact_name(redaction, &profile->marks[i].name, "mark");
    for (size_t i = 0; i < profile->region_count; i++)
        redact_name(redaction, &profile->regions[i].name, "region");
    for (size_t i = 0; i < profile->thread_count; i++)
        redact_thread(redaction, profile->threads[i].name, sizeof profile->threads[i].name);
    for (size_t i = 0; i < profile->rank_count; i++) {
        profile->ranks[i].note = NULL;
        redact_path(redaction, &profile->ranks[i].file);
    }
    for (size_t i = 0; i < profile->node_peak_count; i++) {
        redact_add_hash(redaction, profile->node_peaks[i].name,
                        strlen(profile->node_peaks[i].name));
        profile->node_peaks[i].name = redact_keep(redaction);
    }
    profile->source_count = 0;
}

int redact_profile(struct profile *profile, enum redact_level level, const char *salt)
{
    struct redaction redaction = {.profile = profile, .level = level, .text = STRBUF_INIT};
    if (level == REDACT_NOTHING)
        return 0;
    int found = redact_make_key(redaction.key, salt);
    if (found < 0)
        return found;
    found = redact_command(&redaction);
    if (level > REDACT_SECRETS) {
        redact_all_facts(&redaction);
        redact_code(&redaction);
        redact_run(&redaction);
    }
    strbuf_release(&redaction.text);
    map_release(&redaction.paths);
    free(redaction.path_list);
    return redaction.no_memory ? error_set(-ENOMEM, "out of memory while hiding names") : found;
}

/* ---- Texts that are in no profile ---------------------------------------------------------- */

int redact_texts_begin(struct redact_texts *texts, enum redact_level level, const char *salt)
{
    *texts = (struct redact_texts){.level = level};
    return level == REDACT_NOTHING ? 0 : redact_make_key(texts->key, salt);
}

static void redact_texts_replace(char **text, struct redaction *redaction)
{
    free(*text);
    *text = strbuf_detach(&redaction->text);
}

void redact_text_hash(const struct redact_texts *texts, enum redact_level from, const char *what,
                      char **text)
{
    struct redaction redaction = {.key = {texts->key[0], texts->key[1]}, .text = STRBUF_INIT};
    if (texts->level < from || texts->level == REDACT_NOTHING || !*text || !**text)
        return;
    strbuf_add_string(&redaction.text, what);
    redact_add_hash(&redaction, *text, strlen(*text));
    redact_texts_replace(text, &redaction);
}

size_t redact_text_command(const struct redact_texts *texts, char **text)
{
    struct redaction redaction = {.text = STRBUF_INIT};
    if (texts->level == REDACT_NOTHING || !*text)
        return 0;
    size_t found = redact_secrets(&redaction.text, *text);
    if (texts->level > REDACT_SECRETS) {
        strbuf_reset(&redaction.text);
        strbuf_add_string(&redaction.text, REDACT_HIDDEN);
    }
    redact_texts_replace(text, &redaction);
    return found;
}
