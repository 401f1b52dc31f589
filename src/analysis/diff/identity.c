/* Gives each function a number that is the same in all profiles (identity.h). Names are interned in
 * one table. A first pass finds names that stand for functions of several files, and only those are
 * told apart by their file. */
#include "diff/identity.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/array.h"
#include "format/names.h"
#include "aggregate/frames.h"
#include "aggregate/functions.h"

/* ---- Names --------------------------------------------------------------------------------- */

/* The length without one suffix of a clone ("f.part.0" → "f"), or as it is. */
static size_t identity_without_suffix(const char *name, size_t length)
{
    static const char *const suffixes[] = {".constprop", ".part", ".isra",       ".cold",
                                           ".lto_priv",  ".llvm", ".localalias", NULL};
    size_t end = length;
    while (end && isdigit((unsigned char)name[end - 1]))
        end--;
    if (end == length || !end || name[end - 1] != '.')
        end = length;
    else
        end--;
    for (int i = 0; suffixes[i]; i++) {
        size_t suffix = strlen(suffixes[i]);
        if (end > suffix && !memcmp(name + end - suffix, suffixes[i], suffix))
            return end - suffix;
    }
    return length;
}

void identity_add_module(struct strbuf *out, const char *path)
{
    const char *base = name_base(path), *so = strstr(base, ".so.");
    size_t length = so ? (size_t)(so - base) + 3 : strlen(base);
    const char *dash = memchr(base, '-', length);
    if (dash && isdigit((unsigned char)dash[1]) && length > 3 &&
        !memcmp(base + length - 3, ".so", 3)) { /* libc-2.36.so */
        strbuf_add(out, base, (size_t)(dash - base));
        strbuf_add_string(out, ".so");
        return;
    }
    strbuf_add(out, base, length);
}

/* Owners without a call path (profile_take_level()). A thread is the same by its name, whatever its
 * number; a file is, whatever its version. False: it is a function. */
static bool identity_add_owner(struct strbuf *out, const char *name)
{
    static const char stack[] = "[stack] ", file[] = "[file] ";
    size_t length = strlen(name), digits = 0;
    if (!strncmp(name, file, sizeof file - 1)) {
        strbuf_add_string(out, file);
        identity_add_module(out, name + sizeof file - 1);
        return true;
    }
    if (strncmp(name, stack, sizeof stack - 1))
        return false;
    while (isdigit((unsigned char)name[length - 1 - digits]))
        digits++;
    if (digits && name[length - 1 - digits] == ' ' && length - 1 - digits >= sizeof stack)
        length -= digits + 1;
    strbuf_add(out, name, length);
    return true;
}

void identity_add_name(struct strbuf *out, const char *name)
{
    if (identity_add_owner(out, name))
        return;
    const char *clone = strstr(name, " [clone ");
    size_t length = clone ? (size_t)(clone - name) : strlen(name), before;
    do {
        before = length;
        length = identity_without_suffix(name, length);
    } while (length != before);
    strbuf_add(out, name, length);
}

/* ---- A table of strings -------------------------------------------------------------------- */

struct identity_slot {
    const char *name; /* NULL: free */
    const char *file; /* while looking for ambiguity: where the profile looked at has it */
    uint32_t identity, seen_in;
    bool ambiguous;
};

static const char *identity_keep(struct identities *identities, const char *string)
{
    if (!array_make_room(&identities->strings, &identities->string_capacity,
                         identities->string_count, sizeof *identities->strings))
        return NULL;
    char *copy = strdup(string);
    if (copy)
        identities->strings[identities->string_count++] = copy;
    return copy;
}

/* NULL: out of memory. The table has room for twice the names that there can be. */
static struct identity_slot *identity_slot_of(struct identities *identities, const char *name)
{
    size_t at = hash_bytes(name, strlen(name)) & (identities->slot_count - 1);
    while (identities->slots[at].name && strcmp(identities->slots[at].name, name))
        at = (at + 1) & (identities->slot_count - 1);
    struct identity_slot *slot = &identities->slots[at];
    if (!slot->name)
        slot->name = identity_keep(identities, name);
    return slot->name ? slot : NULL;
}

/* ---- Which names are ambiguous ------------------------------------------------------------- */

static int identity_look_at(struct identities *identities, const struct profile *profile,
                            uint32_t number)
{
    struct strbuf name = STRBUF_INIT;
    int error = 0;
    for (size_t i = 1; i < profile->function_count && !error; i++) {
        const struct profile_function *function = &profile->functions[i];
        strbuf_reset(&name);
        identity_add_name(&name, function->name);
        struct identity_slot *slot = identity_slot_of(identities, name.data);
        if (!slot) {
            error = -ENOMEM;
        } else if (function->file) {
            const char *base = name_base(function->file);
            slot->ambiguous |= slot->seen_in == number && strcmp(slot->file, base) != 0;
            slot->seen_in = number;
            slot->file = base;
        }
    }
    strbuf_release(&name);
    return error;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

static const char *const kinds[] = {
    [FUNCTION_KEY_ANONYMOUS] = "[code in no module]",
    [FUNCTION_KEY_UNWALKABLE] = "[stack could not be walked further]",
    [FUNCTION_KEY_CUT] = "[deeper than --max-depth]",
    [FUNCTION_KEY_NO_PATH] = "[no call path]",
};

/* A line of a script whose functions are not known is itself, by its file's whole path. NULL: the
 * key is of something else. */
static const char *identity_script_line(const struct profile *profile, uint32_t key,
                                        struct frame *frame)
{
    uint32_t line;
    if (!function_key_frame(profile, key, frame) || !frame_is_interpreted(profile, *frame))
        return NULL;
    return frame_file(profile, *frame, &line);
}

/* Code of a module that has no name: the module's. */
static void identity_add_unnamed(struct strbuf *out, const struct profile *profile,
                                 const char *module)
{
    const char *program = profile_get(profile, PROFILE_META_EXECUTABLE);
    strbuf_add_char(out, '[');
    if (program && !strcmp(program, module))
        strbuf_add_string(out, "the program");
    else
        identity_add_module(out, module);
    strbuf_add_char(out, ']');
}

/* The text by which a function is the same in all profiles: its name and, where that is ambiguous,
 * "\n" and the name of its file. */
static void identity_add_distinct(struct strbuf *out, struct identities *identities,
                                  const struct profile *profile, uint32_t key)
{
    uint32_t index;
    enum function_key_kind kind = function_key_kind(profile, key, &index);
    struct frame frame;
    const char *script = identity_script_line(profile, key, &frame);
    if (script) {
        frame_add_name(out, profile, frame);
        strbuf_addf(out, "\n%s", script);
    } else if (kind == FUNCTION_KEY_UNNAMED) {
        identity_add_unnamed(out, profile, profile->modules[index].path);
    } else if (kind != FUNCTION_KEY_FUNCTION) {
        strbuf_add_string(out, kinds[kind]);
    } else {
        const struct profile_function *function = &profile->functions[index];
        identity_add_name(out, function->name);
        struct identity_slot *slot = identity_slot_of(identities, out->data);
        if (slot && slot->ambiguous)
            strbuf_addf(out, "\n%s", function->file ? name_base(function->file) : "");
    }
}

static struct identity *identity_new_identity(struct identities *identities, const char *distinct)
{
    if (!array_make_room(&identities->of, &identities->capacity, identities->count,
                         sizeof *identities->of))
        return NULL;
    struct strbuf shown = STRBUF_INIT;
    strbuf_add(&shown, distinct, strcspn(distinct, "\n"));
    struct identity *identity = &identities->of[identities->count];
    *identity = (struct identity){identity_keep(identities, shown.data), NULL, NULL};
    strbuf_release(&shown);
    if (!identity->name)
        return NULL;
    identities->count++;
    return identity;
}

static int identity_number_key(struct identities *identities, const struct profile *profile,
                               uint32_t key, uint32_t *identity)
{
    struct strbuf distinct = STRBUF_INIT;
    uint32_t index;
    struct frame frame;
    identity_add_distinct(&distinct, identities, profile, key);
    struct identity_slot *slot = identity_slot_of(identities, distinct.data);
    if (slot && !slot->identity) {
        slot->identity = (uint32_t)identities->count;
        if (!identity_new_identity(identities, distinct.data))
            slot = NULL;
    }
    strbuf_release(&distinct);
    if (!slot)
        return -ENOMEM;
    *identity = slot->identity;
    const char *script = identity_script_line(profile, key, &frame);
    if (script)
        identities->of[slot->identity].file = script;
    else if (function_key_kind(profile, key, &index) == FUNCTION_KEY_FUNCTION &&
             profile->functions[index].file)
        identities->of[slot->identity].file = profile->functions[index].file;
    return 0;
}

static int identity_number_profile(struct identities *identities, const struct profile *profile,
                                   uint32_t **by_key)
{
    size_t keys = function_key_count(profile);
    *by_key = calloc(keys + 1, sizeof **by_key);
    int error = *by_key ? 0 : -ENOMEM;
    for (uint32_t key = 0; key < keys && !error; key++)
        error = identity_number_key(identities, profile, key, &(*by_key)[key]);
    return error;
}

int identities_init(struct identities *identities, const struct profile *const *profiles,
                    size_t count)
{
    size_t names = 1;
    for (size_t i = 0; i < count; i++)
        names += 2 * profiles[i]->function_count + function_key_count(profiles[i]);
    *identities = (struct identities){.profile_count = count, .slot_count = 64};
    while (identities->slot_count < 2 * names)
        identities->slot_count *= 2;
    identities->slots = calloc(identities->slot_count, sizeof *identities->slots);
    identities->by_key = calloc(count + 1, sizeof *identities->by_key);
    if (!identities->slots || !identities->by_key || !identity_new_identity(identities, ""))
        return -ENOMEM;
    int error = 0;
    for (size_t i = 0; i < count && !error; i++)
        error = identity_look_at(identities, profiles[i], (uint32_t)i + 1);
    for (size_t i = 0; i < count && !error; i++)
        error = identity_number_profile(identities, profiles[i], &identities->by_key[i]);
    return error;
}

void identities_release(struct identities *identities)
{
    for (size_t i = 0; identities->by_key && i < identities->profile_count; i++)
        free(identities->by_key[i]);
    for (size_t i = 0; i < identities->string_count; i++)
        free(identities->strings[i]);
    free(identities->by_key);
    free(identities->strings);
    free(identities->slots);
    free(identities->of);
    *identities = (struct identities){0};
}
