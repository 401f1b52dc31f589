/* Finds Perl's interpreter by its exports, and reads its contexts, statements and subs by a layout:
 * one row of offsets for some versions (perl.h). */
#include "runtimes/perl.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/hash.h"
#include "runtimes/script_memory.h"

/* Offsets in bytes. Sources: intrpvar.h, cop.h, cv.h, gv.h, hv.h of each version. */
struct perl_layout {
    uint8_t first, last;       /* 28: 5.28 */
    uint16_t statement, level; /* in the interpreter: PL_curcop, PL_curstackinfo */
    uint16_t context_bytes, context_sub;
    uint16_t stash_name; /* in a package's body; 0: behind its table */
    uint16_t nextstate;  /* the number of this operation */
};

static const struct perl_layout layouts[] = {
    {28, 30, 224, 240, 96, 64, 0, 195},   {32, 32, 224, 240, 104, 72, 0, 195},
    {34, 34, 208, 224, 104, 72, 0, 195},  {36, 36, 208, 224, 104, 72, 32, 195},
    {38, 40, 208, 224, 104, 72, 32, 198},
};

/* The same in all of them. */
enum {
    LEVEL_CONTEXTS = 8,
    LEVEL_PREVIOUS = 16,
    LEVEL_INDEX = 32,
    LEVEL_MOST = 36,
    LEVEL_BYTES = 40,
    CONTEXT_TYPE = 0,
    CONTEXT_OPERATION = 2,
    CONTEXT_STATEMENT = 16,
    CONTEXT_RETURN = 48,
    OPERATION_TYPE = 32,
    STATEMENT_LINE = 36,
    STATEMENT_FILE = 48,
    STATEMENT_SEQUENCE = 60,
    STATEMENT_BYTES = 64,
    ANY_BODY = 0,
    ANY_FLAGS = 12,
    ANY_VALUE = 16,
    SUB_STASH = 32,
    SUB_START = 40,
    SUB_NAME = 56,
    SUB_FLAGS = 92,
    GLOB_NAME = 32,
    GLOB_STASH = 40,
    STASH_MOST = 24,
    STASH_NAME_COUNT = 28, /* behind the name */
    KEY_LENGTH = 4,
    KEY_TEXT = 8,
};

enum {
    CONTEXT_KIND = 0xf,
    CONTEXT_SUB = 9,
    CONTEXT_FORMAT = 10,
    CONTEXT_EVAL = 11,
    CONTEXT_FAKE = 0x80,  /* of a sub: code in a regular expression, whose sub comes again */
    CONTEXT_BLOCK = 0xc0, /* of an eval: of a block, of a try */
    OPERATION_MASK = 0x1ff,
    DBSTATE = 1, /* from nextstate on */
    REQUIRE = 147,
    DO_FILE = 148,
    FLAG_KIND = 0xff,
    FLAG_IS_SUB = 13,
    FLAG_IS_GLOB = 9,
    FLAG_IS_STASH = 12,
    FLAG_IS_FORMAT = 14,
    FLAG_STASH_MORE = 0x02000000,
    SUB_IS_NAMED = 0x8000,
    SUB_IS_NATIVE = 8,
    KEY_IS_UTF8 = 1,
};

enum perl_kind { KIND_MAIN, KIND_SUB, KIND_EVAL, KIND_REQUIRE, KIND_DO };

enum {
    STEPS_MOST = 1 << 16,  /* contexts of a stack that are looked at */
    FRAMES_MOST = 1 << 10, /* and frames that make its hash: as many as a path may have */
    FOLDER_BYTES = 512,
    INTERPRETER_BYTES = 3 << 10, /* at least; a statement that is being compiled is in it */
    KEY_MOST = 1 << 12,
};

static struct {
    const struct perl_layout *layout; /* NULL: no interpreter was seen */
    struct code_span module, calls[3];
    const pthread_key_t *key;           /* leads to the thread's interpreter; NULL: it is the one */
    const uintptr_t *statement, *level; /* of that */
    char folder[FOLDER_BYTES];          /* where relative names of files begin */
} perl;

/* ---- Finding it ---- */

static const struct perl_layout *perl_layout_of(const struct dl_phdr_info *info)
{
    const uint8_t *revision = (const void *)script_symbol(info, "PL_revision");
    const uint8_t *version = (const void *)script_symbol(info, "PL_version");

    for (size_t i = 0; revision && version && i < sizeof layouts / sizeof *layouts; i++)
        if (*revision == 5 && *version % 2 == 0 && *version >= layouts[i].first &&
            *version <= layouts[i].last)
            return &layouts[i];
    return NULL;
}

bool perl_see_module(const struct dl_phdr_info *info)
{
    const struct perl_layout *layout = perl.layout ? NULL : perl_layout_of(info);

    if (!layout || sizeof(void *) != 8)
        return false;
    perl.module = script_segments(info);
    perl.calls[0] = script_function(info, "Perl_runops_standard");
    perl.calls[1] = script_function(info, "perl_parse");
    perl.calls[2] = script_function(info, "perl_destruct");
    perl.key = (const void *)script_symbol(info, "PL_thr_key");
    perl.statement = (const void *)script_symbol(info, "PL_curcop");
    perl.level = (const void *)script_symbol(info, "PL_curstackinfo");
    if (perl.calls[0].lo && (perl.key || (perl.statement && perl.level)))
        perl.layout = layout;
    if (syscall(SYS_getcwd, perl.folder, sizeof perl.folder) < 0 || *perl.folder != '/')
        *perl.folder = '\0';
    return perl.layout != NULL;
}

bool perl_is_unread(const struct dl_phdr_info *info)
{
    return !perl.layout && script_symbol(info, "perl_construct") &&
           script_symbol(info, "PL_version");
}

static struct code_span perl_module(void)
{
    return perl.layout ? perl.module : (struct code_span){0, 0};
}

static void perl_forget(void)
{
    perl.layout = NULL;
}

static bool perl_is_call(uintptr_t return_address)
{
    return code_span_has(&perl.calls[0], return_address) ||
           code_span_has(&perl.calls[1], return_address) ||
           code_span_has(&perl.calls[2], return_address);
}

/* ---- Reading ---- */

/* Is it a statement? What is being compiled has one of no type. */
static inline bool perl_is_statement(uintptr_t address)
{
    if (address % sizeof(uintptr_t) || !script_are_there(address, STATEMENT_BYTES))
        return false;
    uint32_t type = *(const uint16_t *)(address + OPERATION_TYPE) & OPERATION_MASK;
    return type - perl.layout->nextstate <= DBSTATE || type == 0;
}

/* ---- Frames ---- */

struct perl_stack_walk {
    uintptr_t interpreter;
    uintptr_t statement, level;
    uintptr_t context, first; /* behind the next one outwards, the outermost */
    uintptr_t there;          /* contexts from here on were seen to be there */
    uint32_t steps;
    bool ended;
};

static inline void perl_walk_level(struct perl_stack_walk *walk, uintptr_t level)
{
    walk->level = level;
    walk->context = walk->first = walk->there = 0;
    if (!level || level % sizeof(uintptr_t) || !script_are_there(level, LEVEL_BYTES))
        return;
    int32_t index = *(const int32_t *)(level + LEVEL_INDEX);
    walk->first = *(const uintptr_t *)(level + LEVEL_CONTEXTS);
    if (!walk->first || walk->first % sizeof(uintptr_t) || index < 0 ||
        index > *(const int32_t *)(level + LEVEL_MOST))
        index = -1;
    walk->context = walk->first + (size_t)(index + 1) * perl.layout->context_bytes;
    walk->there = UINTPTR_MAX;
}

static inline void perl_walk_begin(struct perl_stack_walk *walk)
{
    uintptr_t interpreter = perl.key ? (uintptr_t)pthread_getspecific(*perl.key) : 0;

    *walk = (struct perl_stack_walk){.interpreter = interpreter};
    if (!perl.key) {
        walk->statement = *perl.statement;
        perl_walk_level(walk, *perl.level);
    } else if (interpreter) {
        walk->statement = script_word(interpreter + perl.layout->statement);
        perl_walk_level(walk, script_word(interpreter + perl.layout->level));
    }
}

/* Of a sub, a format, a string or a file? The types of contexts are neighbours, and so are here
 * what else these must not be. */
static inline bool perl_is_frame(uint32_t words)
{
    enum { NOT = CONTEXT_FAKE | CONTEXT_BLOCK << 16 };
    uint32_t type = (words & CONTEXT_KIND) - CONTEXT_SUB;

    return type <= CONTEXT_EVAL - CONTEXT_SUB && !((uint32_t)NOT >> type * 8 & words & 0xff);
}

static __attribute__((noinline)) bool perl_walk_see(struct perl_stack_walk *walk)
{
    if (!script_are_there(walk->context, perl.layout->context_bytes)) {
        walk->steps = STEPS_MOST; /* damage ends it all */
        return false;
    }
    walk->there = walk->context >> SCRIPT_PAGE_BITS << SCRIPT_PAGE_BITS;
    return true;
}

/* The next frame outwards that a context is of. */
static inline bool perl_walk_context(struct perl_stack_walk *walk, struct script_frame *frame)
{
    while (walk->context > walk->first && walk->steps++ < STEPS_MOST) {
        uintptr_t context = walk->context -= perl.layout->context_bytes;
        if (unlikely(context < walk->there) && !perl_walk_see(walk))
            break;
        uint32_t words = *(const uint32_t *)(context + CONTEXT_TYPE);
        if (!perl_is_frame(words))
            continue;
        bool is_sub = (words & CONTEXT_KIND) != CONTEXT_EVAL;
        const uintptr_t *code = (const uintptr_t *)(context + perl.layout->context_sub);
        frame->kind = words;
        frame->code = is_sub ? *code : 0;
        frame->instruction = walk->statement;
        frame->ends = !*(const uintptr_t *)(context + CONTEXT_RETURN);
        walk->statement = *(const uintptr_t *)(context + CONTEXT_STATEMENT);
        return true;
    }
    return false;
}

/* The next frame outwards; the last one is the program's, whose statement was not looked at. False:
 * there is none, or what was read is none. */
static inline bool perl_walk_next(struct perl_stack_walk *walk, struct script_frame *frame)
{
    if (walk->ended)
        return false;
    for (; walk->level && walk->steps < STEPS_MOST; walk->steps++) {
        if (perl_walk_context(walk, frame))
            return perl_is_statement(frame->instruction);
        perl_walk_level(walk, walk->there ? script_word(walk->level + LEVEL_PREVIOUS) : 0);
    }
    *frame = (struct script_frame){.instruction = walk->statement, .ends = true};
    walk->ended = true;
    return walk->steps < STEPS_MOST;
}

/* Is the statement of the program's frame alive? What runs is. What a thread was made at is the
 * other interpreter's, which may have freed it; so only its address is looked at, which tells as
 * much: no thread's changes, and a program's are there as long as it is. */
static inline bool perl_walk_end_lives(const struct perl_stack_walk *walk, uint32_t outer)
{
    return !outer || !walk->interpreter || walk->statement - walk->interpreter < INTERPRETER_BYTES;
}

static enum perl_kind perl_kind(const struct script_frame *frame)
{
    uint32_t operation = (frame->kind >> 8 * CONTEXT_OPERATION >> 7) - perl.layout->nextstate;

    switch (frame->kind & CONTEXT_KIND) {
    case 0:
        return KIND_MAIN;
    case CONTEXT_EVAL:
        return operation == REQUIRE ? KIND_REQUIRE : operation == DO_FILE ? KIND_DO : KIND_EVAL;
    default:
        return KIND_SUB;
    }
}

/* What tells one statement from another that has its address later. */
static inline uint64_t perl_statement_key(uintptr_t statement)
{
    uint64_t sequence = *(const uint32_t *)(statement + STATEMENT_SEQUENCE);
    uint64_t key = sequence << 32 | *(const uint32_t *)(statement + STATEMENT_LINE);

    if (unlikely(!(*(const uint16_t *)(statement + OPERATION_TYPE) & OPERATION_MASK))) {
        char file[FOLDER_BYTES]; /* the one that is being compiled */
        size_t length =
            script_text(script_word(statement + STATEMENT_FILE), SIZE_MAX, file, sizeof file);
        key ^= hash_bytes(file, length) << 1;
    }
    return key ^ hash_u64(statement);
}

uint64_t perl_stack_key(void)
{
    struct perl_stack_walk walk;
    struct script_frame frame;
    uint64_t key = 0;

    perl_walk_begin(&walk);
    for (uint32_t i = 0; i < FRAMES_MOST && perl_walk_next(&walk, &frame); i++) {
        uint64_t statement = frame.instruction;
        if (walk.ended && perl_walk_end_lives(&walk, i) && !perl_is_statement(statement))
            break;
        if (likely(!walk.ended || perl_walk_end_lives(&walk, i)))
            statement = perl_statement_key(statement);
        key = (key ^ statement ^ frame.code * 3) * 0x9E3779B97F4A7C15ull + 1;
    }
    return key;
}

static uint64_t perl_frame_key(const struct script_frame *frame)
{
    return perl_statement_key(frame->instruction) ^ hash_u64(frame->code + perl_kind(frame));
}

static uint64_t perl_identity(const struct script_frame *frame)
{
    return perl_frame_key(frame) | 2;
}

/* ---- Subs ---- */

/* Its body; 0: it is none of that kind. */
static uintptr_t perl_body(uintptr_t any, unsigned kind)
{
    return any && (script_number(any + ANY_FLAGS) & FLAG_KIND) == kind ? script_word(any + ANY_BODY)
                                                                       : 0;
}

static uintptr_t perl_sub_body(const struct script_frame *frame)
{
    uintptr_t body = perl_body(frame->code, FLAG_IS_SUB);

    return body ? body : perl_body(frame->code, FLAG_IS_FORMAT);
}

/* Its first statement; 0: it has none. */
static uintptr_t perl_sub_start(const struct script_frame *frame)
{
    uintptr_t body = perl_sub_body(frame);
    uintptr_t start = body && !(script_number(body + SUB_FLAGS) & SUB_IS_NATIVE)
                          ? script_word(body + SUB_START)
                          : 0;

    return perl_is_statement(start) && *(const uint16_t *)(start + OPERATION_TYPE) & OPERATION_MASK
               ? start
               : 0;
}

static uint32_t perl_stack(struct script_frame *frames, uint32_t max)
{
    struct perl_stack_walk walk;
    uint32_t count = 0;

    script_memory_forget();
    perl_walk_begin(&walk);
    while (count < max && perl_walk_next(&walk, &frames[count]) &&
           (!walk.ended || perl_is_statement(frames[count].instruction)))
        count++;
    /* Called, and not yet at its first statement. */
    if (count > 1 && frames[0].instruction == frames[1].instruction &&
        frames[0].code != frames[1].code) {
        uintptr_t start = perl_sub_start(&frames[0]);
        frames[0].instruction = start ? start : frames[0].instruction;
    }
    return count;
}

static uint32_t perl_line(const struct script_frame *frame)
{
    return script_number(frame->instruction + STATEMENT_LINE);
}

static uint32_t perl_first_line(const struct script_frame *frame)
{
    uintptr_t start = perl_sub_start(frame);

    return start ? script_number(start + STATEMENT_LINE) : 0;
}

/* A name with its length and a mark of its coding behind it; the other coding is Latin-1. */
static size_t perl_key_text(uintptr_t key, char *to, size_t room)
{
    uint32_t length = key ? script_number(key + KEY_LENGTH) : 0;
    uintptr_t text = key + KEY_TEXT, mark = text + length + 1;
    size_t bytes = 0;

    *to = '\0';
    if (!length || length > KEY_MOST || !script_is_there(text) || !script_is_there(mark))
        return 0;
    if (*(const char *)mark & KEY_IS_UTF8)
        return script_text(text, length, to, room);
    for (uint32_t i = 0; i < length && bytes + 2 < room && script_is_there(text + i); i++) {
        unsigned char character = *(const unsigned char *)(text + i);
        if (character >= 0x80)
            to[bytes++] = (char)(0xc0 | character >> 6);
        to[bytes++] = (char)(character >= 0x80                       ? 0x80 | (character & 0x3f)
                             : character < 0x20 || character == 0x7f ? '?'
                                                                     : character);
    }
    to[bytes] = '\0';
    return bytes;
}

/* A package's name: one, or the first of several. */
static size_t perl_stash_text(uintptr_t stash, char *to, size_t room)
{
    uintptr_t body = perl_body(stash, FLAG_IS_STASH), more;

    *to = '\0';
    if (!body || !(script_number(stash + ANY_FLAGS) & FLAG_STASH_MORE))
        return 0;
    more = perl.layout->stash_name ? body + perl.layout->stash_name
                                   : script_word(stash + ANY_VALUE) +
                                         (script_word(body + STASH_MOST) + 1) * sizeof(uintptr_t);
    uintptr_t name = script_word(more);
    return perl_key_text(script_number(more + STASH_NAME_COUNT) ? script_word(name) : name, to,
                         room);
}

/* "Package::name", in the package main "name". */
static size_t perl_sub_text(const struct script_frame *frame, char *to, size_t room)
{
    uintptr_t body = perl_sub_body(frame), key = body ? script_word(body + SUB_NAME) : 0;
    uintptr_t stash = body ? script_word(body + SUB_STASH) : 0;

    if (!body || !(script_number(body + SUB_FLAGS) & SUB_IS_NAMED)) {
        uintptr_t glob = perl_body(key, FLAG_IS_GLOB);
        key = glob ? script_word(glob + GLOB_NAME) : 0;
        stash = glob ? script_word(glob + GLOB_STASH) : 0;
    }
    size_t length = perl_stash_text(stash, to, room);
    if (length && strcmp(to, "main") != 0 && length + 3 < room) {
        memcpy(to + length, "::", 3);
        length += 2;
    } else {
        length = 0;
    }
    size_t name = perl_key_text(key, to + length, room - length);
    return name ? length + name : 0;
}

static size_t perl_function_name(const struct script_frame *frame, char *to, size_t room)
{
    static const char *const names[] = {
        [KIND_MAIN] = "<main>",       [KIND_SUB] = "?",   [KIND_EVAL] = "<eval>",
        [KIND_REQUIRE] = "<require>", [KIND_DO] = "<do>",
    };
    const char *name = names[perl_kind(frame)];
    size_t length = strlen(name);

    *to = '\0';
    if (perl_kind(frame) == KIND_SUB)
        return perl_sub_text(frame, to, room);
    if (length >= room)
        return 0;
    memcpy(to, name, length + 1);
    return length;
}

/* With threads a statement has the name itself, else the glob "_<NAME". */
static size_t perl_statement_file(uintptr_t statement, char *to, size_t room)
{
    uintptr_t file = script_word(statement + STATEMENT_FILE), glob;
    size_t length;

    *to = '\0';
    if (perl.key)
        return file ? script_text(file, SIZE_MAX, to, room) : 0;
    glob = perl_body(file, FLAG_IS_GLOB);
    length = glob ? perl_key_text(script_word(glob + GLOB_NAME), to, room) : 0;
    if (length < 2)
        return 0;
    memmove(to, to + 2, length - 1);
    return length - 2;
}

/* Strings that are evaluated are one file: each has its number. Relative names begin where the
 * program began. */
static size_t perl_file_name(const struct script_frame *frame, char *to, size_t room)
{
    size_t length = perl_statement_file(frame->instruction, to, room);
    size_t folder = strlen(perl.folder), skip = strncmp(to, "./", 2) == 0 ? 2 : 0;

    if (strncmp(to, "(eval ", 6) == 0 && room > 6) {
        memcpy(to, "(eval)", 7);
        return 6;
    }
    if (!length || strchr("/(-<", *to) || !folder || length - skip + folder + 2 > room)
        return length;
    memmove(to + folder + 1, to + skip, length - skip + 1);
    memcpy(to, perl.folder, folder);
    to[folder] = '/';
    return folder + 1 + length - skip;
}

const struct runtime perl_runtime = {
    "/perl",
    perl_module,
    perl_forget,
    perl_is_call,
    false,
    false,
    perl_stack,
    NULL,
    perl_identity,
    perl_frame_key,
    perl_line,
    perl_first_line,
    perl_function_name,
    perl_file_name,
};
