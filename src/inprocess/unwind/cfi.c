/* Searches .eh_frame_hdr and interprets .eh_frame. Uses no memory but little of the stack, because
 * it may run in a signal handler on an alternate stack (a row is 176 bytes, and eight are live at
 * once). */
#include "unwind/cfi.h"

#include <errno.h>
#include <string.h>

#define REMEMBERED_ROWS 6 /* compilers nest DW_CFA_remember_state once; hand-written code twice */

/* ---- Reading ------------------------------------------------------------------------------- */

uint64_t cfi_fixed(struct cfi_cursor *cursor, size_t bytes)
{
    uint64_t value = 0;
    if (cursor->bad || (size_t)(cursor->end - cursor->at) < bytes) {
        cursor->bad = true;
        return 0;
    }
    memcpy(&value, cursor->at, bytes); /* both our processors are little endian */
    cursor->at += bytes;
    return value;
}

static inline uint8_t cfi_byte(struct cfi_cursor *cursor)
{
    if (cursor->bad || cursor->at == cursor->end) {
        cursor->bad = true;
        return 0;
    }
    return *cursor->at++;
}

uint64_t cfi_uleb(struct cfi_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = cfi_byte(cursor);
        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            return value;
        }
    }
    cursor->bad = true;
    return 0;
}

/* The same: nearly all numbers of a program are of one byte. */
static inline uint64_t cfi_short_uleb(struct cfi_cursor *cursor)
{
    return !cursor->bad && cursor->at != cursor->end && *cursor->at < 0x80 ? *cursor->at++
                                                                           : cfi_uleb(cursor);
}

int64_t cfi_sleb(struct cfi_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
        uint64_t byte = cfi_fixed(cursor, 1);
        value |= (byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            bool negative = byte & 0x40;
            return (int64_t)(negative && shift < 64 ? value | ~0ull << shift : value);
        }
    }
    cursor->bad = true;
    return 0;
}

static void cfi_skip(struct cfi_cursor *cursor, uint64_t bytes)
{
    if (cursor->bad || bytes > (uint64_t)(cursor->end - cursor->at)) {
        cursor->bad = true;
        return;
    }
    cursor->at += bytes;
}

enum {
    ENCODING_OMIT = 0xff,
    ENCODING_FORMAT = 0x0f,
    ENCODING_BASE = 0x70,
    ENCODING_PCREL = 0x10,
    ENCODING_DATAREL = 0x30,
    ENCODING_INDIRECT = 0x80,
    ENCODING_DATAREL_SDATA4 = 0x3b,
};

static uint64_t cfi_read_format(struct cfi_cursor *cursor, uint8_t format)
{
    switch (format) {
    case 0x00: /* absptr */
    case 0x04: /* udata8 */
    case 0x0c: /* sdata8 */
        return cfi_fixed(cursor, 8);
    case 0x01:
        return cfi_uleb(cursor);
    case 0x09:
        return (uint64_t)cfi_sleb(cursor);
    case 0x02:
        return cfi_fixed(cursor, 2);
    case 0x0a:
        return (uint64_t)(int64_t)(int16_t)cfi_fixed(cursor, 2);
    case 0x03:
        return cfi_fixed(cursor, 4);
    case 0x0b:
        return (uint64_t)(int64_t)(int32_t)cfi_fixed(cursor, 4);
    default:
        cursor->bad = true;
        return 0;
    }
}

/* Reads a pointer. DW_EH_PE_indirect occurs only with personality routines, which are skipped. */
static uint64_t cfi_read_pointer(struct cfi_cursor *cursor, uint8_t encoding, uint64_t data_base)
{
    uint64_t here = (uint64_t)(uintptr_t)cursor->at;
    uint64_t value;
    if (encoding == ENCODING_OMIT) {
        return 0;
    }
    value = cfi_read_format(cursor, encoding & ENCODING_FORMAT);
    if (value && (encoding & ENCODING_BASE) == ENCODING_PCREL) {
        value += here;
    } else if (value && (encoding & ENCODING_BASE) == ENCODING_DATAREL) {
        value += data_base;
    }
    return value;
}

/* ---- Entries ------------------------------------------------------------------------------- */

struct cie {
    struct cfi_cursor program;
    uint64_t code_align;
    int64_t data_align;
    uint8_t pointer_encoding;
    bool augmented, signal;
};

struct fde {
    struct cfi_cursor program;
    uint64_t lo, hi;
    struct cie cie;
};

static bool cfi_inside(const struct cfi_module *module, uint64_t address)
{
    return address >= (uintptr_t)module->lo && address < (uintptr_t)module->hi;
}

/* The body of the entry at an address, behind its length. Empty for a terminator. */
static struct cfi_cursor cfi_entry_body(const struct cfi_module *module, uint64_t address)
{
    struct cfi_cursor cursor = {NULL, NULL, true};
    uint64_t length;
    if (!cfi_inside(module, address)) {
        return cursor;
    }
    cursor = (struct cfi_cursor){(const uint8_t *)(uintptr_t)address, module->hi, false};
    length = cfi_fixed(&cursor, 4);
    if (length == 0xffffffff) {
        length = cfi_fixed(&cursor, 8);
    }
    if (cursor.bad || length > (uint64_t)(cursor.end - cursor.at)) {
        cursor.bad = true;
        return cursor;
    }
    cursor.end = cursor.at + length;
    return cursor;
}

static void cfi_read_augmentation(struct cfi_cursor *body, const char *letters, struct cie *cie)
{
    struct cfi_cursor data = *body;
    uint64_t bytes = cfi_uleb(&data);
    *body = data;
    cfi_skip(body, bytes);
    if (body->bad) {
        return;
    }
    data.end = body->at;
    cie->augmented = true;
    for (const char *letter = letters; *letter; letter++) {
        switch (*letter) {
        case 'R':
            cie->pointer_encoding = (uint8_t)cfi_fixed(&data, 1);
            break;
        case 'P':
            cfi_read_pointer(&data, (uint8_t)cfi_fixed(&data, 1), 0);
            break;
        case 'L':
            cfi_fixed(&data, 1);
            break;
        case 'S':
            cie->signal = true;
            break;
        case 'B':
            break;
        default:
            return; /* unknown letters are skipped by the length */
        }
    }
    body->bad |= data.bad;
}

static int cfi_read_cie(const struct cfi_module *module, uint64_t address, struct cie *cie)
{
    struct cfi_cursor body = cfi_entry_body(module, address);
    const char *augmentation;
    uint8_t version;
    *cie = (struct cie){0};
    if (cfi_fixed(&body, 4) != 0) {
        return -EINVAL; /* not a CIE */
    }
    version = (uint8_t)cfi_fixed(&body, 1);
    augmentation = (const char *)body.at;
    while (cfi_fixed(&body, 1) != 0) {
    }
    if (version == 4) {
        cfi_skip(&body, 2); /* address and segment size */
    }
    cie->code_align = cfi_uleb(&body);
    cie->data_align = cfi_sleb(&body);
    if ((version == 1 ? cfi_fixed(&body, 1) : cfi_uleb(&body)) != CFI_RIP || body.bad) {
        return -EINVAL;
    }
    if (augmentation[0] == 'z') {
        cfi_read_augmentation(&body, augmentation + 1, cie);
    } else if (augmentation[0]) {
        return -EINVAL;
    }
    cie->program = body;
    return body.bad ? -EINVAL : 0;
}

static int cfi_read_fde(const struct cfi_module *module, uint64_t address, struct fde *fde)
{
    struct cfi_cursor body = cfi_entry_body(module, address);
    uint64_t id_at = (uint64_t)(uintptr_t)body.at;
    uint64_t distance = cfi_fixed(&body, 4);
    if (body.bad || distance == 0 || cfi_read_cie(module, id_at - distance, &fde->cie) != 0) {
        return -EINVAL;
    }
    fde->lo = cfi_read_pointer(&body, fde->cie.pointer_encoding, 0);
    fde->hi = fde->lo + cfi_read_format(&body, fde->cie.pointer_encoding & ENCODING_FORMAT);
    if (fde->cie.augmented) {
        cfi_skip(&body, cfi_uleb(&body));
    }
    fde->program = body;
    return body.bad ? -EINVAL : 0;
}

/* ---- Finding -------------------------------------------------------------------------------- */

struct header {
    uint64_t frames;      /* address of .eh_frame */
    uint64_t count;       /* rows of the search table, 0: there is none that we can use */
    const uint8_t *table; /* pairs of int32: function, entry; relative to the header, sorted */
};

static int cfi_read_header(const struct cfi_module *module, struct header *header)
{
    struct cfi_cursor cursor = {module->header, module->hi, false};
    uint64_t base = (uint64_t)(uintptr_t)module->header;
    uint8_t version, frames_encoding, count_encoding, table_encoding;
    if (!cfi_inside(module, base)) {
        return -EINVAL;
    }
    version = (uint8_t)cfi_fixed(&cursor, 1);
    frames_encoding = (uint8_t)cfi_fixed(&cursor, 1);
    count_encoding = (uint8_t)cfi_fixed(&cursor, 1);
    table_encoding = (uint8_t)cfi_fixed(&cursor, 1);
    header->frames = cfi_read_pointer(&cursor, frames_encoding, base);
    header->count = cfi_read_pointer(&cursor, count_encoding, base);
    header->table = cursor.at;
    if (cursor.bad || version != 1) {
        return -EINVAL;
    }
    if (table_encoding != ENCODING_DATAREL_SDATA4) {
        header->count = 0;
    }
    return header->count > (uint64_t)(cursor.end - cursor.at) / 8 ? -EINVAL : 0;
}

static int32_t cfi_table_entry(const struct header *header, uint64_t row, unsigned column)
{
    int32_t value;
    memcpy(&value, header->table + row * 8 + column * 4, sizeof value);
    return value;
}

static int cfi_search_table(const struct cfi_module *module, const struct header *header,
                            uintptr_t pc, struct fde *fde)
{
    uint64_t base = (uint64_t)(uintptr_t)module->header;
    uint64_t lo = 0, hi = header->count;
    int64_t target = (int64_t)(pc - base);
    if (cfi_table_entry(header, 0, 0) > target) {
        return -ENOENT;
    }
    while (hi - lo > 1) { /* invariant: function[lo] <= target < function[hi] */
        uint64_t middle = lo + (hi - lo) / 2;
        if (cfi_table_entry(header, middle, 0) <= target) {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    if (cfi_read_fde(module, base + (uint64_t)(int64_t)cfi_table_entry(header, lo, 1), fde) != 0) {
        return -EINVAL;
    }
    return pc >= fde->lo && pc < fde->hi ? 0 : -ENOENT;
}

/* Linkers leave out the search table only if they cannot make one. Then all entries are read from
 * the first on. */
static int cfi_search_all(const struct cfi_module *module, uint64_t frames, uintptr_t pc,
                          struct fde *fde)
{
    for (uint64_t at = frames;;) {
        struct cfi_cursor body = cfi_entry_body(module, at);
        if (body.bad || body.at == body.end) {
            return -ENOENT;
        }
        if (cfi_read_fde(module, at, fde) == 0 && pc >= fde->lo && pc < fde->hi) {
            return 0;
        }
        at = (uint64_t)(uintptr_t)body.end;
    }
}

/* ---- Interpreting ---------------------------------------------------------------------------- */

struct cfi_machine {
    struct cfi_row row, initial;
    struct cfi_row remembered[REMEMBERED_ROWS];
    unsigned remembered_count;
    bool in_fde; /* the CIE's program is done, so that restore and advance have a meaning */
    bool past;   /* the next row begins beyond pc */
    uint64_t location, pc;
    const struct fde *fde;
};

static void cfi_set_register(struct cfi_machine *machine, uint64_t number, enum cfi_how how,
                             int64_t value)
{
    if (number < CFI_COLUMNS) { /* the others are vector registers, which no walk needs */
        machine->row.how[number] = (uint8_t)how;
        machine->row.value[number] = value;
    }
}

static void cfi_restore_register(struct cfi_machine *machine, uint64_t number)
{
    if (number < CFI_COLUMNS) {
        machine->row.how[number] = machine->initial.how[number];
        machine->row.value[number] = machine->initial.value[number];
    }
}

static void cfi_set_cfa(struct cfi_machine *machine, struct cfi_cursor *program, uint64_t number,
                        int64_t offset)
{
    program->bad |= number >= CFI_COLUMNS;
    machine->row.cfa_register = (uint8_t)number;
    machine->row.cfa_value = offset;
    machine->row.cfa_is_expression = false;
}

static void cfi_set_cfa_offset(struct cfi_machine *machine, struct cfi_cursor *program,
                               int64_t offset)
{
    program->bad |= machine->row.cfa_is_expression;
    machine->row.cfa_value = offset;
}

/* Skips an expression and returns its address. */
static int64_t cfi_take_expression(struct cfi_cursor *program)
{
    int64_t address = (int64_t)(uintptr_t)program->at;
    cfi_skip(program, cfi_uleb(program));
    return address;
}

static void cfi_advance(struct cfi_machine *machine, uint64_t bytes)
{
    machine->location += bytes;
    machine->past = machine->in_fde && machine->location > machine->pc;
}

static void cfi_remember_row(struct cfi_machine *machine, struct cfi_cursor *program)
{
    if (machine->remembered_count == REMEMBERED_ROWS) {
        program->bad = true;
        return;
    }
    machine->remembered[machine->remembered_count++] = machine->row;
}

static void cfi_restore_row(struct cfi_machine *machine, struct cfi_cursor *program)
{
    if (machine->remembered_count == 0) {
        program->bad = true;
        return;
    }
    machine->row = machine->remembered[--machine->remembered_count];
}

static int64_t cfi_scaled(const struct cfi_machine *machine, int64_t factor)
{
    return (int64_t)((uint64_t)factor * (uint64_t)machine->fde->cie.data_align);
}

static void cfi_execute_extended(struct cfi_machine *machine, struct cfi_cursor *program,
                                 uint8_t opcode)
{
    uint64_t code_align = machine->fde->cie.code_align;
    uint64_t number;
    switch (opcode) {
    case 0x00: /* nop */
    case 0x2d: /* GNU_window_save */
        break;
    case 0x01: /* set_loc */
        cfi_advance(machine, cfi_read_pointer(program, machine->fde->cie.pointer_encoding, 0) -
                                 machine->location);
        break;
    case 0x02: /* advance_loc1 */
        cfi_advance(machine, cfi_byte(program) * code_align);
        break;
    case 0x03: /* advance_loc2 */
        cfi_advance(machine, cfi_fixed(program, 2) * code_align);
        break;
    case 0x04: /* advance_loc4 */
        cfi_advance(machine, cfi_fixed(program, 4) * code_align);
        break;
    case 0x05: /* offset_extended */
        number = cfi_uleb(program);
        cfi_set_register(machine, number, CFI_OFFSET,
                         cfi_scaled(machine, (int64_t)cfi_uleb(program)));
        break;
    case 0x06: /* restore_extended */
        cfi_restore_register(machine, cfi_uleb(program));
        break;
    case 0x07: /* undefined */
        cfi_set_register(machine, cfi_uleb(program), CFI_UNDEFINED, 0);
        break;
    case 0x08: /* same_value */
        cfi_set_register(machine, cfi_uleb(program), CFI_SAME, 0);
        break;
    case 0x09: /* register */
        number = cfi_uleb(program);
        cfi_set_register(machine, number, CFI_REGISTER, (int64_t)cfi_uleb(program));
        break;
    case 0x0a:
        cfi_remember_row(machine, program);
        break;
    case 0x0b:
        cfi_restore_row(machine, program);
        break;
    case 0x0c: /* def_cfa */
        number = cfi_uleb(program);
        cfi_set_cfa(machine, program, number, (int64_t)cfi_uleb(program));
        break;
    case 0x0d: /* def_cfa_register */
        cfi_set_cfa(machine, program, cfi_uleb(program), machine->row.cfa_value);
        break;
    case 0x0e: /* def_cfa_offset */
        cfi_set_cfa_offset(machine, program, (int64_t)cfi_short_uleb(program));
        break;
    case 0x0f: /* def_cfa_expression */
        machine->row.cfa_is_expression = true;
        machine->row.cfa_value = cfi_take_expression(program);
        break;
    case 0x10: /* expression */
        number = cfi_uleb(program);
        cfi_set_register(machine, number, CFI_EXPRESSION, cfi_take_expression(program));
        break;
    case 0x11: /* offset_extended_sf */
        number = cfi_uleb(program);
        cfi_set_register(machine, number, CFI_OFFSET, cfi_scaled(machine, cfi_sleb(program)));
        break;
    case 0x12: /* def_cfa_sf */
        number = cfi_uleb(program);
        cfi_set_cfa(machine, program, number, cfi_scaled(machine, cfi_sleb(program)));
        break;
    case 0x13: /* def_cfa_offset_sf */
        cfi_set_cfa_offset(machine, program, cfi_scaled(machine, cfi_sleb(program)));
        break;
    case 0x14: /* val_offset */
        number = cfi_uleb(program);
        cfi_set_register(machine, number, CFI_VALUE_OFFSET,
                         cfi_scaled(machine, (int64_t)cfi_uleb(program)));
        break;
    case 0x15: /* val_offset_sf */
        number = cfi_uleb(program);
        cfi_set_register(machine, number, CFI_VALUE_OFFSET, cfi_scaled(machine, cfi_sleb(program)));
        break;
    case 0x16: /* val_expression */
        number = cfi_uleb(program);
        cfi_set_register(machine, number, CFI_VALUE_EXPRESSION, cfi_take_expression(program));
        break;
    case 0x2e: /* GNU_args_size */
        cfi_uleb(program);
        break;
    case 0x2f: /* GNU_negative_offset_extended */
        number = cfi_uleb(program);
        cfi_set_register(machine, number, CFI_OFFSET,
                         cfi_scaled(machine, (int64_t)-cfi_uleb(program)));
        break;
    default:
        program->bad = true;
    }
}

static void cfi_execute(struct cfi_machine *machine, struct cfi_cursor program, int *error)
{
    while (!program.bad && !machine->past && program.at < program.end) {
        uint8_t opcode = cfi_byte(&program);
        uint8_t operand = opcode & 0x3f;
        switch (opcode >> 6) {
        case 1: /* advance_loc */
            cfi_advance(machine, operand * machine->fde->cie.code_align);
            break;
        case 2: /* offset */
            cfi_set_register(machine, operand, CFI_OFFSET,
                             cfi_scaled(machine, (int64_t)cfi_short_uleb(&program)));
            break;
        case 3: /* restore */
            cfi_restore_register(machine, operand);
            break;
        default:
            cfi_execute_extended(machine, &program, opcode);
        }
    }
    if (program.bad) {
        *error = -EINVAL;
    }
}

static int cfi_run(const struct fde *fde, uintptr_t pc, struct cfi_row *row)
{
    struct cfi_machine machine;
    int error = 0;
    memset(&machine.row, 0, sizeof machine.row);
    machine.initial = machine.row;
    machine.remembered_count = 0;
    machine.in_fde = machine.past = false;
    machine.location = fde->lo;
    machine.pc = pc;
    machine.fde = fde;
    machine.row.signal = fde->cie.signal;
    cfi_execute(&machine, fde->cie.program, &error);
    machine.initial = machine.row;
    machine.location = fde->lo;
    machine.in_fde = true;
    cfi_execute(&machine, fde->program, &error);
    *row = machine.row;
    return error;
}

static int cfi_find_entry(const struct cfi_module *module, uintptr_t pc, struct fde *fde)
{
    struct header header;
    if (!module->header) {
        return cfi_search_all(module, (uintptr_t)module->lo, pc, fde);
    }
    int error = cfi_read_header(module, &header);
    if (error != 0) {
        return error;
    }
    return header.count ? cfi_search_table(module, &header, pc, fde)
                        : cfi_search_all(module, header.frames, pc, fde);
}

int cfi_find_row(const struct cfi_module *module, uintptr_t pc, struct cfi_row *row)
{
    struct fde fde;
    int error = cfi_find_entry(module, pc, &fde);
    return error == 0 ? cfi_run(&fde, pc, row) : error;
}

int cfi_find_function(const struct cfi_module *module, uintptr_t pc, uintptr_t *lo, uintptr_t *hi)
{
    struct fde fde;
    int error = cfi_find_entry(module, pc, &fde);
    if (error == 0) {
        *lo = fde.lo;
        *hi = fde.hi;
    }
    return error;
}

int cfi_bounds(const struct cfi_module *module, uintptr_t *lo, uintptr_t *hi)
{
    *lo = UINTPTR_MAX;
    *hi = 0;
    for (uint64_t at = (uintptr_t)module->lo;;) {
        struct cfi_cursor body = cfi_entry_body(module, at);
        struct fde fde;
        if (body.bad || body.at == body.end) {
            return *lo < *hi ? 0 : -ENOENT;
        }
        if (cfi_read_fde(module, at, &fde) == 0) {
            *lo = fde.lo < *lo ? fde.lo : *lo;
            *hi = fde.hi > *hi ? fde.hi : *hi;
        }
        at = (uint64_t)(uintptr_t)body.end;
    }
}

struct cfi_cursor cfi_expression(int64_t address)
{
    struct cfi_cursor cursor = {(const uint8_t *)(uintptr_t)address, (const uint8_t *)UINTPTR_MAX,
                                false};
    uint64_t bytes = cfi_uleb(&cursor);
    cursor.end = cursor.at + bytes;
    return cursor;
}
