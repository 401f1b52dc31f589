/* Reads jitdump files (jit_dump.h). The process wrote the file, and any number in it may be wrong:
 * a length is compared with the file's before it is used, and code itself is skipped. A record that
 * says what cannot be is passed over. Where a record's own length cannot be, the reading ends,
 * because nothing tells where the next one begins. What was read before stays. */
#include "symbols/jit_dump.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/memory.h"
#include "base/whole.h"
#include "symbols/jit.h"
#include "symbols/name_memory.h"

enum {
    MAGIC = 0x4a695444,
    VERSION = 1,
    LOAD_NAME = 56, /* where a LOAD's name begins */
    LOAD_BYTES = LOAD_NAME + JIT_NAME_BYTES + 1,
    MOVE_BYTES = 64,
    DEBUG_ENTRIES = 32, /* where the first entry begins */
    ENTRY_NAME = 16,
    MAX_DEBUG_BYTES = 4 << 20,
    MAX_CODES = 1 << 24,
    MAX_LINES = 1 << 26,
};

enum { JIT_LOAD = 0, JIT_MOVE = 1, JIT_DEBUG_INFO = 2, JIT_CLOSE = 3 };

struct jit_dump_header {
    uint32_t magic, version, total_bytes, machine, pad, pid;
    uint64_t time_ns, flags;
};

struct jit_dump_prefix {
    uint32_t id, total_bytes;
    uint64_t time_ns;
};

static void jit_dump_forget(struct jit_dump *dump)
{
    range_map_release(&dump->ranges);
    number_map_release(&dump->by_index);
    free(dump->codes);
    free(dump->lines);
    *dump = (struct jit_dump){
        .path = dump->path, .pid = dump->pid, .own_pid = dump->own_pid, .begun = dump->begun};
}

void jit_dump_release(struct jit_dump *dump)
{
    jit_dump_forget(dump);
    free(dump->path);
    dump->path = NULL;
}

static uint64_t jit_dump_u64(const char *at)
{
    uint64_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

static uint32_t jit_dump_u32(const char *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

/* ---- Records ---- */

static void jit_dump_add_code(struct jit_dump *dump, const struct jit_dump_code *code,
                              uint64_t bytes)
{
    dump->codes = name_memory_grow(dump->codes, &dump->code_capacity, dump->code_count + 1,
                                   sizeof *dump->codes);
    dump->codes[dump->code_count] = *code;
    range_map_add(&dump->ranges, code->start, code->start + bytes, (uint32_t)dump->code_count++);
}

/* The lines of the DEBUG_INFO in front of this code. V8's are not taken: of what it has compiled
 * with inlined functions the lines are of one file and the file is another's, and where nothing is
 * inlined the file's name reads like freed memory of V8's (node 20.20). The code's name says where
 * its function begins. */
static void jit_dump_take_lines(struct jit_dump *dump, struct jit_dump_code *code, bool is_v8)
{
    if (dump->pending_count && dump->pending_start == code->start && !is_v8) {
        code->first_line = dump->pending_line;
        code->line_count = dump->pending_count;
    }
    dump->pending_count = 0;
}

/* `body`: the record's beginning, `room` bytes of it. False: it is damaged. */
static bool jit_dump_load(struct jit_dump *dump, const char *body, size_t room, uint64_t total,
                          struct pool *pool)
{
    if (room <= LOAD_NAME)
        return false;
    uint64_t start = jit_dump_u64(body + 32), bytes = jit_dump_u64(body + 40);
    const char *name = body + LOAD_NAME;
    size_t length = strnlen(name, room - LOAD_NAME);
    bool is_cut = length == room - LOAD_NAME; /* a long name, or one without its end */
    if (bytes > total || bytes > UINT64_MAX - start || (is_cut && room == total))
        return false;
    char text[JIT_NAME_BYTES + 1];
    length = length < JIT_NAME_BYTES ? length : JIT_NAME_BYTES;
    memcpy(text, name, length);
    text[length] = '\0';
    struct jit_dump_code code = {.name = jit_name_split(pool, text, length), .start = start};
    jit_dump_take_lines(dump, &code, jit_name_is_v8(text));
    if (jit_dump_u64(body + 48) != UINT64_MAX)
        number_map_put(&dump->by_index, jit_dump_u64(body + 48) + 1, (uint32_t)dump->code_count);
    jit_dump_add_code(dump, &code, bytes);
    return true;
}

/* The old place keeps its name until other code is there: who was called from there is this
 * code. */
static bool jit_dump_move(struct jit_dump *dump, const char *body, size_t room)
{
    if (room < MOVE_BYTES)
        return false;
    uint64_t start = jit_dump_u64(body + 40), bytes = jit_dump_u64(body + 48);
    uint64_t index = jit_dump_u64(body + 56);
    uint32_t moved = index == UINT64_MAX ? NUMBER_NONE : number_map_get(&dump->by_index, index + 1);
    if (bytes > UINT64_MAX - start || moved == NUMBER_NONE)
        return false;
    struct jit_dump_code code = dump->codes[moved];
    code.start = start;
    jit_dump_add_code(dump, &code, bytes);
    return true;
}

static void jit_dump_add_line(struct jit_dump *dump, const struct jit_line *line)
{
    dump->lines = name_memory_grow(dump->lines, &dump->line_capacity, dump->line_count + 1,
                                   sizeof *dump->lines);
    dump->lines[dump->line_count++] = *line;
    dump->pending_count++;
}

/* A name of one byte 255 is the entry's before. */
static const char *jit_dump_line_file(const struct jit_dump *dump, const char *name, size_t length,
                                      struct pool *pool)
{
    if (length == 1 && name[0] == (char)0xff)
        return dump->pending_count ? dump->lines[dump->line_count - 1].file : NULL;
    return length ? jit_name_clean(pool, name, length) : NULL;
}

/* `body`: the whole record. The lines in front of damage are right. */
static bool jit_dump_debug_info(struct jit_dump *dump, const char *body, size_t total,
                                struct pool *pool)
{
    dump->pending_count = 0;
    if (total < DEBUG_ENTRIES)
        return false;
    uint64_t start = jit_dump_u64(body + 16), left = jit_dump_u64(body + 24);
    dump->pending_start = start;
    dump->pending_line = (uint32_t)dump->line_count;
    for (size_t at = DEBUG_ENTRIES; left; left--) {
        if (total - at <= ENTRY_NAME || dump->line_count >= MAX_LINES)
            return false;
        const char *name = body + at + ENTRY_NAME;
        size_t length = strnlen(name, total - at - ENTRY_NAME);
        if (length == total - at - ENTRY_NAME)
            return false;
        uint64_t address = jit_dump_u64(body + at);
        jit_dump_add_line(dump, &(struct jit_line){address >= start ? address - start : 0,
                                                   jit_dump_line_file(dump, name, length, pool),
                                                   jit_dump_u32(body + at + 8)});
        at += ENTRY_NAME + length + 1;
    }
    return true;
}

/* False: the record is damaged. `body` has `room` bytes of the record. */
static bool jit_dump_take(struct jit_dump *dump, const struct jit_dump_prefix *prefix,
                          const char *body, size_t room, struct pool *pool)
{
    if (dump->code_count >= MAX_CODES)
        return false;
    switch (prefix->id) {
    case JIT_LOAD:
        return jit_dump_load(dump, body, room, prefix->total_bytes, pool);
    case JIT_MOVE:
        return jit_dump_move(dump, body, room);
    case JIT_DEBUG_INFO:
        return room < prefix->total_bytes || jit_dump_debug_info(dump, body, room, pool);
    case JIT_CLOSE:
        dump->is_over = true;
        return true;
    default: /* unwind tables, and what will come */
        return true;
    }
}

/* ---- The file ---- */

static size_t jit_dump_wanted(const struct jit_dump_prefix *prefix)
{
    size_t most = prefix->id == JIT_DEBUG_INFO ? MAX_DEBUG_BYTES : LOAD_BYTES;
    return prefix->total_bytes < most ? prefix->total_bytes : most;
}

/* False: there is no whole record yet, or the reading is over. */
static bool jit_dump_read_record(struct jit_dump *dump, int fd, uint64_t end, struct pool *pool)
{
    struct jit_dump_prefix prefix;
    if (dump->is_over || end - dump->read_bytes < sizeof prefix ||
        whole_read_at(fd, &prefix, sizeof prefix, dump->read_bytes) != sizeof prefix)
        return false;
    if (prefix.total_bytes < sizeof prefix) {
        dump->is_over = true;
        dump->damaged_count++;
        return false;
    }
    if (prefix.total_bytes > end - dump->read_bytes)
        return false;
    size_t wanted = jit_dump_wanted(&prefix);
    char *body = memory_zeroed(wanted, 1);
    bool is_there = whole_read_at(fd, body, wanted, dump->read_bytes) == (ssize_t)wanted;
    if (is_there && !jit_dump_take(dump, &prefix, body, wanted, pool))
        dump->damaged_count++;
    free(body);
    dump->read_bytes += is_there ? prefix.total_bytes : 0;
    return is_there && !dump->is_over;
}

/* Another process's file is asked again: it may be replaced under its name. */
static void jit_dump_read_header(struct jit_dump *dump, int fd, uint64_t end)
{
    struct jit_dump_header header;
    if (end < sizeof header || whole_read_at(fd, &header, sizeof header, 0) != sizeof header)
        return;
    bool is_ours = header.magic == MAGIC && header.version == VERSION &&
                   header.total_bytes >= sizeof header &&
                   (header.pid == (uint32_t)dump->pid || header.pid == (uint32_t)dump->own_pid);
    if (is_ours && header.total_bytes <= end)
        dump->read_bytes = header.total_bytes;
    dump->begun += dump->read_bytes > 0;
}

void jit_dump_update(struct jit_dump *dump, struct pool *pool)
{
    struct stat status;
    int fd = jit_file_open(dump->path, dump->pid, &status);
    if (fd < 0)
        return;
    uint64_t end = (uint64_t)status.st_size;
    if (status.st_ino != dump->inode || status.st_dev != dump->device || end < dump->read_bytes)
        jit_dump_forget(dump);
    dump->inode = status.st_ino;
    dump->device = status.st_dev;
    if (!dump->read_bytes && !dump->is_over)
        jit_dump_read_header(dump, fd, end);
    while (dump->read_bytes && jit_dump_read_record(dump, fd, end, pool))
        continue;
    close(fd);
}

/* ---- What is at an address ---- */

/* The line of the last entry at or before the offset. Most writers sort them; nothing says so. */
static const struct jit_line *jit_dump_line_at(const struct jit_dump *dump,
                                               const struct jit_dump_code *code, uint64_t offset)
{
    const struct jit_line *best = NULL;
    for (uint32_t i = 0; i < code->line_count; i++) {
        const struct jit_line *line = &dump->lines[code->first_line + i];
        if (line->offset <= offset && (!best || line->offset >= best->offset))
            best = line;
    }
    return best;
}

struct jit_code jit_dump_find(struct jit_dump *dump, uint64_t address)
{
    uint32_t found = range_map_find(&dump->ranges, address);
    if (found == RANGE_NONE)
        return (struct jit_code){0};
    const struct jit_dump_code *code = &dump->codes[found];
    struct jit_code name = code->name;
    const struct jit_line *line = jit_dump_line_at(dump, code, address - code->start);
    if (line && line->file && line->line) {
        name.file = line->file;
        name.line = line->line;
    }
    return name;
}
