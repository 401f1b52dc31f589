/* Finds wrappers (wrappers.h). A round asks of each function how many sites it is the innermost
 * frame of, by whom it is called there, and at how many sites it stands further out. Functions that
 * are judged wrappers are hidden, and the next round asks their callers, until a round finds none.
 * The two frames that are asked for are found of each node from its caller's, and the sites that
 * have the same two are counted as one sum. After the first round only nodes with a frame that was
 * hidden since are asked for theirs, and only functions are counted anew that a site has come to or
 * gone from. */
#include "aggregate/wrappers.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "aggregate/frames.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "format/names.h"

/* ---- Names --------------------------------------------------------------------------------- */

enum { WORD_MAX = 24, PREFIX_MOST = 3 };

static bool wrapper_is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (*word == **words && !strcmp(word, *words))
            return true;
    return false;
}

/* "malloc", "xrealloc", "alloc0", "reallocarray", "allocate": letters in front of "alloc", and one
 * of a few endings. */
static bool wrapper_word_allocates(const char *word)
{
    static const char *const endings[] = {
        "",      "z",       "0",      "n",   "s",   "x",    "ate",  "ator",      "ation", "array",
        "align", "aligned", "string", "set", "mem", "size", "zero", "atememory", NULL};
    static const char *const others[] = {"memalign", "memdup",  "strdup",   "strndup",  "dup",
                                         "strsave",  "savestr", "newarray", "mallinfo", NULL};
    const char *alloc = strstr(word, "alloc");
    bool front = alloc && alloc - word <= 4 && strncmp(word, "de", 2);
    return (front && wrapper_is_one_of(alloc + strlen("alloc"), endings)) ||
           wrapper_is_one_of(word, others);
}

/* "sdsnew", "sdsnewlen": a short prefix without anything between. */
static bool wrapper_word_ends_in_new(const char *word)
{
    static const char *const others[] = {"renew", "anew", "sinew", NULL};
    const char *at = strstr(word, "new");
    return at && at != word && at - word <= PREFIX_MOST &&
           (!strcmp(at, "new") || !strcmp(at, "newlen")) && !wrapper_is_one_of(word, others);
}

static bool wrapper_word_makes(const char *word)
{
    static const char *const words[] = {"new",     "grow",   "make",    "create", "clone",
                                        "reserve", "resize", "enlarge", "expand", "extend",
                                        "newsize", "newlen", "newobj",  NULL};
    return wrapper_is_one_of(word, words) || wrapper_word_ends_in_new(word);
}

/* "mem_get", "pool_take": memory, and what is done to it. */
static bool wrapper_word_is_memory(const char *word)
{
    static const char *const words[] = {"mem",  "memory", "pool",   "arena", "slab",
                                        "heap", "chunk",  "chunks", "zone",  NULL};
    return wrapper_is_one_of(word, words);
}

static bool wrapper_word_takes(const char *word)
{
    static const char *const words[] = {"get",     "take",  "acquire", "obtain",
                                        "request", "fetch", NULL};
    return wrapper_is_one_of(word, words);
}

/* What says nothing about whose the memory is. */
static bool wrapper_word_is_filling(const char *word)
{
    static const char *const words[] = {
        "mem",      "memory",  "safe",    "checked", "check",   "zero",    "zeroed", "clear",
        "cleared",  "or",      "die",     "exit",    "abort",   "fail",    "panic",  "fatal",
        "internal", "raw",     "do",      "try",     "get",     "my",      "our",    "util",
        "utils",    "debug",   "dbg",     "wrap",    "wrapper", "impl",    "sys",    "system",
        "heap",     "aligned", "array",   "arrays",  "size",    "sized",   "bytes",  "byte",
        "block",    "blocks",  "buf",     "buffer",  "ptr",     "data",    "host",   "std",
        "base",     "common",  "lib",     "libc",    "func",    "fn",      "hook",   "default",
        "wrapped",  "ex",      "with",    "failure", "no",      "error",   "err",    "the",
        "some",     "track",   "tracked", "counted", "simple",  "generic", "global", "pool",
        "arena",    "slab",    "chunk",   "zone",    NULL};
    return strlen(word) <= 2 || wrapper_is_one_of(word, words);
}

struct wrapper_words {
    unsigned allocate, make, others, memory,
        take;            /* of each kind, the first word left out of the others */
    bool first_is_other; /* it may be the name of the program or the class */
};

static void wrapper_words_add(struct wrapper_words *words, const char *word, bool first)
{
    if (wrapper_word_allocates(word))
        words->allocate++;
    else if (wrapper_word_makes(word))
        words->make++;
    else if (wrapper_word_is_memory(word))
        words->memory++;
    else if (wrapper_word_takes(word))
        words->take++;
    else if (wrapper_word_is_filling(word))
        return;
    else if (first)
        words->first_is_other = strlen(word) > PREFIX_MOST; /* "apr", "ngx": a library's */
    else
        words->others++;
}

/* A word ends at what is no letter or digit, and where a small letter is followed by a large
 * one. */
static size_t wrapper_word_at(const char *name, size_t length, size_t *at, char *word)
{
    size_t filled = 0;
    while (*at < length && !isalnum((unsigned char)name[*at]))
        ++*at;
    for (size_t begin = *at; *at < length && isalnum((unsigned char)name[*at]); ++*at) {
        char c = name[*at];
        if (*at > begin && isupper((unsigned char)c) && !isupper((unsigned char)name[*at - 1]))
            break;
        if (filled + 1 < WORD_MAX)
            word[filled++] = (char)tolower((unsigned char)c);
    }
    word[filled] = '\0';
    return filled;
}

/* Template arguments name what the memory is for. */
static size_t wrapper_name_length(const char *name, size_t length)
{
    const char *angle = memchr(name, '<', length);
    return angle && angle > name ? (size_t)(angle - name) : length;
}

enum wrapper_name wrapper_name_of(const char *function)
{
    size_t length, at = 0;
    const char *name = name_core(function, &length);
    struct wrapper_words words = {0};
    char word[WORD_MAX];
    bool is_template = wrapper_name_length(name, length) < length;
    length = wrapper_name_length(name, length);
    for (bool first = true; wrapper_word_at(name, length, &at, word); first = false)
        wrapper_words_add(&words, word, first);
    if (strstr(function, "operator new")) /* of a class */
        return WRAPPER_NAME_PURE;
    bool takes = words.memory && (words.take || words.make);
    if (takes && !words.allocate)
        return words.first_is_other || words.others ? WRAPPER_NAME_MAKES : WRAPPER_NAME_PURE;
    if (words.allocate && words.others)
        return WRAPPER_NAME_ALLOCATES;
    if (words.allocate)
        return words.first_is_other ? WRAPPER_NAME_GENERIC : WRAPPER_NAME_PURE;
    if (words.make && is_template)
        return WRAPPER_NAME_ALLOCATES; /* "create<int>": for any type */
    return words.make ? WRAPPER_NAME_MAKES : WRAPPER_NAME_PLAIN;
}

/* ---- What the user says --------------------------------------------------------------------- */

struct user_pattern {
    regex_t regex;
    bool is_wrapper;
};
static struct user_pattern *wrappers_user_patterns;
static size_t wrappers_user_pattern_count, wrappers_user_pattern_room;

int wrappers_add(const char *pattern, bool is_wrapper, char *why, size_t why_bytes)
{
    if (!array_make_room(&wrappers_user_patterns, &wrappers_user_pattern_room,
                         wrappers_user_pattern_count, sizeof *wrappers_user_patterns))
        return -ENOMEM;
    struct user_pattern *added = &wrappers_user_patterns[wrappers_user_pattern_count];
    int result = regcomp(&added->regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (result) {
        regerror(result, &added->regex, why, why_bytes);
        return -EINVAL;
    }
    added->is_wrapper = is_wrapper;
    wrappers_user_pattern_count++;
    return 0;
}

/* ---- What is known of a function ------------------------------------------------------------- */

/* Counted in sites: paths with figures. */
struct asker {
    uint32_t direct;            /* of which it is the innermost frame that is shown */
    uint32_t above;             /* below which another frame is shown: it is not thin */
    uint32_t outermost;         /* of the direct ones: nobody called it */
    uint32_t callers, lines;    /* different ones, of the direct ones */
    uint32_t by_allocators;     /* of the direct ones: by functions that are named as wrappers */
    uint32_t by_named;          /* of the direct ones: by functions that have names */
    uint32_t places;            /* different lines that call it */
    uint64_t blocks, temporary; /* it asked for; of these freed at once */
    uint32_t most;              /* of the direct ones: those of one caller, the one with most */
    enum wrapper_name name;
    bool is_judged;      /* `name` is known */
    bool is_stale;       /* a site has come to it or gone since it was counted */
    bool forced, barred; /* --through, --not-through */
    bool maps;           /* it maps memory: a pool, whose pages many share */
    bool kept;           /* --not-through: shown even where it is a library's */
    bool unnamed;        /* code without a name: one address */
    bool found;
};

struct caller_pair {
    uint64_t key; /* upper half: the function; lower half: its caller, or 1u << 31 and a line of
                     it, or 3u << 30 and a line that calls it */
    uint32_t count;
};

/* The two frames of a path that wrappers are told by. */
struct caller_frames {
    uint32_t asking; /* the innermost that is shown: a line, NO_FRAME: there is none */
    uint32_t caller; /* the next outer one of another function, likewise */
};
enum { NO_FRAME = UINT32_MAX };

/* What is asked of a site in each round, side by side. */
struct asking_site {
    uint32_t node;
    bool maps;
    uint64_t blocks, temporary;
};

/* What the sites with the same two frames ask for together. */
struct caller_sum {
    struct caller_frames frames;
    uint32_t sites;
    bool maps;
    uint64_t blocks, temporary;
};

struct wrappers_search {
    const struct profile *profile;
    bool *hidden;
    struct asker *askers; /* by function; behind these by line of code that has no name */
    size_t asker_count;
    uint32_t *code_of_line;
    uint32_t *function_of_line;   /* its asker; 0: code that no one can be told by */
    struct caller_frames *frames; /* by node */
    bool *is_moved;               /* by node: the frames are new in this round */
    bool *is_fresh;               /* by code: a line of it was hidden since the last round */
    int round;
    struct asking_site *sites;
    size_t site_count;
    struct map sum_map;
    uint32_t *sum_of_line; /* by line that asks: the sum that was counted last, + 1; 0: none yet */
    struct caller_sum *sums;
    size_t sum_count, sum_room;
    struct map map; /* of pairs */
    struct caller_pair *pairs;
    size_t pair_count, pair_room;
    uint32_t *below; /* by node: sites below it with a shown frame on the way */
    bool *is_site;   /* by node */
    bool
        *is_on_way; /* by node: it is a site or below it there is one; the others are passed over */
};

/* How often the pair was counted, these times included. */
static uint32_t wrapper_count_pair(struct wrappers_search *search, uint64_t key, uint32_t times)
{
    uint32_t number;
    for (struct map_probe probe = map_probe(&search->map, hash_u64(key));
         map_next(&probe, &number);)
        if (search->pairs[number].key == key)
            return search->pairs[number].count += times;
    array_need_bare_room(&search->pairs, &search->pair_room, search->pair_count,
                         sizeof *search->pairs);
    map_add(&search->map, hash_u64(key), (uint32_t)search->pair_count);
    search->pairs[search->pair_count++] = (struct caller_pair){key, times};
    return times;
}

/* Of a line of profile->lines. Code without a name is known by its address alone. 0: none. */
static uint32_t wrapper_asker_of(const struct profile *profile, uint32_t line)
{
    uint32_t function = profile->lines[line].function;
    return function || !line ? function : (uint32_t)profile->function_count + line;
}

/* The frame of `line` is called by those of `outer`. */
static struct caller_frames wrapper_called_by(const struct wrappers_search *search, uint32_t line,
                                              struct caller_frames outer)
{
    if (search->hidden[line])
        return outer;
    if (outer.asking != NO_FRAME) {
        uint32_t function = search->function_of_line[line];
        if (!function || function != search->function_of_line[outer.asking])
            outer.caller = outer.asking;
    }
    outer.asking = line;
    return outer;
}

static void wrapper_make_stale(struct wrappers_search *search, uint32_t asking)
{
    if (asking != NO_FRAME)
        search->askers[search->function_of_line[asking]].is_stale = true;
}

static void wrapper_find_frames_of(struct wrappers_search *search, size_t node)
{
    const struct profile *profile = search->profile;
    const struct profile_code *code = &profile->codes[profile->nodes[node].location];
    struct caller_frames old = search->frames[node];
    struct caller_frames frames = search->frames[profile->nodes[node].parent];
    for (uint32_t at = code->line_count; at-- > 0;)
        frames = wrapper_called_by(search, code->first_line + at, frames);
    search->is_moved[node] = frames.asking != old.asking || frames.caller != old.caller;
    search->frames[node] = frames;
    if (search->is_site[node] && search->is_moved[node]) {
        wrapper_make_stale(search, old.asking);
        wrapper_make_stale(search, frames.asking);
    }
}

/* Parents come before their children. */
static void wrapper_find_frames(struct wrappers_search *search)
{
    const struct profile *profile = search->profile;
    bool is_first = search->round == 0;
    if (is_first)
        for (size_t i = 0; i < profile->node_count; i++)
            search->frames[i] = (struct caller_frames){NO_FRAME, NO_FRAME};
    for (size_t i = 1; i < profile->node_count; i++) {
        search->is_moved[i] = false;
        if (!search->is_on_way[i])
            continue;
        if (is_first || search->is_moved[profile->nodes[i].parent] ||
            search->is_fresh[profile->nodes[i].location])
            wrapper_find_frames_of(search, i);
    }
}

static bool wrapper_is_sum_of(const struct caller_sum *sum, struct caller_frames frames)
{
    return sum->frames.asking == frames.asking && sum->frames.caller == frames.caller;
}

static uint32_t wrapper_find_sum(struct wrappers_search *search, struct caller_frames frames)
{
    uint64_t hash = hash_u64((uint64_t)frames.asking << 32 | frames.caller);
    uint32_t number;
    for (struct map_probe probe = map_probe(&search->sum_map, hash); map_next(&probe, &number);)
        if (wrapper_is_sum_of(&search->sums[number], frames))
            return number;
    array_need_bare_room(&search->sums, &search->sum_room, search->sum_count, sizeof *search->sums);
    map_add(&search->sum_map, hash, (uint32_t)search->sum_count);
    search->sums[search->sum_count] = (struct caller_sum){.frames = frames};
    return (uint32_t)search->sum_count++;
}

/* Sites of one call often follow one another. */
static void wrapper_add_site(struct wrappers_search *search, const struct asking_site *site)
{
    struct caller_frames frames = search->frames[site->node];
    uint32_t function = frames.asking == NO_FRAME ? 0 : search->function_of_line[frames.asking];
    if (!function || !search->askers[function].is_stale)
        return;
    uint32_t *last = &search->sum_of_line[frames.asking];
    if (!*last || !wrapper_is_sum_of(&search->sums[*last - 1], frames))
        *last = wrapper_find_sum(search, frames) + 1;
    struct caller_sum *sum = &search->sums[*last - 1];
    sum->sites++;
    sum->maps |= site->maps;
    sum->blocks += site->blocks;
    sum->temporary += site->temporary;
}

enum { LINE_BITS = (1 << 30) - 1 };

static enum wrapper_name wrapper_name_at(struct wrappers_search *search, uint32_t function)
{
    struct asker *asker = &search->askers[function];
    const char *name =
        asker->is_judged || asker->unnamed ? NULL : search->profile->functions[function].name;
    if (name)
        asker->name = wrapper_name_of(name);
    asker->is_judged = true;
    return asker->name;
}

static void wrapper_count_caller(struct wrappers_search *search, struct asker *asker, uint64_t side,
                                 const struct caller_sum *sum)
{
    uint32_t caller = sum->frames.caller, outer = search->function_of_line[caller];
    uint32_t code = search->code_of_line[caller], sites = sum->sites;
    asker->places +=
        wrapper_count_pair(search, side | 3u << 30 | (caller & LINE_BITS), sites) == sites;
    uint32_t count = wrapper_count_pair(search, side | (outer ? outer : 1u << 30 | code), sites);
    asker->callers += count == sites;
    asker->by_named += outer && !search->askers[outer].unnamed ? sites : 0;
    asker->by_allocators +=
        outer && wrapper_name_at(search, outer) >= WRAPPER_NAME_ALLOCATES ? sites : 0;
    asker->most = count > asker->most ? count : asker->most;
}

static void wrapper_count_sum(struct wrappers_search *search, const struct caller_sum *sum)
{
    uint32_t line = sum->frames.asking, function = search->function_of_line[line];
    struct asker *asker = &search->askers[function];
    asker->direct += sum->sites;
    asker->maps |= sum->maps;
    asker->blocks += sum->blocks;
    asker->temporary += sum->temporary;
    uint64_t side = (uint64_t)function << 32;
    uint64_t own_line = search->profile->lines[line].line & LINE_BITS;
    asker->lines +=
        wrapper_count_pair(search, side | 1u << 31 | own_line, sum->sites) == sum->sites;
    if (sum->frames.caller == NO_FRAME)
        asker->outermost += sum->sites;
    else
        wrapper_count_caller(search, asker, side, sum);
}

/* ---- Thin or not ----------------------------------------------------------------------------- */

/* The frames of a node, outside its innermost shown one, or all where something is shown below. */
static void wrapper_count_above(struct wrappers_search *search, uint32_t node, uint32_t own)
{
    const struct profile *profile = search->profile;
    const struct profile_code *code = &profile->codes[profile->nodes[node].location];
    uint32_t inside = search->below[node];
    for (uint32_t i = 0; i < code->line_count; i++) {
        uint32_t line = code->first_line + i;
        if (search->hidden[line])
            continue;
        search->askers[search->function_of_line[line]].above += inside;
        inside += own; /* the next is outside of this one */
        own = 0;
    }
    search->below[profile->nodes[node].parent] += inside;
}

/* Children come behind their parents. */
static void wrapper_count_outer_frames(struct wrappers_search *search)
{
    size_t count = search->profile->node_count;
    memset(search->below, 0, count * sizeof *search->below);
    for (size_t i = count; i-- > 1;)
        if (search->below[i] || search->is_site[i])
            wrapper_count_above(search, (uint32_t)i, search->is_site[i]);
}

/* ---- Judgement ------------------------------------------------------------------------------- */

/* How many functions must call it, and how much of its sites one of them may have, in per cent. */
static const struct wanted {
    uint32_t callers, most_of_one;
} wanted[] = {
    [WRAPPER_NAME_PLAIN] = {16, 25},     [WRAPPER_NAME_MAKES] = {2, 90},
    [WRAPPER_NAME_ALLOCATES] = {1, 100}, [WRAPPER_NAME_GENERIC] = {1, 100},
    [WRAPPER_NAME_PURE] = {1, 100},
};
/* A function that allocates at more lines than LINES_MOST is no wrapper. A function that is called
 * at one line only could as well stand there, and is a wrapper only by its name. */
enum { LINES_MOST = 4, PLACES_LEAST = 2 };

/* Code without a name says nothing to anybody: a static function of a library that was stripped.
 * Where functions with names call it, two are enough; else many. */
static struct wanted wrapper_wanted(const struct asker *asker)
{
    static const struct wanted by_named = {2, 90}, by_unnamed = {16, 75};
    if (!asker->unnamed)
        return wanted[asker->name];
    return asker->by_named * 10 >= asker->direct * 9 ? by_named : by_unnamed;
}

static bool wrapper_is_called_by_many(const struct asker *asker)
{
    struct wanted least = wrapper_wanted(asker);
    return asker->places >= PLACES_LEAST && asker->callers >= least.callers &&
           (uint64_t)asker->most * 100 <= (uint64_t)asker->direct * least.most_of_one;
}

/* Is it called by allocators only? Then it is a part of them: pool_grow() of pool_alloc(). */
static bool wrapper_is_of_allocators(const struct asker *asker)
{
    return asker->name >= WRAPPER_NAME_MAKES && asker->by_allocators == asker->direct;
}

/* Does the function allocate for itself? It does if much is freed at once, or if it allocates at
 * several lines. */
static bool wrapper_keeps_to_itself(const struct asker *asker)
{
    return asker->lines > 1 || asker->temporary * 4 > asker->blocks;
}

static bool wrapper_is_one(const struct asker *asker, int round)
{
    if (asker->barred || asker->outermost)
        return false;
    if (asker->forced || asker->maps)
        return asker->forced;
    if (asker->name == WRAPPER_NAME_PLAIN &&
        (round > (asker->unnamed ? 1 : 0) || wrapper_keeps_to_itself(asker)))
        return false;
    if (asker->above > asker->direct / 4 || asker->lines > LINES_MOST)
        return false;
    if (asker->name == WRAPPER_NAME_PURE || wrapper_is_of_allocators(asker))
        return true;
    return wrapper_is_called_by_many(asker);
}

static bool wrapper_is_to_hide(const struct wrappers_search *search, uint32_t line)
{
    return !search->hidden[line] && search->askers[wrapper_asker_of(search->profile, line)].found;
}

static void wrapper_hide_functions(struct wrappers_search *search)
{
    const struct profile *profile = search->profile;
    bool *of_wrappers = search->hidden + profile->line_count + 1;
    for (size_t code = 0; code < profile->code_count; code++) {
        const struct profile_code *of = &profile->codes[code];
        search->is_fresh[code] = false;
        for (uint32_t i = of->first_line; i < of->first_line + of->line_count; i++)
            search->is_fresh[code] |= wrapper_is_to_hide(search, i);
    }
    for (size_t i = 0; i < profile->line_count; i++)
        if (wrapper_is_to_hide(search, (uint32_t)i))
            search->hidden[i] = of_wrappers[i] = true;
}

static void wrapper_round_begin(struct wrappers_search *search)
{
    map_empty(&search->map);
    map_empty(&search->sum_map);
    search->pair_count = search->sum_count = 0;
    memset(search->sum_of_line, 0, search->profile->line_count * sizeof *search->sum_of_line);
    for (size_t i = 0; i < search->asker_count; i++) {
        struct asker *asker = &search->askers[i];
        asker->above = 0;
        if (!asker->is_stale)
            continue;
        *asker = (struct asker){.name = asker->name,
                                .is_judged = asker->is_judged,
                                .is_stale = true,
                                .unnamed = asker->unnamed,
                                .forced = asker->forced,
                                .barred = asker->barred,
                                .found = asker->found};
    }
}

static void wrapper_count_sites(struct wrappers_search *search)
{
    for (size_t i = 0; i < search->site_count; i++)
        wrapper_add_site(search, &search->sites[i]);
    for (size_t i = 0; i < search->sum_count; i++)
        wrapper_count_sum(search, &search->sums[i]);
    for (size_t i = 0; i < search->asker_count; i++)
        search->askers[i].is_stale = false;
}

/* How many were found. */
static int wrapper_round(struct wrappers_search *search, int round)
{
    int found = 0;
    search->round = round;
    wrapper_find_frames(search);
    wrapper_round_begin(search);
    wrapper_count_sites(search);
    wrapper_count_outer_frames(search);
    for (size_t i = 1; i < search->asker_count; i++) {
        struct asker *asker = &search->askers[i];
        if (!asker->direct || asker->found)
            continue;
        wrapper_name_at(search, (uint32_t)i);
        asker->found = wrapper_is_one(asker, round);
        found += asker->found;
    }
    wrapper_hide_functions(search);
    return found;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void wrapper_mark_named(struct wrappers_search *search, const struct user_pattern *pattern)
{
    for (size_t i = 1; i < search->profile->function_count; i++) {
        const char *name = search->profile->functions[i].name;
        struct asker *asker = &search->askers[i];
        if (!name || regexec(&pattern->regex, name, 0, NULL, 0))
            continue;
        asker->forced |= pattern->is_wrapper;
        asker->barred |= !pattern->is_wrapper;
        asker->kept |= !pattern->is_wrapper;
    }
}

static void wrapper_name_all(struct wrappers_search *search)
{
    for (size_t i = 1; i < search->profile->function_count; i++) {
        const char *name = search->profile->functions[i].name;
        search->askers[i].barred = !name || !strcmp(name, "?") || !strcmp(name, "main");
    }
    for (size_t i = search->profile->function_count; i < search->asker_count; i++)
        search->askers[i].unnamed = true;
    for (size_t i = 0; i < wrappers_user_pattern_count; i++)
        wrapper_mark_named(search, &wrappers_user_patterns[i]);
    for (size_t i = 0; i < search->profile->line_count; i++)
        search->hidden[i] &= !search->askers[search->profile->lines[i].function].kept;
}

static void wrapper_place_lines(struct wrappers_search *search, uint32_t code)
{
    const struct profile_code *of = &search->profile->codes[code];
    for (uint32_t line = of->first_line; line < of->first_line + of->line_count; line++) {
        search->code_of_line[line] = code;
        search->function_of_line[line] =
            code && !of->mark ? wrapper_asker_of(search->profile, line) : 0;
    }
}

static void wrapper_take_site(struct wrappers_search *search, uint32_t path, bool maps,
                              struct figure alloc_count, struct figure temporary_count)
{
    search->is_site[path] = true;
    search->sites[search->site_count++] =
        (struct asking_site){path, maps, figure_or(alloc_count, 0), figure_or(temporary_count, 0)};
}

static bool wrapper_take_all_sites(struct wrappers_search *search)
{
    const struct profile *profile = search->profile;
    const char *level = profile_get(profile, PROFILE_META_LEVEL);
    bool of_mappings = level && !strcmp(level, memory_level_name(MEMORY_MAPPED));
    size_t count = profile->site_count + profile->mapped_site_count;
    search->sites = calloc(count + 1, sizeof *search->sites);
    if (!search->sites)
        return false;
    for (size_t i = 0; i < profile->site_count; i++)
        wrapper_take_site(search, profile_site_path(profile, i), of_mappings,
                          profile_site_figure(profile, i, METRIC_ROW(alloc_count)),
                          profile_site_figure(profile, i, METRIC_ROW(temporary_count)));
    for (size_t i = 0; i < profile->mapped_site_count; i++) {
        const struct profile_site *site = &profile->mapped_sites[i];
        wrapper_take_site(search, site->path, true, site->metrics.alloc_count,
                          site->metrics.temporary_count);
    }
    return true;
}

static void wrapper_mark_ways(struct wrappers_search *search)
{
    const struct profile *profile = search->profile;
    for (size_t i = profile->node_count; i-- > 1;) {
        search->is_on_way[i] |= search->is_site[i];
        search->is_on_way[profile->nodes[i].parent] |= search->is_on_way[i];
    }
}

static bool wrapper_search_begin(struct wrappers_search *search)
{
    const struct profile *profile = search->profile;
    search->asker_count = profile->function_count + profile->line_count;
    search->askers = calloc(search->asker_count + 1, sizeof *search->askers);
    search->code_of_line = calloc(profile->line_count + 1, sizeof *search->code_of_line);
    search->function_of_line = calloc(profile->line_count + 1, sizeof *search->function_of_line);
    search->frames = calloc(profile->node_count + 1, sizeof *search->frames);
    search->sum_of_line = calloc(profile->line_count + 1, sizeof *search->sum_of_line);
    search->is_moved = calloc(profile->node_count + 1, sizeof *search->is_moved);
    search->is_fresh = calloc(profile->code_count + 1, sizeof *search->is_fresh);
    search->below = calloc(profile->node_count + 1, sizeof *search->below);
    search->is_site = calloc(profile->node_count + 1, sizeof *search->is_site);
    search->is_on_way = calloc(profile->node_count + 1, sizeof *search->is_on_way);
    if (!search->askers || !search->code_of_line || !search->function_of_line || !search->frames ||
        !search->sum_of_line || !search->is_moved || !search->is_fresh || !search->below ||
        !search->is_site || !search->is_on_way || !wrapper_take_all_sites(search))
        return false;
    wrapper_mark_ways(search);
    for (size_t i = 0; i < profile->code_count; i++)
        wrapper_place_lines(search, (uint32_t)i);
    wrapper_name_all(search);
    return true;
}

static void wrapper_search_end(struct wrappers_search *search)
{
    free(search->askers);
    free(search->code_of_line);
    free(search->function_of_line);
    free(search->frames);
    free(search->is_moved);
    free(search->is_fresh);
    free(search->sites);
    free(search->sums);
    free(search->pairs);
    free(search->below);
    free(search->is_site);
    free(search->is_on_way);
    free(search->sum_of_line);
    map_release(&search->sum_map);
    map_release(&search->map);
}

enum { ROUNDS = 6 };

bool wrappers_hide(const struct profile *profile, bool *hidden)
{
    struct wrappers_search search = {.profile = profile, .hidden = hidden};
    int found = wrapper_search_begin(&search) ? 1 : -1;
    for (int round = 0; found > 0 && round < ROUNDS; round++)
        found = wrapper_round(&search, round);
    wrapper_search_end(&search);
    return found >= 0;
}
