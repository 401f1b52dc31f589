/* Variables of programs with known answers, and of real ones against nm, readelf and size. */
#include "fixture.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/now.h"
#include "symbols/variable_places.h"
#include "symbols/variable_symbols.h"
#include "symbols/static_variables.h"

#define PLENTY_MS 60000u

static struct variables read_variables(const char *path, unsigned place_ms)
{
    struct variables variables;
    struct variables_request request = {.path = path, .place_ms = place_ms};
    int error = variables_read(&variables, &request);
    if (error)
        fail_msg("%s: %s", path, variables_explain(error));
    return variables;
}

static const struct variable *find(const struct variables *variables, const char *name)
{
    const struct variable *found = NULL;
    for (size_t i = 0; i < variables->count; i++) {
        if (strcmp(variables->list[i].name, name) != 0)
            continue;
        if (found)
            fail_msg("%s stands twice", name);
        found = &variables->list[i];
    }
    return found;
}

static enum variables_kind kind_of(const struct variables *variables, const struct variable *one)
{
    return variables->sections[one->section].kind;
}

/* ---- What must hold of every answer -------------------------------------------------------- */

/* The oracle of `counted_bytes`: a byte for each byte of the section. */
static uint64_t bytes_covered(const struct variables *variables, uint32_t number)
{
    const struct variables_section *section = &variables->sections[number];
    bool tls = section->kind == VARIABLES_TDATA || section->kind == VARIABLES_TBSS;
    uint64_t base = section->address - (tls ? variables->tls.address : 0), covered = 0;
    char *map = calloc(section->bytes, 1);
    for (size_t i = 0; i < variables->count; i++) {
        const struct variable *one = &variables->list[i];
        if (one->section != number)
            continue;
        assert_true(one->address >= base);
        assert_true(one->bytes <= section->bytes);
        assert_true(one->address - base <= section->bytes - one->bytes);
        memset(map + (one->address - base), 1, one->bytes);
    }
    for (uint64_t i = 0; i < section->bytes; i++)
        covered += (uint64_t)map[i];
    free(map);
    return covered;
}

static void expect_sums(const struct variables *variables)
{
    size_t count = 0;
    for (uint32_t s = 0; s < variables->section_count; s++) {
        uint64_t counted = 0;
        const struct variables_section *section = &variables->sections[s];
        for (size_t i = 0; i < variables->count; i++)
            counted += variables->list[i].section == s ? variables->list[i].counted_bytes : 0;
        assert_int_equal(counted, section->named_bytes);
        assert_true(section->named_bytes <= section->bytes);
        assert_int_equal(bytes_covered(variables, s), section->named_bytes);
        count += section->variable_count;
    }
    assert_int_equal(count, variables->count);
}

static void expect_order(const struct variables *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        const struct variable *one = &variables->list[i];
        assert_true(one->bytes > 0 && one->counted_bytes <= one->bytes);
        assert_true(one->name && *one->name);
        assert_true(i == 0 || one[-1].bytes > one->bytes ||
                    (one[-1].bytes == one->bytes && strcmp(one[-1].name, one->name) <= 0));
    }
}

/* ---- nm ------------------------------------------------------------------------------------ */

/* A name as compilers give to literals. */
static bool is_literal(const char *name)
{
    static const char hex[] = "0123456789abcdef";
    return name[0] == '.' || (strncmp(name, "anon.", 5) == 0 && strspn(name + 5, hex) == 32) ||
           (strncmp(name, "alloc_", 6) == 0 && strspn(name + 6, hex) == 32);
}

static bool has_variable(const struct variables *variables, uint64_t address, uint64_t bytes,
                         const char *section)
{
    for (size_t i = 0; i < variables->count; i++) {
        const struct variable *one = &variables->list[i];
        if (one->address == address && one->bytes == bytes &&
            strcmp(variables->sections[one->section].name, section) == 0)
            return true;
    }
    return false;
}

static bool has_section(const struct variables *variables, const char *name)
{
    for (size_t i = 0; i < variables->section_count; i++) {
        if (strcmp(variables->sections[i].name, name) == 0)
            return true;
    }
    return false;
}

/* "name |value|class|type|size|line|section". True: a variable. */
static bool parse_nm(char *line, char **name, uint64_t *value, uint64_t *bytes, char **section)
{
    char *fields[7], *rest = line;
    line[strcspn(line, "\n")] = '\0';
    for (int i = 0; i < 7; i++)
        fields[i] = strsep(&rest, "|");
    if (!fields[6])
        return false;
    char *type = fields[3] + strspn(fields[3], " ");
    *name = fields[0];
    *value = strtoull(fields[1], NULL, 16);
    *bytes = strtoull(fields[4], NULL, 16);
    *section = fields[6];
    return *bytes && (strncmp(type, "OBJECT", 6) == 0 || strncmp(type, "TLS", 3) == 0 ||
                      strncmp(type, "NOTYPE", 6) == 0);
}

static FILE *run(const char *command, const char *path)
{
    char line[1024];
    snprintf(line, sizeof line, "LC_ALL=C %s '%s' 2>/dev/null", command, path);
    FILE *output = popen(line, "r");
    assert_non_null(output);
    return output;
}

/* Every data symbol that nm lists is a variable of that size, place and section, or an alias of
 * one, and there are no others. Returns how many. */
static size_t expect_as_nm(const struct variables *variables, const char *path)
{
    char line[65536], *name, *section;
    uint64_t value, bytes;
    size_t listed = 0, known = 0;
    FILE *nm = run(variables->names == VARIABLES_NAMES_ALL ? "nm -f sysv --defined-only"
                                                           : "nm -D -f sysv --defined-only",
                   path);
    while (fgets(line, sizeof line, nm)) {
        if (!parse_nm(line, &name, &value, &bytes, &section) || is_literal(name) ||
            !has_section(variables, section))
            continue;
        listed++;
        if (!has_variable(variables, value, bytes, section))
            fail_msg("%s: nm knows %s, %" PRIu64 " bytes in %s", path, name, bytes, section);
    }
    assert_int_equal(pclose(nm), 0);
    for (size_t i = 0; i < variables->count; i++)
        known += variables->list[i].linkage ? 1 + variables->list[i].alias_count : 0;
    assert_int_equal(known, listed);
    return listed;
}

/* ---- readelf and size ---------------------------------------------------------------------- */

static const struct variables_section *section_named(const struct variables *variables,
                                                     const char *name)
{
    for (size_t i = 0; i < variables->section_count; i++) {
        if (strcmp(variables->sections[i].name, name) == 0)
            return &variables->sections[i];
    }
    return NULL;
}

/* "  [ 3] .name  TYPE  address offset size entry FLAGS link info align": loaded, no code. */
static size_t expect_as_readelf(const struct variables *variables, const char *path)
{
    char line[4096], name[256], type[64], flags[16];
    uint64_t address, offset, bytes, entry;
    size_t loaded = 0;
    FILE *readelf = run("readelf -SW", path);
    while (fgets(line, sizeof line, readelf)) {
        char *bracket = strchr(line, ']');
        if (!bracket ||
            sscanf(bracket + 1, "%255s %63s %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %15s",
                   name, type, &address, &offset, &bytes, &entry, flags) != 7)
            continue;
        if (!strchr(flags, 'A') || strchr(flags, 'X') || !bytes)
            continue;
        const struct variables_section *section = section_named(variables, name);
        if (!section)
            fail_msg("%s: no section %s", path, name);
        assert_int_equal(section->bytes, bytes);
        assert_int_equal(section->writable, strchr(flags, 'W') != NULL);
        bool tls = section->kind == VARIABLES_TDATA || section->kind == VARIABLES_TBSS;
        assert_int_equal(tls, strchr(flags, 'T') != NULL);
        loaded++;
    }
    assert_int_equal(pclose(readelf), 0);
    assert_int_equal(loaded, variables->section_count);
    return loaded;
}

static void expect_as_size(const struct variables *variables, const char *path)
{
    char line[4096], name[256];
    uint64_t bytes, address;
    size_t equal = 0;
    FILE *size = run("size -A -d", path);
    while (fgets(line, sizeof line, size)) {
        if (sscanf(line, "%255s %" SCNu64 " %" SCNu64, name, &bytes, &address) != 3)
            continue;
        const struct variables_section *section = section_named(variables, name);
        if (!section)
            continue;
        assert_int_equal(section->bytes, bytes);
        assert_int_equal(section->address, address);
        equal++;
    }
    assert_int_equal(pclose(size), 0);
    assert_int_equal(equal, variables->section_count);
}

static void expect_tls_as_readelf(const struct variables *variables, const char *path)
{
    char line[4096], *at;
    uint64_t address, file_bytes = 0, bytes = 0, align = 1;
    FILE *readelf = run("readelf -lW", path);
    while (fgets(line, sizeof line, readelf)) {
        if ((at = strstr(line, "  TLS ")))
            assert_int_equal(sscanf(at + 6,
                                    "%*s %" SCNx64 " %*s %" SCNx64 " %" SCNx64 " R %" SCNx64,
                                    &address, &file_bytes, &bytes, &align),
                             4);
    }
    assert_int_equal(pclose(readelf), 0);
    assert_int_equal(variables->tls.bytes, bytes);
    assert_int_equal(variables->tls.object_file_bytes, file_bytes);
    assert_int_equal(variables->tls.align_bytes, align);
}

/* Returns how many symbols nm had. A system library may have its debug file installed, so that
 * more is known than nm finds in it. */
static size_t expect_as_binutils(const char *path)
{
    struct variables variables = read_variables(path, PLENTY_MS);
    size_t symbols = 0;
    expect_sums(&variables);
    expect_order(&variables);
    expect_as_readelf(&variables, path);
    expect_as_size(&variables, path);
    expect_tls_as_readelf(&variables, path);
    FILE *nm = run("nm", path);
    bool has_symtab = fgetc(nm) != EOF;
    pclose(nm);
    if (has_symtab)
        assert_int_equal(variables.names, VARIABLES_NAMES_ALL);
    if (has_symtab || variables.names == VARIABLES_NAMES_EXPORTS)
        symbols = expect_as_nm(&variables, path);
    variables_release(&variables);
    return symbols;
}

static void fixtures_are_what_binutils_say(void **state)
{
    (void)state;
    static const char *const paths[] = {
        FIXTURES "/variables",
        FIXTURES "/variables-fixed",
        FIXTURES "/variables-common",
        FIXTURES "/variables-split",
        FIXTURES "/variables-lto",
        FIXTURES "/variables.so",
        FIXTURES "/variables-symbols",
        FIXTURES "/variables-cc",
        FIXTURES "/variables-dwarf4",
        FIXTURES "/shapes-static",
        FIXTURES "/variables-exports.so",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_true(expect_as_binutils(paths[i]) >= 10);
    if (HAVE_FORTRAN)
        assert_true(expect_as_binutils(FIXTURES "/variables-f90") >= 6);
}

/* Where a system has them. */
static void real_programs_are_what_binutils_say(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/usr/bin/python3",
        "/usr/bin/perl",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
        "/usr/lib64/libstdc++.so.6",
        "/usr/lib/x86_64-linux-gnu/libc.so.6",
    };
    char self[4096] = "";
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    expect_as_binutils(self);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (access(paths[i], R_OK) == 0)
            printf("%s: %zu symbols\n", paths[i], expect_as_binutils(paths[i]));
    }
}

/* ---- Known answers ------------------------------------------------------------------------- */

struct expected {
    const char *name;
    uint64_t bytes;
    enum variables_kind kind;
    uint32_t line; /* 0: none */
};

static void expect_list(const char *path, const struct expected *expected, const char *source)
{
    struct variables variables = read_variables(path, PLENTY_MS);
    for (; expected->name; expected++) {
        const struct variable *one = find(&variables, expected->name);
        if (!one)
            fail_msg("%s: no %s", path, expected->name);
        assert_int_equal(one->bytes, expected->bytes);
        if (kind_of(&variables, one) != expected->kind)
            fail_msg("%s: %s lies in %s", path, one->name, variables.sections[one->section].name);
        if (one->line != expected->line)
            fail_msg("%s: %s in line %u", path, one->name, one->line);
        if (source && expected->line)
            assert_string_equal(one->file, source);
        else
            assert_null(one->file);
    }
    variables_release(&variables);
}

static const struct expected of_c[] = {
    {"initialised", 40, VARIABLES_DATA, 5},
    {"zeroed", 1000, VARIABLES_BSS, 7},
    {"hidden_zeroed", 500, VARIABLES_BSS, 8},
    {"table", 256, VARIABLES_RODATA, 9},
    {"hidden_table", 64, VARIABLES_RODATA, 10},
    {"words", 32, VARIABLES_RELRO, 11},
    {"greeting", 8, VARIABLES_DATA, 12},
    {"tentative", 100, VARIABLES_BSS, 13},
    {"in_own_section", 12, VARIABLES_OTHER, 14},
    {"tls_initialised", 16, VARIABLES_TDATA, 15},
    {"tls_zeroed", 100, VARIABLES_TBSS, 16},
    {"tls_initial_exec", 8, VARIABLES_TBSS, 17},
    {"whole", 64, VARIABLES_DATA, 0},
    {"part", 16, VARIABLES_DATA, 0},
    {"count_calls::calls", 4, VARIABLES_BSS, 34},
    {"count_calls::by_size", 24, VARIABLES_DATA, 35},
    {0},
};

static void variables_of_c_have_sizes_sections_and_lines(void **state)
{
    (void)state;
    static const char *const paths[] = {
        FIXTURES "/variables",          FIXTURES "/variables-common", FIXTURES "/variables-split",
        FIXTURES "/variables-dwarf4",   FIXTURES "/variables-packed", FIXTURES "/variables.so",
        FIXTURES "/variables-stripped", FIXTURES "/variables-debug",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        expect_list(paths[i], of_c, SOURCES "/variables.c");
}

static void a_table_of_pointers_needs_no_relocation_in_a_fixed_program(void **state)
{
    (void)state;
    expect_list(FIXTURES "/variables-fixed",
                (struct expected[]){{"words", 32, VARIABLES_RODATA, 11}, {0}},
                SOURCES "/variables.c");
}

/* Its entry in DWARF has place 0, which is another's. */
static void a_discarded_variable_lends_nobody_its_line(void **state)
{
    (void)state;
    struct variables variables = read_variables(FIXTURES "/variables-common", PLENTY_MS);
    assert_null(find(&variables, "tls_discarded"));
    assert_int_equal(find(&variables, "tls_initialised")->address, 0);
    assert_int_equal(find(&variables, "tls_initialised")->line, 15);
    variables_release(&variables);
    variables = read_variables(FIXTURES "/variables", PLENTY_MS);
    assert_int_equal(find(&variables, "tls_discarded")->line, 4);
    variables_release(&variables);
}

/* gcc keeps the entry with the line in the unit that it compiled, and the one with the address in
 * the unit that it linked. */
static void link_time_optimised_variables_have_lines(void **state)
{
    (void)state;
    expect_list(FIXTURES "/variables-lto",
                (struct expected[]){{"hidden_zeroed", 500, VARIABLES_BSS, 8},
                                    {"tls_zeroed", 100, VARIABLES_TBSS, 16},
                                    {"count_calls::calls", 4, VARIABLES_BSS, 34},
                                    {0}},
                SOURCES "/variables.c");
}

/* clang says of a static member only where it is declared, and numbers lambdas in its own way. */
#ifdef __clang__
#define MEMBER_LINE(declared, defined) declared
#define LAMBDA                         "$_0"
#else
#define MEMBER_LINE(declared, defined) defined
#define LAMBDA                         "{lambda(int)#1}"
#endif

static void variables_of_cpp_have_readable_names(void **state)
{
    (void)state;
    static const struct expected of_cpp[] = {
        {"space::in_namespace", 12, VARIABLES_DATA, 3},
        {"space::(anonymous namespace)::in_anonymous", 20, VARIABLES_BSS, 5},
        {"space::Thing::member", 28, VARIABLES_BSS, MEMBER_LINE(8, 12)},
        {"space::Thing::inlined", 36, VARIABLES_DATA, 9},
        {"space::Box<int>::content", 44, VARIABLES_BSS, MEMBER_LINE(14, 16)},
        {"space::per_thread", 52, VARIABLES_TBSS, 17},
        {"at_file", 24, VARIABLES_DATA, 20},
        {"plain_c_name", 60, VARIABLES_BSS, 22},
        {"step(int)::calls", 8, VARIABLES_BSS, 26},
        {"step(int)::" LAMBDA "::operator()(int) const::seen", 16, VARIABLES_BSS, 29},
        {"vtable for space::Thing", 32, VARIABLES_RELRO, 0},
        {0},
    };
    expect_list(FIXTURES "/variables-cc", of_cpp, SOURCES "/variables.cc");
}

static void variables_of_fortran_are_what_people_wrote(void **state)
{
    (void)state;
    static const struct expected of_fortran[] = {
        {"field::grid", 800, VARIABLES_BSS, 3},
        {"field::steps", 4, VARIABLES_DATA, 4},
        {"field::advance::count", 20, VARIABLES_BSS, 8},
        {"COMMON /block/", 44, VARIABLES_BSS, 18},
        {"COMMON //", 32, VARIABLES_BSS, 19},
        {"main_fields::seen", 80, VARIABLES_BSS, 27},
        {0},
    };
    if (!HAVE_FORTRAN)
        skip();
    expect_list(FIXTURES "/variables-f90", of_fortran, SOURCES "/variables.f90");
}

static void an_alias_is_the_same_variable(void **state)
{
    (void)state;
    struct variables variables = read_variables(FIXTURES "/variables", PLENTY_MS);
    assert_null(find(&variables, "other_name"));
    assert_int_equal(find(&variables, "initialised")->alias_count, 1);
    assert_string_equal(find(&variables, "initialised")->linkage, "initialised");
    assert_int_equal(find(&variables, "zeroed")->alias_count, 0);
    variables_release(&variables);
}

static void bytes_that_two_symbols_have_are_counted_once(void **state)
{
    (void)state;
    struct variables variables = read_variables(FIXTURES "/variables", PLENTY_MS);
    assert_int_equal(find(&variables, "whole")->counted_bytes, 64);
    assert_int_equal(find(&variables, "part")->counted_bytes, 0);
    assert_int_equal(find(&variables, "tail")->counted_bytes, 0);
    assert_null(find(&variables, "label"));
    variables_release(&variables);
}

static void string_literals_are_in_the_unnamed_rest(void **state)
{
    (void)state;
    struct variables variables = read_variables(FIXTURES "/variables", PLENTY_MS);
    const struct variables_section *rodata = section_named(&variables, ".rodata");
    assert_true(rodata->bytes - rodata->named_bytes >=
                sizeof "a string literal that is no variable");
    variables_release(&variables);
}

/* ---- What is not known --------------------------------------------------------------------- */

static void exports_alone_are_said_to_be_all_that_is_known(void **state)
{
    (void)state;
    struct variables variables = read_variables(FIXTURES "/variables-exports.so", PLENTY_MS);
    assert_int_equal(variables.names, VARIABLES_NAMES_EXPORTS);
    assert_int_equal(variables.places, VARIABLES_PLACES_NONE);
    assert_null(find(&variables, "hidden_zeroed"));
    assert_int_equal(find(&variables, "zeroed")->bytes, 1000);
    assert_int_equal(find(&variables, "tls_initial_exec")->bytes, 8);
    const struct variables_section *bss = section_named(&variables, ".bss");
    assert_true(bss->bytes - bss->named_bytes >= 500);
    variables_release(&variables);
}

static void dwarf_names_what_has_no_symbol(void **state)
{
    (void)state;
    struct variables variables = read_variables(FIXTURES "/variables-nameless", PLENTY_MS);
    const struct variable *hidden = find(&variables, "hidden_zeroed");
    assert_null(hidden->linkage);
    assert_int_equal(hidden->bytes, 500);
    assert_int_equal(hidden->line, 8);
    assert_int_equal(find(&variables, "tls_zeroed")->bytes, 100);
    assert_int_equal(find(&variables, "count_calls::calls")->line, 34);
    expect_sums(&variables);
    variables_release(&variables);
}

static void a_bare_program_still_has_totals(void **state)
{
    (void)state;
    struct variables full = read_variables(FIXTURES "/variables", PLENTY_MS);
    struct variables bare = read_variables(FIXTURES "/variables-bare", PLENTY_MS);
    assert_int_equal(bare.section_count, full.section_count);
    for (size_t i = 0; i < full.section_count; i++) {
        assert_string_equal(bare.sections[i].name, full.sections[i].name);
        assert_int_equal(bare.sections[i].bytes, full.sections[i].bytes);
    }
    assert_null(find(&bare, "zeroed"));
    variables_release(&full);
    variables_release(&bare);
}

/* A debug file has the sections without their bytes, so only names tell .data from .bss. */
static void a_debug_file_stands_in_for_its_program(void **state)
{
    (void)state;
    struct variables full = read_variables(FIXTURES "/variables", PLENTY_MS);
    struct variables debug = read_variables(FIXTURES "/variables-debug", PLENTY_MS);
    assert_int_equal(debug.section_count, full.section_count);
    for (size_t i = 0; i < full.section_count; i++) {
        assert_int_equal(debug.sections[i].kind, full.sections[i].kind);
        assert_int_equal(debug.sections[i].named_bytes, full.sections[i].named_bytes);
    }
    assert_int_equal(debug.count, full.count);
    variables_release(&full);
    variables_release(&debug);
}

static void places_are_not_read_unless_asked_for(void **state)
{
    (void)state;
    struct variables variables = read_variables(FIXTURES "/variables", 0);
    assert_int_equal(variables.places, VARIABLES_PLACES_NONE);
    assert_int_equal(variables.unit_count, 0);
    assert_null(find(&variables, "zeroed")->file);
    assert_int_equal(find(&variables, "hidden_zeroed")->bytes, 500);
    variables_release(&variables);
}

static void a_walk_that_is_late_says_so(void **state)
{
    (void)state;
    struct variables variables = read_variables(FIXTURES "/variables-fixed", 0);
    int fd = open(FIXTURES "/variables-fixed", O_RDONLY);
    Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
    variables_merge(&variables);
    for (size_t i = 0; i < variables.count; i++)
        variables.list[i].name = NULL;
    variable_places_read(&variables, dwarf, 0, now_monotonic_ns());
    assert_int_equal(variables.places, VARIABLES_PLACES_PARTLY);
    assert_int_equal(variables.unit_count, 1);
    assert_int_equal(variables.units_read, 0);
    variable_places_read(&variables, dwarf, 0, UINT64_MAX);
    assert_int_equal(variables.places, VARIABLES_PLACES_ALL);
    assert_int_equal(variables.units_read, 1);
    size_t placed = 0;
    for (size_t i = 0; i < variables.count; i++)
        placed += variables.list[i].file != NULL;
    assert_int_equal(placed, 15);
    dwarf_end(dwarf);
    close(fd);
    variables_release(&variables);
}

/* ---- Files that are refused, or doubted ---------------------------------------------------- */

struct bytes {
    char *data;
    size_t length;
};

static struct bytes read_bytes(const char *path)
{
    struct bytes bytes = {0};
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    bytes.length = (size_t)ftell(stream);
    rewind(stream);
    bytes.data = malloc(bytes.length);
    assert_int_equal(fread(bytes.data, 1, bytes.length, stream), bytes.length);
    fclose(stream);
    return bytes;
}

static int read_from(struct variables *variables, const void *data, size_t length)
{
    char path[] = "/tmp/tidemark-variables-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, data, length), length);
    close(fd);
    int error =
        variables_read(variables, &(struct variables_request){.path = path, .place_ms = PLENTY_MS});
    unlink(path);
    return error;
}

static Elf64_Shdr *header_of(struct bytes bytes, const char *name)
{
    Elf64_Ehdr *header = (Elf64_Ehdr *)bytes.data;
    Elf64_Shdr *sections = (Elf64_Shdr *)(bytes.data + header->e_shoff);
    const char *names = bytes.data + sections[header->e_shstrndx].sh_offset;
    for (size_t i = 0; i < header->e_shnum; i++) {
        if (strcmp(names + sections[i].sh_name, name) == 0)
            return &sections[i];
    }
    fail_msg("no section %s", name);
    return NULL;
}

static void what_cannot_be_read_is_refused_with_a_reason(void **state)
{
    (void)state;
    struct variables variables;
    struct variables_request gone = {.path = "/nonexistent/file"};
    assert_int_equal(variables_read(&variables, &gone), -ENOENT);
    struct variables_request text = {.path = SOURCES "/variables.c"};
    assert_int_equal(variables_read(&variables, &text), -ENOENT);
    struct variables_request changed = {.path = FIXTURES "/variables",
                                        .build_id = (const uint8_t *)"12345678",
                                        .build_id_bytes = 8};
    assert_int_equal(variables_read(&variables, &changed), -ESTALE);
    struct variables_request object = {.path = FIXTURES "/variables.o"};
    assert_int_equal(variables_read(&variables, &object), -ENOTSUP);
    assert_non_null(strstr(variables_explain(-ENOTSUP), "64-bit"));
    assert_non_null(strstr(variables_explain(-ESTALE), "build-id"));
}

static void a_32_bit_program_is_refused(void **state)
{
    (void)state;
    struct {
        Elf32_Ehdr header;
        Elf32_Phdr segment;
        char content[4096];
    } file = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_EXEC,
                   .e_machine = EM_386,
                   .e_version = EV_CURRENT,
                   .e_phoff = sizeof(Elf32_Ehdr),
                   .e_ehsize = sizeof(Elf32_Ehdr),
                   .e_phentsize = sizeof(Elf32_Phdr),
                   .e_phnum = 1},
        .segment = {.p_type = PT_LOAD,
                    .p_vaddr = 0x8048000,
                    .p_filesz = sizeof file,
                    .p_memsz = sizeof file,
                    .p_flags = PF_R,
                    .p_align = 4096},
    };
    struct variables variables;
    assert_int_equal(read_from(&variables, &file, sizeof file), -ENOTSUP);
}

static void a_section_beyond_the_file_is_left_out(void **state)
{
    (void)state;
    struct bytes bytes = read_bytes(FIXTURES "/variables");
    struct variables variables;
    header_of(bytes, ".data")->sh_size = 1ull << 40;
    assert_int_equal(read_from(&variables, bytes.data, bytes.length), 0);
    assert_null(section_named(&variables, ".data"));
    assert_null(find(&variables, "initialised"));
    assert_int_equal(find(&variables, "zeroed")->bytes, 1000);
    assert_true(variables.distrusted > 1);
    variables_release(&variables);
    free(bytes.data);
}

static void a_symbol_beyond_its_section_is_left_out(void **state)
{
    (void)state;
    struct bytes bytes = read_bytes(FIXTURES "/variables-symbols");
    Elf64_Shdr *table = header_of(bytes, ".symtab");
    const char *names = bytes.data + header_of(bytes, ".strtab")->sh_offset;
    Elf64_Sym *symbols = (Elf64_Sym *)(bytes.data + table->sh_offset);
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        if (strcmp(names + symbols[i].st_name, "zeroed") == 0)
            symbols[i].st_size = UINT64_MAX - 8;
    }
    struct variables variables;
    assert_int_equal(read_from(&variables, bytes.data, bytes.length), 0);
    assert_null(find(&variables, "zeroed"));
    assert_int_equal(variables.distrusted, 1);
    assert_int_equal(find(&variables, "hidden_zeroed")->bytes, 500);
    expect_sums(&variables);
    variables_release(&variables);
    free(bytes.data);
}

static void what_would_take_too_long_to_unpack_is_not_begun(void **state)
{
    (void)state;
    struct bytes bytes = read_bytes(FIXTURES "/variables-packed");
    struct variables variables;
    Elf64_Shdr *section = header_of(bytes, ".debug_info");
    assert_true(section->sh_flags & SHF_COMPRESSED);
    ((Elf64_Chdr *)(bytes.data + section->sh_offset))->ch_size = 1ull << 45;
    assert_int_equal(read_from(&variables, bytes.data, bytes.length), 0);
    assert_int_equal(variables.places, VARIABLES_PLACES_PARTLY);
    assert_int_equal(variables.unit_count, 0);
    assert_int_equal(find(&variables, "zeroed")->bytes, 1000);
    variables_release(&variables);
    free(bytes.data);
}

static void a_file_without_section_headers_has_its_tls_alone(void **state)
{
    (void)state;
    struct bytes bytes = read_bytes(FIXTURES "/variables-fixed");
    Elf64_Ehdr *header = (Elf64_Ehdr *)bytes.data;
    struct variables full = read_variables(FIXTURES "/variables-fixed", 0), variables;
    header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
    assert_int_equal(read_from(&variables, bytes.data, bytes.length), 0);
    assert_int_equal(variables.section_count, 0);
    assert_int_equal(variables.names, VARIABLES_NAMES_NONE);
    assert_true(full.tls.bytes >= 124);
    assert_int_equal(variables.tls.bytes, full.tls.bytes);
    variables_release(&full);
    variables_release(&variables);
    free(bytes.data);
}

/* ---- What threads cost --------------------------------------------------------------------- */

static void thread_local_memory_is_a_copy_for_each_thread_and_the_image(void **state)
{
    (void)state;
    struct variables_tls tls = {.bytes = 100, .object_file_bytes = 16, .align_bytes = 64};
    assert_int_equal(variables_tls_cost(&tls, 1), 128 + 16);
    assert_int_equal(variables_tls_cost(&tls, 10), 1280 + 16);
    assert_int_equal(variables_tls_cost(&tls, 0), 16);
    assert_int_equal(variables_tls_cost(&tls, UINT64_MAX / 2), UINT64_MAX);
    assert_int_equal(variables_tls_cost(&(struct variables_tls){.align_bytes = 1}, 8), 0);
    tls.bytes = UINT64_MAX - 3;
    assert_int_equal(variables_tls_cost(&tls, 1), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixtures_are_what_binutils_say),
        cmocka_unit_test(real_programs_are_what_binutils_say),
        cmocka_unit_test(variables_of_c_have_sizes_sections_and_lines),
        cmocka_unit_test(a_table_of_pointers_needs_no_relocation_in_a_fixed_program),
        cmocka_unit_test(a_discarded_variable_lends_nobody_its_line),
        cmocka_unit_test(link_time_optimised_variables_have_lines),
        cmocka_unit_test(variables_of_cpp_have_readable_names),
        cmocka_unit_test(variables_of_fortran_are_what_people_wrote),
        cmocka_unit_test(an_alias_is_the_same_variable),
        cmocka_unit_test(bytes_that_two_symbols_have_are_counted_once),
        cmocka_unit_test(string_literals_are_in_the_unnamed_rest),
        cmocka_unit_test(exports_alone_are_said_to_be_all_that_is_known),
        cmocka_unit_test(dwarf_names_what_has_no_symbol),
        cmocka_unit_test(a_bare_program_still_has_totals),
        cmocka_unit_test(a_debug_file_stands_in_for_its_program),
        cmocka_unit_test(places_are_not_read_unless_asked_for),
        cmocka_unit_test(a_walk_that_is_late_says_so),
        cmocka_unit_test(what_cannot_be_read_is_refused_with_a_reason),
        cmocka_unit_test(a_32_bit_program_is_refused),
        cmocka_unit_test(a_section_beyond_the_file_is_left_out),
        cmocka_unit_test(a_symbol_beyond_its_section_is_left_out),
        cmocka_unit_test(what_would_take_too_long_to_unpack_is_not_begun),
        cmocka_unit_test(a_file_without_section_headers_has_its_tls_alone),
        cmocka_unit_test(thread_local_memory_is_a_copy_for_each_thread_and_the_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
