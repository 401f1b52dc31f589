/* Interprets a pickle's opcodes over a stack (pickle.h). One table says which opcodes are known and
 * which function does what they say; all others are refused by their number and place. Lengths are
 * compared with what is left of the file before anything is taken. */
#include "import/pickle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/text.h"

enum {
    CONTAINERS_MAX = 65536, /* a snapshot has five: others are attributes of its user's */
    NAME_MAX_BYTES = 200,
};

static int pickle_fail(struct pickle *pickle, const char *what)
{
    strbuf_reset(pickle->why);
    strbuf_addf(pickle->why, "the pickle makes no sense at byte %zu: %s",
                (size_t)(pickle->at - pickle->begin), what);
    return -EBADMSG;
}

/* ---- Bytes --------------------------------------------------------------------------------- */

/* The next `count` bytes; NULL: there are fewer. */
static const char *pickle_take(struct pickle *pickle, uint64_t count)
{
    const char *bytes = pickle->at;
    if (count > (size_t)(pickle->end - pickle->at))
        return NULL;
    pickle->at += count;
    return bytes;
}

static uint64_t pickle_little_endian(const char *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;)
        value = value << 8 | (unsigned char)bytes[i];
    return value;
}

static int pickle_take_number(struct pickle *pickle, size_t count, uint64_t *value)
{
    const char *bytes = pickle_take(pickle, count);
    if (!bytes)
        return pickle_fail(pickle, "the file ends there");
    *value = pickle_little_endian(bytes, count);
    return 0;
}

/* ---- The stack ----------------------------------------------------------------------------- */

static int pickle_push(struct pickle *pickle, struct pickle_value value)
{
    array_need_bare_room(&pickle->stack, &pickle->stack_room, pickle->depth, sizeof *pickle->stack);
    pickle->stack[pickle->depth++] = value;
    return 0;
}

/* NULL: there are not that many values above the last mark. */
static struct pickle_value *pickle_top(struct pickle *pickle, size_t count)
{
    if (pickle->depth < count)
        return NULL;
    struct pickle_value *values = pickle->stack + pickle->depth - count;
    for (size_t i = 0; i < count; i++)
        if (values[i].kind == PICKLE_MARK)
            return NULL;
    return values;
}

/* The values above the last mark, which is taken off with them. */
static int pickle_pop_to_mark(struct pickle *pickle, struct pickle_value **values, size_t *count)
{
    size_t at = pickle->depth;
    while (at && pickle->stack[at - 1].kind != PICKLE_MARK)
        at--;
    if (!at)
        return pickle_fail(pickle, "there is no mark");
    *values = pickle->stack + at;
    *count = pickle->depth - at;
    pickle->depth = at - 1;
    return 0;
}

static int pickle_missing(struct pickle *pickle)
{
    return pickle_fail(pickle, "a value is missing");
}

/* ---- Containers ---------------------------------------------------------------------------- */

static int pickle_push_container(struct pickle *pickle, size_t kind, size_t class_place)
{
    if (pickle->container_count == CONTAINERS_MAX)
        return pickle_fail(pickle, "it has more lists and dictionaries than are read");
    array_need_room(&pickle->containers, &pickle->container_room, pickle->container_count,
                    sizeof *pickle->containers);
    pickle->containers[pickle->container_count].class_place = class_place;
    return pickle_push(
        pickle, (struct pickle_value){.kind = (uint32_t)kind, .place = pickle->container_count++});
}

static int pickle_push_empty(struct pickle *pickle, size_t kind)
{
    return pickle_push_container(pickle, kind, 0);
}

static int pickle_append(struct pickle *pickle, enum pickle_kind kind,
                         const struct pickle_value *values, size_t count)
{
    struct pickle_value *to = pickle_top(pickle, 1);
    if (!to || to->kind != kind || (kind == PICKLE_DICTIONARY && count % 2))
        return pickle_fail(pickle, "what is added there has nothing to be added to");
    struct pickle_container *container = &pickle->containers[to->place];
    for (size_t i = 0; i < count; i++) {
        array_need_bare_room(&container->values, &container->room, container->count,
                             sizeof *container->values);
        container->values[container->count++] = values[i];
    }
    return 0;
}

static int pickle_add_marked(struct pickle *pickle, size_t kind)
{
    struct pickle_value *values;
    size_t count;
    int error = pickle_pop_to_mark(pickle, &values, &count);
    return error ? error : pickle_append(pickle, (enum pickle_kind)kind, values, count);
}

/* APPEND, SETITEM, BUILD: an item, a key and its value, or a state. */
static int pickle_add_top(struct pickle *pickle, size_t kind)
{
    size_t count = kind == PICKLE_DICTIONARY ? 2 : 1;
    struct pickle_value *values = pickle_top(pickle, count);
    if (!values)
        return pickle_missing(pickle);
    pickle->depth -= count;
    return pickle_append(pickle, (enum pickle_kind)kind, values, count);
}

/* Takes `count` values, which the stack has no more, as a tuple. */
static int pickle_push_tuple(struct pickle *pickle, const struct pickle_value *values, size_t count)
{
    if (count > UINT32_MAX)
        return pickle_fail(pickle, "a tuple is too long");
    struct pickle_value tuple = {
        .kind = PICKLE_TUPLE, .length = (uint32_t)count, .first = pickle->item_count};
    for (size_t i = 0; i < count; i++) {
        array_need_bare_room(&pickle->items, &pickle->item_room, pickle->item_count,
                             sizeof *pickle->items);
        pickle->items[pickle->item_count++] = values[i];
    }
    return pickle_push(pickle, tuple);
}

static int pickle_make_tuple(struct pickle *pickle, size_t count)
{
    struct pickle_value *values = pickle_top(pickle, count);
    if (!values)
        return pickle_missing(pickle);
    pickle->depth -= count;
    return pickle_push_tuple(pickle, values, count);
}

/* ---- The memo ------------------------------------------------------------------------------ */

static int pickle_memoize(struct pickle *pickle, size_t count)
{
    struct pickle_value *value = pickle_top(pickle, count);
    if (!value)
        return pickle_missing(pickle);
    array_need_bare_room(&pickle->memo, &pickle->memo_room, pickle->memo_count,
                         sizeof *pickle->memo);
    pickle->memo[pickle->memo_count++] = *value;
    return 0;
}

/* Those who write pickles number what they keep from 0 on. */
static int pickle_put(struct pickle *pickle, size_t bytes)
{
    uint64_t number;
    int error = pickle_take_number(pickle, bytes, &number);
    if (!error && number != pickle->memo_count)
        error = pickle_fail(pickle, "a value is kept under a number that is not the next one");
    return error ? error : pickle_memoize(pickle, 1);
}

static int pickle_get(struct pickle *pickle, size_t bytes)
{
    uint64_t number;
    int error = pickle_take_number(pickle, bytes, &number);
    if (!error && number >= pickle->memo_count)
        error = pickle_fail(pickle, "a value is asked for that was not kept");
    return error ? error : pickle_push(pickle, pickle->memo[number]);
}

/* ---- Values -------------------------------------------------------------------------------- */

static int pickle_push_number(struct pickle *pickle, int64_t number)
{
    return pickle_push(pickle, (struct pickle_value){.kind = PICKLE_NUMBER, .number = number});
}

static int pickle_push_unsigned(struct pickle *pickle, size_t bytes)
{
    uint64_t number;
    int error = pickle_take_number(pickle, bytes, &number);
    return error ? error : pickle_push_number(pickle, (int64_t)number);
}

static int pickle_push_signed(struct pickle *pickle, size_t bytes)
{
    uint64_t number;
    int error = pickle_take_number(pickle, bytes, &number);
    return error ? error : pickle_push_number(pickle, (int32_t)(uint32_t)number);
}

/* LONG1 and LONG4: two's complement of any length; more than 8 bytes is no size of memory. */
static int pickle_push_long(struct pickle *pickle, size_t bytes)
{
    uint64_t length, number = 0;
    int error = pickle_take_number(pickle, bytes, &length);
    if (!error && length > 8)
        error = pickle_fail(pickle, "a number has more than 64 bits");
    if (!error)
        error = pickle_take_number(pickle, length, &number);
    if (error)
        return error;
    if (length && length < 8 && number >> (8 * length - 1))
        number |= ~0ull << (8 * length);
    return pickle_push_number(pickle, (int64_t)number);
}

static int pickle_push_other(struct pickle *pickle, size_t bytes)
{
    if (!pickle_take(pickle, bytes))
        return pickle_fail(pickle, "the file ends there");
    return pickle_push(pickle, (struct pickle_value){.kind = PICKLE_OTHER});
}

static int pickle_push_text(struct pickle *pickle, size_t bytes)
{
    uint64_t length;
    int error = pickle_take_number(pickle, bytes, &length);
    if (error)
        return error;
    const char *text = length <= UINT32_MAX ? pickle_take(pickle, length) : NULL;
    if (!text)
        return pickle_fail(pickle, "a text is longer than the file");
    return pickle_push(pickle, (struct pickle_value){
                                   .kind = PICKLE_TEXT, .length = (uint32_t)length, .text = text});
}

/* ---- Classes and objects ------------------------------------------------------------------- */

static int pickle_refuse_class(struct pickle *pickle, const char *name, size_t length)
{
    strbuf_reset(pickle->why);
    strbuf_add_string(pickle->why, "the pickle names ");
    text_add_safe(pickle->why, name, length < NAME_MAX_BYTES ? length : NAME_MAX_BYTES);
    strbuf_add_string(pickle->why, ", which is no part of a snapshot of tracemalloc: nothing of it "
                                   "was run");
    return -EBADMSG;
}

static int pickle_push_class(struct pickle *pickle, const struct pickle_value *module,
                             const struct pickle_value *name)
{
    struct strbuf whole = STRBUF_INIT;
    size_t place = 0;
    if (module->kind != PICKLE_TEXT || name->kind != PICKLE_TEXT)
        return pickle_fail(pickle, "a class has no name");
    strbuf_add(&whole, module->text, module->length);
    strbuf_add_char(&whole, '.');
    strbuf_add(&whole, name->text, name->length);
    while (pickle->classes[place] && (strlen(pickle->classes[place]) != whole.length ||
                                      strcmp(pickle->classes[place], whole.data) != 0))
        place++;
    int error = pickle->classes[place] ? 0 : pickle_refuse_class(pickle, whole.data, whole.length);
    strbuf_release(&whole);
    return error ? error
                 : pickle_push(pickle, (struct pickle_value){.kind = PICKLE_CLASS, .place = place});
}

static int pickle_stack_global(struct pickle *pickle, size_t count)
{
    struct pickle_value *names = pickle_top(pickle, count);
    if (!names)
        return pickle_missing(pickle);
    pickle->depth -= count;
    return pickle_push_class(pickle, &names[0], &names[1]);
}

/* GLOBAL of protocols up to 3: two lines. */
static int pickle_global(struct pickle *pickle, size_t count)
{
    struct pickle_value lines[2];
    for (size_t i = 0; i < count; i++) {
        const char *end = memchr(pickle->at, '\n', (size_t)(pickle->end - pickle->at));
        if (!end || end - pickle->at > NAME_MAX_BYTES)
            return pickle_fail(pickle, "a class has no name");
        lines[i] = (struct pickle_value){
            .kind = PICKLE_TEXT, .length = (uint32_t)(end - pickle->at), .text = pickle->at};
        pickle->at = end + 1;
    }
    return pickle_push_class(pickle, &lines[0], &lines[1]);
}

/* NEWOBJ: a class and its arguments, of which there are none. */
static int pickle_new_object(struct pickle *pickle, size_t count)
{
    struct pickle_value *values = pickle_top(pickle, count);
    if (!values || values[0].kind != PICKLE_CLASS || values[1].kind != PICKLE_TUPLE ||
        values[1].length)
        return pickle_fail(pickle, "an object is made of what is no class");
    size_t place = values[0].place;
    pickle->depth -= count;
    return pickle_push_container(pickle, PICKLE_OBJECT, place);
}

/* ---- Opcodes ------------------------------------------------------------------------------- */

static int pickle_check_protocol(struct pickle *pickle, size_t bytes)
{
    uint64_t protocol;
    int error = pickle_take_number(pickle, bytes, &protocol);
    if (!error && (protocol < 2 || protocol > 5))
        error = pickle_fail(pickle, "pickles of protocols 2 to 5 are read, and no others");
    return error;
}

/* FRAME only tells how much can be read at once. */
static int pickle_pass_frame(struct pickle *pickle, size_t bytes)
{
    uint64_t length;
    int error = pickle_take_number(pickle, bytes, &length);
    if (!error && length > (size_t)(pickle->end - pickle->at))
        error = pickle_fail(pickle, "a frame is longer than the file");
    return error;
}

static int pickle_push_mark(struct pickle *pickle, size_t kind)
{
    return pickle_push(pickle, (struct pickle_value){.kind = (uint32_t)kind});
}

/* TUPLE: of what stands above the mark, which goes with it. */
static int pickle_make_marked_tuple(struct pickle *pickle, size_t least)
{
    struct pickle_value *values;
    size_t count;
    int error = pickle_pop_to_mark(pickle, &values, &count);
    if (!error && count < least)
        error = pickle_missing(pickle);
    return error ? error : pickle_push_tuple(pickle, values, count);
}

/* The names are those of Python's pickletools. */
enum opcode {
    PROTO = 0x80,
    FRAME = 0x95,
    MARK = '(',
    NONE = 'N',
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    BINFLOAT = 'G',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    LONG1 = 0x8a,
    LONG4 = 0x8b,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE = 'X',
    BINUNICODE8 = 0x8d,
    EMPTY_TUPLE = ')',
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    TUPLE3 = 0x87,
    TUPLE = 't',
    EMPTY_LIST = ']',
    APPEND = 'a',
    APPENDS = 'e',
    EMPTY_DICT = '}',
    SETITEM = 's',
    SETITEMS = 'u',
    MEMOIZE = 0x94,
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    BINGET = 'h',
    LONG_BINGET = 'j',
    GLOBAL = 'c',
    STACK_GLOBAL = 0x93,
    NEWOBJ = 0x81,
    BUILD = 'b',
    STOP = '.',
};

/* What an opcode does: bytes of a number, how many values, or which kind is its argument. */
static const struct pickle_step {
    int (*run)(struct pickle *pickle, size_t argument);
    size_t argument;
} pickle_steps[256] = {
    [PROTO] = {pickle_check_protocol, 1},
    [FRAME] = {pickle_pass_frame, 8},
    [MARK] = {pickle_push_mark, PICKLE_MARK},
    [NONE] = {pickle_push_other, 0},
    [NEWTRUE] = {pickle_push_other, 0},
    [NEWFALSE] = {pickle_push_other, 0},
    [BINFLOAT] = {pickle_push_other, 8},
    [BININT] = {pickle_push_signed, 4},
    [BININT1] = {pickle_push_unsigned, 1},
    [BININT2] = {pickle_push_unsigned, 2},
    [LONG1] = {pickle_push_long, 1},
    [LONG4] = {pickle_push_long, 4},
    [SHORT_BINUNICODE] = {pickle_push_text, 1},
    [BINUNICODE] = {pickle_push_text, 4},
    [BINUNICODE8] = {pickle_push_text, 8},
    [EMPTY_TUPLE] = {pickle_make_tuple, 0},
    [TUPLE1] = {pickle_make_tuple, 1},
    [TUPLE2] = {pickle_make_tuple, 2},
    [TUPLE3] = {pickle_make_tuple, 3},
    [TUPLE] = {pickle_make_marked_tuple, 0},
    [EMPTY_LIST] = {pickle_push_empty, PICKLE_LIST},
    [APPEND] = {pickle_add_top, PICKLE_LIST},
    [APPENDS] = {pickle_add_marked, PICKLE_LIST},
    [EMPTY_DICT] = {pickle_push_empty, PICKLE_DICTIONARY},
    [SETITEM] = {pickle_add_top, PICKLE_DICTIONARY},
    [SETITEMS] = {pickle_add_marked, PICKLE_DICTIONARY},
    [MEMOIZE] = {pickle_memoize, 1},
    [BINPUT] = {pickle_put, 1},
    [LONG_BINPUT] = {pickle_put, 4},
    [BINGET] = {pickle_get, 1},
    [LONG_BINGET] = {pickle_get, 4},
    [GLOBAL] = {pickle_global, 2},
    [STACK_GLOBAL] = {pickle_stack_global, 2},
    [NEWOBJ] = {pickle_new_object, 2},
    [BUILD] = {pickle_add_top, PICKLE_OBJECT},
};

static int pickle_refuse_opcode(struct pickle *pickle, unsigned opcode)
{
    pickle->at--;
    strbuf_reset(pickle->why);
    strbuf_addf(pickle->why,
                "the pickle has an opcode at byte %zu (0x%02x) that no snapshot of tracemalloc "
                "has: nothing of it was run",
                (size_t)(pickle->at - pickle->begin), opcode);
    return -EBADMSG;
}

static int pickle_do(struct pickle *pickle, unsigned opcode)
{
    const struct pickle_step *step = &pickle_steps[opcode];
    return step->run ? step->run(pickle, step->argument) : pickle_refuse_opcode(pickle, opcode);
}

int pickle_read(struct pickle *pickle, const char *bytes, size_t count, const char *const *classes,
                struct strbuf *why, struct pickle_value *root)
{
    *pickle = (struct pickle){
        .begin = bytes, .at = bytes, .end = bytes + count, .classes = classes, .why = why};
    int error = 0;
    while (!error) {
        const char *opcode = pickle_take(pickle, 1);
        if (!opcode)
            return pickle_fail(pickle, "the file ends there");
        if ((unsigned char)*opcode == STOP)
            break;
        error = pickle_do(pickle, (unsigned char)*opcode);
    }
    struct pickle_value *top = error ? NULL : pickle_top(pickle, 1);
    if (!error && !top)
        error = pickle_missing(pickle);
    if (!error)
        *root = *top;
    return error;
}

void pickle_release(struct pickle *pickle)
{
    for (size_t i = 0; i < pickle->container_count; i++)
        free(pickle->containers[i].values);
    free(pickle->containers);
    free(pickle->stack);
    free(pickle->items);
    free(pickle->memo);
}

/* ---- What was read ------------------------------------------------------------------------- */

const struct pickle_value *pickle_attribute(const struct pickle *pickle,
                                            const struct pickle_value *object, size_t class_place,
                                            const char *key)
{
    if (object->kind != PICKLE_OBJECT)
        return NULL;
    const struct pickle_container *of = &pickle->containers[object->place];
    if (of->class_place != class_place || !of->count)
        return NULL;
    const struct pickle_value *state = &of->values[of->count - 1];
    if (state->kind != PICKLE_DICTIONARY)
        return NULL;
    of = &pickle->containers[state->place];
    for (size_t i = of->count; i >= 2; i -= 2) /* a key that is set again has its last value */
        if (pickle_is_text(&of->values[i - 2], key))
            return &of->values[i - 1];
    return NULL;
}

bool pickle_items(const struct pickle *pickle, const struct pickle_value *value,
                  const struct pickle_value **items, size_t *count)
{
    if (value->kind == PICKLE_TUPLE) {
        *items = pickle->items + value->first;
        *count = value->length;
    } else if (value->kind == PICKLE_LIST) {
        *items = pickle->containers[value->place].values;
        *count = pickle->containers[value->place].count;
    }
    return value->kind == PICKLE_TUPLE || value->kind == PICKLE_LIST;
}
