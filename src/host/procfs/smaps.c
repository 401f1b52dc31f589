/* Parses /proc/PID/smaps into a sorted table of mappings, and says what each mapping is (smaps.h).
 * Fields are looked up in a table in the kernel's order, starting behind the last hit, so that a
 * line costs one comparison. The lines of a field have one length in all mappings, so their ends
 * need no search. */
#include "procfs/smaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/search.h"

#include "procfs/process.h"

/* ---- Bytes --------------------------------------------------------------------------------- */

enum { BYTE_FIELDS = sizeof(struct smaps_bytes) / sizeof(struct figure) };

struct smaps_bytes smaps_bytes_unknown(void)
{
    struct smaps_bytes bytes;
    struct figure *fields = (struct figure *)&bytes;
    for (size_t i = 0; i < BYTE_FIELDS; i++)
        fields[i] = FIGURE_UNKNOWN;
    return bytes;
}

void smaps_add(struct smaps_bytes *to, const struct smaps_bytes *bytes)
{
    struct figure *sums = (struct figure *)to;
    const struct figure *fields = (const struct figure *)bytes;
    for (size_t i = 0; i < BYTE_FIELDS; i++)
        sums[i] = figure_add(sums[i], fields[i]);
}

/* ---- Lines --------------------------------------------------------------------------------- */

#define NOT_WANTED SIZE_MAX

/* In the kernel's order, so that each line is found directly behind the last one. Fields that are
 * not wanted stand here only for that order. Other lines are skipped. */
static const struct smaps_field {
    const char *name;
    size_t offset; /* several lines may add to one number */
    size_t length; /* of the name */
} fields[] = {
#define FIELD(name, offset)                                                                        \
    {                                                                                              \
        name, offset, sizeof name - 1                                                              \
    }
    FIELD("Size", offsetof(struct smaps_bytes, size)),
    FIELD("KernelPageSize", NOT_WANTED),
    FIELD("MMUPageSize", NOT_WANTED),
    FIELD("Rss", offsetof(struct smaps_bytes, rss)),
    FIELD("Pss", offsetof(struct smaps_bytes, pss)),
    FIELD("Pss_Dirty", NOT_WANTED),
    FIELD("Pss_Anon", offsetof(struct smaps_bytes, pss_anonymous)),
    FIELD("Pss_File", offsetof(struct smaps_bytes, pss_file)),
    FIELD("Pss_Shmem", offsetof(struct smaps_bytes, pss_shared_memory)),
    FIELD("Shared_Clean", offsetof(struct smaps_bytes, shared)),
    FIELD("Shared_Dirty", offsetof(struct smaps_bytes, shared)),
    FIELD("Private_Clean", offsetof(struct smaps_bytes, uss)),
    FIELD("Private_Dirty", offsetof(struct smaps_bytes, uss)),
    FIELD("Referenced", NOT_WANTED),
    FIELD("Anonymous", offsetof(struct smaps_bytes, anonymous)),
    FIELD("KSM", NOT_WANTED),
    FIELD("LazyFree", NOT_WANTED),
    FIELD("AnonHugePages", offsetof(struct smaps_bytes, huge)),
    FIELD("ShmemPmdMapped", offsetof(struct smaps_bytes, huge)),
    FIELD("FilePmdMapped", offsetof(struct smaps_bytes, huge)),
    FIELD("Shared_Hugetlb", offsetof(struct smaps_bytes, hugetlb)),
    FIELD("Private_Hugetlb", offsetof(struct smaps_bytes, hugetlb)),
    FIELD("Swap", offsetof(struct smaps_bytes, swap)),
    FIELD("SwapPss", offsetof(struct smaps_bytes, swap_pss)),
    FIELD("Locked", offsetof(struct smaps_bytes, locked)),
    FIELD("THPeligible", NOT_WANTED),
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof *fields };

static const struct flag {
    char name[3];
    uint16_t bit;
} flag_names[] = {
    {"io", SMAPS_IS_IO},         {"pf", SMAPS_IS_IO},        {"ht", SMAPS_IS_HUGETLB},
    {"gd", SMAPS_GROWS_DOWN},    {"ac", SMAPS_IS_ACCOUNTED}, {"gu", SMAPS_HAS_GUARDS},
    {"nr", SMAPS_IS_NORESERVE},  {"lo", SMAPS_IS_LOCKED},    {"dd", SMAPS_IS_DONTDUMP},
    {"wf", SMAPS_WIPES_ON_FORK},
};

static uint16_t smaps_parse_flags(const char *at)
{
    uint16_t flags = 0;
    for (at += strspn(at, " "); at[0] && at[1]; at += 2 + strspn(at + 2, " ")) {
        for (size_t i = 0; i < sizeof flag_names / sizeof *flag_names; i++) {
            if (memcmp(at, flag_names[i].name, 2) == 0)
                flags |= flag_names[i].bit;
        }
    }
    return flags;
}

/* Where the lines of one mapping go. A field that comes twice is damage. */
struct record {
    struct smaps_bytes *bytes;
    uint32_t seen;
    size_t next; /* the field that is likely next */
};

/* The kernel pads numbers, so a field's lines are of one length. 0: not known yet. */
struct smaps_shape {
    size_t lengths[FIELDS];
};

static struct record smaps_record_begin(struct smaps_bytes *bytes)
{
    *bytes = smaps_bytes_unknown();
    return (struct record){.bytes = bytes};
}

/* Twenty-six lines a mapping: for names of ten letters a call costs more than the comparison. */
static bool smaps_begins_with(const char *line, const struct smaps_field *field)
{
    for (size_t i = 0; i < field->length; i++)
        if (line[i] != field->name[i])
            return false;
    return line[field->length] == ':';
}

/* The number of the field that a line begins with, FIELDS if it is none of ours. */
static size_t smaps_find_field(size_t likely, const char *line)
{
    for (size_t i = 0, field = likely; i < FIELDS; i++, field = field + 1 == FIELDS ? 0 : field + 1)
        if (smaps_begins_with(line, &fields[field]))
            return field;
    return FIELDS;
}

/* "  12 kB" in bytes */
static bool smaps_parse_kib(const char *at, uint64_t *bytes)
{
    const char *end;
    while (*at == ' ')
        at++;
    return proc_number(at, bytes, &end) && end[0] == ' ' && end[1] == 'k' && end[2] == 'B' &&
           !end[3] && !__builtin_mul_overflow(*bytes, 1024u, bytes);
}

static void smaps_record_add(struct record *record, size_t field, uint64_t value)
{
    struct figure *to = (struct figure *)((char *)record->bytes + fields[field].offset);
    record->seen |= 1u << field;
    *to = figure_known(*to) ? figure_add(*to, figure_of(value)) : figure_of(value);
}

/* "Rss:    12 kB". False if the line is damaged; fields that we do not want are not. */
static bool smaps_record_line(struct record *record, struct smaps_shape *shape, const char *line)
{
    size_t field = smaps_find_field(record->next, line);
    if (field == FIELDS) /* a field that is not in the table; a line without a name is damage */
        return *line != ':' && strchr(line, ':') != NULL;
    record->next = field + 1 == FIELDS ? 0 : field + 1;
    shape->lengths[field] = strlen(line);
    if (fields[field].offset == NOT_WANTED)
        return true;
    uint64_t value;
    if (record->seen & 1u << field || !smaps_parse_kib(line + fields[field].length + 1, &value))
        return false;
    smaps_record_add(record, field, value);
    return true;
}

/* "   12 kB" that ends at `end`, read backwards; the line has letters before it. */
static bool smaps_parse_kib_before(const char *end, uint64_t *bytes)
{
    enum { DIGITS_MOST = 12 };
    uint64_t unit = 1024;
    const char *at = end - sizeof " kB" + 1, *least = at - DIGITS_MOST;
    if (memcmp(at, " kB", 3) != 0)
        return false;
    *bytes = 0;
    for (at--; at > least && *at >= '0' && *at <= '9'; at--, unit *= 10)
        *bytes += (uint64_t)(*at - '0') * unit;
    return *at == ' ' && unit > 1024;
}

/* Takes the next line if it has the likely field with the length known from an earlier mapping.
 * False: smaps_record_line() must parse it. */
static bool smaps_record_known(struct record *record, const struct smaps_shape *shape,
                               struct proc_lines *lines)
{
    size_t next = record->next, length = shape->lengths[next];
    const struct smaps_field *field = &fields[next];
    const char *line = length ? proc_lines_peek(lines, length) : NULL;
    uint64_t value;
    if (!line || line[field->length] != ':' || memcmp(line, field->name, field->length) != 0)
        return false;
    if (field->offset != NOT_WANTED) {
        if (record->seen & 1u << next || !smaps_parse_kib_before(line + length, &value))
            return false;
        smaps_record_add(record, next, value);
    }
    record->next = next + 1 == FIELDS ? 0 : next + 1;
    proc_lines_pass(lines, length);
    return true;
}

/* Addresses are written in small letters, all other lines begin with a capital. */
static bool smaps_is_header(const char *line)
{
    return (*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f');
}

/* ---- The table ----------------------------------------------------------------------------- */

static struct smaps_mapping *smaps_mapping_new(struct smaps *smaps)
{
    if (!array_make_bare_room(&smaps->mappings, &smaps->capacity, smaps->count,
                              sizeof *smaps->mappings))
        return NULL;
    return &smaps->mappings[smaps->count];
}

/* The kernel's mark of a file whose name is gone. */
static bool smaps_cut_deleted(struct smaps *smaps, size_t path_at)
{
    static const char mark[] = " (deleted)";
    size_t length = smaps->paths.length - path_at;
    if (length < sizeof mark - 1 ||
        strcmp(smaps->paths.data + smaps->paths.length - (sizeof mark - 1), mark) != 0)
        return false;
    strbuf_truncate(&smaps->paths, smaps->paths.length - (sizeof mark - 1));
    return true;
}

static void smaps_mapping_fill(struct smaps *smaps, struct smaps_mapping *mapping,
                               const struct process_mapping *from)
{
    *mapping = (struct smaps_mapping){
        .start = from->start,
        .end = from->end,
        .offset_bytes = from->offset_bytes,
        .inode = from->inode,
        .device_major = from->device_major,
        .device_minor = from->device_minor,
        .readable = from->readable,
        .writable = from->writable,
        .executable = from->executable,
        .shared = from->shared,
        .path_at = smaps->paths.length,
        .kind = SMAPS_OTHER,
    };
    strbuf_add_string(&smaps->paths, from->path);
    mapping->deleted = smaps_cut_deleted(smaps, mapping->path_at);
    strbuf_add_char(&smaps->paths, '\0');
}

/* Returns the new mapping, or NULL: `error` is 0 if only this line is wrong, or -ENOMEM. The table
 * stays sorted whatever the text says. */
static struct smaps_mapping *smaps_take_header(struct smaps *smaps, char *line, int *error)
{
    struct process_mapping parsed;
    *error = 0;
    if (process_maps_parse(line, &parsed) != 0 ||
        (smaps->count && parsed.start < smaps->mappings[smaps->count - 1].end))
        return NULL;
    struct smaps_mapping *mapping = smaps_mapping_new(smaps);
    if (!mapping) {
        *error = -ENOMEM;
        return NULL;
    }
    smaps_mapping_fill(smaps, mapping, &parsed);
    smaps->count++;
    return mapping;
}

static int smaps_read_lines(struct smaps *smaps)
{
    struct smaps_bytes unwanted;
    struct smaps_mapping *mapping = NULL;
    struct record record = smaps_record_begin(&unwanted);
    struct smaps_shape shape = {{0}};
    int error = 0;
    for (char *line; !error && (line = proc_lines_next(&smaps->lines));) {
        if (smaps_is_header(line)) {
            mapping = smaps_take_header(smaps, line, &error);
            record = smaps_record_begin(mapping ? &mapping->bytes : &unwanted);
            smaps->damaged += !mapping;
        } else if (*line == 'V' && strncmp(line, "VmFlags:", 8) == 0) {
            if (mapping)
                mapping->flags = smaps_parse_flags(line + 8);
        } else {
            smaps->damaged += !smaps_record_line(&record, &shape, line);
        }
        while (smaps_record_known(&record, &shape, &smaps->lines))
            ;
    }
    return error ? error : smaps->lines.error;
}

static void smaps_reset(struct smaps *smaps)
{
    smaps->count = smaps->damaged = 0;
    strbuf_reset(&smaps->paths);
}

int smaps_read_fd(struct smaps *smaps, int fd)
{
    smaps_reset(smaps);
    proc_lines_start(&smaps->lines, fd);
    int error = smaps_read_lines(smaps);
    if (!error && !smaps->count)
        error = -ESRCH;
    if (error) {
        smaps_reset(smaps);
        return error;
    }
    for (size_t i = 0; i < smaps->count; i++)
        smaps->mappings[i].path = smaps->paths.data + smaps->mappings[i].path_at;
    return smaps_classify(smaps, NULL);
}

int smaps_read(struct smaps *smaps, pid_t pid)
{
    int fd = proc_open(pid, "smaps");
    if (fd < 0) {
        smaps_reset(smaps);
        return fd;
    }
    int error = smaps_read_fd(smaps, fd);
    close(fd);
    return error;
}

void smaps_release(struct smaps *smaps)
{
    free(smaps->mappings);
    strbuf_release(&smaps->paths);
    proc_lines_release(&smaps->lines);
    *smaps = SMAPS_INIT;
}

/* Index of the first mapping that ends above `address`. */
static size_t smaps_first_above(const struct smaps *smaps, uint64_t address)
{
    size_t first = 0;
    SEARCH_FIRST(first, smaps->count, at, smaps->mappings[at].end <= address);
    return first;
}

const struct smaps_mapping *smaps_find(const struct smaps *smaps, uint64_t address)
{
    size_t i = smaps_first_above(smaps, address);
    return i < smaps->count && smaps->mappings[i].start <= address ? &smaps->mappings[i] : NULL;
}

/* ---- Kinds --------------------------------------------------------------------------------- */

const char *smaps_kind_name(enum smaps_kind kind)
{
    static const char *const names[SMAPS_KINDS] = {
        [SMAPS_HEAP] = "heap",
        [SMAPS_ANONYMOUS] = "anonymous",
        [SMAPS_RESERVED] = "reserved",
        [SMAPS_TEXT] = "text",
        [SMAPS_RODATA] = "rodata",
        [SMAPS_DATA] = "data",
        [SMAPS_BSS] = "bss",
        [SMAPS_FILE] = "file",
        [SMAPS_SHARED_MEMORY] = "shared memory",
        [SMAPS_MAIN_STACK] = "main stack",
        [SMAPS_THREAD_STACK] = "thread stack",
        [SMAPS_VDSO] = "vdso",
        [SMAPS_HUGE] = "huge pages",
        [SMAPS_DEVICE] = "device",
        [SMAPS_TOOL] = "tool",
        [SMAPS_OTHER] = "other",
    };
    return (unsigned)kind < SMAPS_KINDS ? names[kind] : "other";
}

/* By name alone, first match; a name that ends in '*' is a beginning. The memory that recorder and
 * collector share is a memfd called "tidemark" (collector/shared_view.c). glibc names stacks and
 * arenas if told to (glibc.mem.decorate_maps). */
static const struct kind_name {
    const char *name;
    enum smaps_kind kind;
} kind_names[] = {
    {"[heap]", SMAPS_HEAP},
    {"[stack]", SMAPS_MAIN_STACK},
    {"[stack:*", SMAPS_THREAD_STACK},
    {"[anon: glibc: pthread stack*", SMAPS_THREAD_STACK},
    {"[anon: glibc: pthread user stack*", SMAPS_THREAD_STACK},
    {"[anon:stack_and_tls:*", SMAPS_THREAD_STACK},
    {"[anon_shmem:*", SMAPS_SHARED_MEMORY},
    {"[anon:*", SMAPS_ANONYMOUS},
    {"[vdso]", SMAPS_VDSO},
    {"[vvar*", SMAPS_VDSO},
    {"[vsyscall]", SMAPS_VDSO},
    {"[vectors]", SMAPS_VDSO},
    {"[sigpage]", SMAPS_VDSO},
    {"/memfd:tidemark", SMAPS_TOOL},
    {"/memfd:*", SMAPS_SHARED_MEMORY},
    {"/dev/shm/*", SMAPS_SHARED_MEMORY},
    {"/SYSV*", SMAPS_SHARED_MEMORY},
    {"/dev/*", SMAPS_DEVICE},
};

static bool smaps_name_matches(const char *pattern, const char *path)
{
    if (pattern[0] != path[0] || pattern[1] != path[1]) /* most names are none of these */
        return false;
    size_t length = strlen(pattern);
    if (pattern[length - 1] == '*')
        return strncmp(pattern, path, length - 1) == 0;
    return strcmp(pattern, path) == 0;
}

/* /dev/zero is no device: a private mapping of it is anonymous memory, a shared one is how the
 * kernel makes shared anonymous memory. "/SYSV…" and "/memfd:…" are names of files in the root
 * directory as well: the kernel's own have no name there, so they read as deleted. */
static enum smaps_kind smaps_kind_by_name(const struct smaps_mapping *mapping)
{
    if (strcmp(mapping->path, "/dev/zero") == 0)
        return mapping->shared ? SMAPS_SHARED_MEMORY : SMAPS_ANONYMOUS;
    for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++) {
        const struct kind_name *entry = &kind_names[i];
        if (!smaps_name_matches(entry->name, mapping->path))
            continue;
        bool unnamed =
            strncmp(entry->name, "/SYSV", 5) == 0 || strncmp(entry->name, "/memfd:", 7) == 0;
        if (!unnamed || mapping->deleted)
            return entry->kind;
    }
    return SMAPS_OTHER;
}

static bool smaps_is_file(const struct smaps_mapping *mapping)
{
    return mapping->path[0] == '/';
}

static bool smaps_is_anonymous(const struct smaps_mapping *mapping)
{
    return !mapping->path[0] && !mapping->inode && !mapping->shared;
}

/* Files that are mapped executable, sorted, so that the other mappings of them are found. */
struct smaps_module {
    uint64_t inode;
    uint32_t device_major, device_minor;
};

static int smaps_module_compare(const void *left, const void *right)
{
    const struct smaps_module *a = left, *b = right;
    if (a->inode != b->inode)
        return a->inode < b->inode ? -1 : 1;
    if (a->device_major != b->device_major)
        return a->device_major < b->device_major ? -1 : 1;
    return (a->device_minor > b->device_minor) - (a->device_minor < b->device_minor);
}

static struct smaps_module smaps_module_of(const struct smaps_mapping *mapping)
{
    return (struct smaps_module){mapping->inode, mapping->device_major, mapping->device_minor};
}

static int smaps_modules_find(const struct smaps *smaps, struct smaps_module **modules,
                              size_t *count)
{
    *count = 0;
    *modules = malloc((smaps->count + 1) * sizeof **modules);
    if (!*modules)
        return -ENOMEM;
    for (size_t i = 0; i < smaps->count; i++) {
        const struct smaps_mapping *mapping = &smaps->mappings[i];
        if (mapping->executable && smaps_is_file(mapping))
            (*modules)[(*count)++] = smaps_module_of(mapping);
    }
    qsort(*modules, *count, sizeof **modules, smaps_module_compare);
    return 0;
}

/* What the loader relocated and then made read-only was writable before: the kernel still accounts
 * for it. Kernels without VmFlags show at least that it has been written to. */
static enum smaps_kind smaps_kind_in_module(const struct smaps_mapping *mapping)
{
    if (mapping->executable)
        return SMAPS_TEXT;
    if (mapping->shared)
        return SMAPS_RODATA;
    bool written = figure_positive(mapping->bytes.anonymous);
    return mapping->writable || mapping->flags & SMAPS_IS_ACCOUNTED || written ? SMAPS_DATA
                                                                               : SMAPS_RODATA;
}

static enum smaps_kind smaps_kind_of_anonymous(const struct smaps_mapping *mapping,
                                               const struct smaps_mapping *below, bool *guessed)
{
    if (!mapping->readable && !mapping->writable && !mapping->executable)
        return SMAPS_RESERVED;
    bool behind_data = below && below->end == mapping->start && below->writable &&
                       below->kind == SMAPS_DATA && mapping->writable;
    *guessed = behind_data;
    if (mapping->flags & SMAPS_GROWS_DOWN)
        return SMAPS_THREAD_STACK;
    return behind_data ? SMAPS_BSS : SMAPS_ANONYMOUS;
}

/* `below`: the mapping before it in the table, classified already; NULL: none */
static enum smaps_kind smaps_kind_of(const struct smaps_mapping *mapping,
                                     const struct smaps_mapping *below,
                                     const struct smaps_module *modules, size_t module_count,
                                     bool *guessed)
{
    struct smaps_module key = smaps_module_of(mapping);
    *guessed = false;
    if (mapping->flags & SMAPS_IS_HUGETLB)
        return SMAPS_HUGE;
    enum smaps_kind kind = smaps_kind_by_name(mapping);
    if (kind != SMAPS_OTHER)
        return kind;
    if (mapping->flags & SMAPS_IS_IO)
        return SMAPS_DEVICE;
    if (smaps_is_anonymous(mapping))
        return smaps_kind_of_anonymous(mapping, below, guessed);
    if (!smaps_is_file(mapping))
        return SMAPS_OTHER;
    if (bsearch(&key, modules, module_count, sizeof key, smaps_module_compare))
        return smaps_kind_in_module(mapping);
    return SMAPS_FILE;
}

static bool smaps_is_guard(const struct smaps_mapping *below, const struct smaps_mapping *mapping)
{
    return below && below->end == mapping->start && below->kind == SMAPS_RESERVED;
}

static void smaps_apply_stack_pointers(struct smaps *smaps, const struct smaps_hints *hints)
{
    for (size_t i = 0; i < hints->stack_pointer_count; i++) {
        size_t at = smaps_first_above(smaps, hints->stack_pointers[i]);
        struct smaps_mapping *mapping = at < smaps->count ? &smaps->mappings[at] : NULL;
        if (mapping && at && mapping->start <= hints->stack_pointers[i] &&
            mapping->kind == SMAPS_ANONYMOUS && mapping->writable &&
            smaps_is_guard(mapping - 1, mapping)) {
            mapping->kind = SMAPS_THREAD_STACK;
            mapping->guessed = true;
        }
    }
}

/* How much of a mapping the ranges from `range` on cover, and whether they are all of one kind. */
static uint64_t smaps_hinted(const struct smaps_mapping *mapping, const struct smaps_hint *range,
                             const struct smaps_hint *end, bool *one_kind)
{
    enum smaps_kind kind = range < end ? range->kind : SMAPS_OTHER;
    uint64_t covered = 0;
    *one_kind = true;
    for (; range < end && range->start < mapping->end; range++) {
        uint64_t from = range->start > mapping->start ? range->start : mapping->start;
        uint64_t to = range->end < mapping->end ? range->end : mapping->end;
        covered += to > from ? to - from : 0;
        *one_kind &= range->kind == kind;
    }
    return covered;
}

static void smaps_apply_ranges(struct smaps *smaps, const struct smaps_hints *hints)
{
    const struct smaps_hint *range = hints->ranges;
    const struct smaps_hint *end = range ? range + hints->range_count : NULL;
    for (size_t i = 0; i < smaps->count; i++) {
        struct smaps_mapping *mapping = &smaps->mappings[i];
        while (range < end && range->end <= mapping->start)
            range++;
        bool one_kind;
        uint64_t covered = smaps_hinted(mapping, range, end, &one_kind);
        if (covered == mapping->end - mapping->start && one_kind) {
            mapping->kind = range->kind;
            mapping->guessed = false;
        } else {
            mapping->hinted_bytes = covered;
        }
    }
}

static bool smaps_ranges_are_sorted(const struct smaps_hints *hints)
{
    for (size_t i = 0; i < hints->range_count; i++) {
        const struct smaps_hint *range = &hints->ranges[i];
        if (range->start >= range->end || (i && range->start < range[-1].end) ||
            (unsigned)range->kind >= SMAPS_KINDS)
            return false;
    }
    return true;
}

int smaps_classify(struct smaps *smaps, const struct smaps_hints *hints)
{
    struct smaps_module *modules;
    size_t module_count;
    if (hints && !smaps_ranges_are_sorted(hints))
        return -EINVAL;
    int error = smaps_modules_find(smaps, &modules, &module_count);
    if (error)
        return error;
    for (size_t i = 0; i < smaps->count; i++) {
        struct smaps_mapping *mapping = &smaps->mappings[i];
        mapping->hinted_bytes = 0;
        mapping->kind = smaps_kind_of(mapping, i ? mapping - 1 : NULL, modules, module_count,
                                      &mapping->guessed);
    }
    free(modules);
    if (hints) {
        smaps_apply_stack_pointers(smaps, hints);
        smaps_apply_ranges(smaps, hints);
    }
    return 0;
}

/* ---- Sums ---------------------------------------------------------------------------------- */

void smaps_sum(const struct smaps *smaps, struct smaps_totals *totals)
{
    *totals = (struct smaps_totals){.count = smaps->count};
    for (size_t i = 0; i < smaps->count; i++) {
        const struct smaps_mapping *mapping = &smaps->mappings[i];
        smaps_add(&totals->all, &mapping->bytes);
        smaps_add(&totals->kinds[mapping->kind], &mapping->bytes);
        totals->kind_counts[mapping->kind]++;
    }
}

int smaps_rollup_fd(int fd, struct smaps_bytes *bytes)
{
    struct proc_lines lines = {0};
    struct record record = smaps_record_begin(bytes);
    struct smaps_shape shape = {{0}};
    proc_lines_start(&lines, fd);
    bool any = false;
    for (char *line; (line = proc_lines_next(&lines));) {
        any = true;
        if (!smaps_is_header(line))
            smaps_record_line(&record, &shape, line);
    }
    int error = lines.error ? lines.error : any ? 0 : -ESRCH;
    proc_lines_release(&lines);
    return error;
}

static int smaps_sum_smaps(pid_t pid, struct smaps_bytes *bytes)
{
    struct smaps smaps = SMAPS_INIT;
    struct smaps_totals totals;
    int error = smaps_read(&smaps, pid);
    if (!error) {
        smaps_sum(&smaps, &totals);
        *bytes = totals.all;
    }
    smaps_release(&smaps);
    return error;
}

int smaps_rollup(pid_t pid, struct smaps_bytes *bytes)
{
    int fd = proc_open(pid, "smaps_rollup");
    if (fd == -ESRCH) /* gone, or the kernel has no such file: smaps knows which */
        return smaps_sum_smaps(pid, bytes);
    if (fd < 0)
        return fd;
    int error = smaps_rollup_fd(fd, bytes);
    close(fd);
    return error;
}
