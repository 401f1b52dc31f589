/* Makes variables from sections and symbols (variable_symbols.h). No number of the file is trusted:
 * a section must lie in the file and in the address space, and a symbol inside a section. Others
 * are left out and counted. */
#include "symbols/variable_symbols.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "symbols/name_memory.h"
#include "symbols/symbol_table.h"

/* ---- Sections ------------------------------------------------------------------------------ */

static bool variable_begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ".data" and ".data.…", with l for large models, s for small ones. */
static bool variable_is_family(const char *name, const char *family)
{
    size_t length = strlen(family);
    if (*name++ != '.')
        return false;
    if ((*name == 'l' || *name == 's') && name[1] == family[0])
        name++;
    return strncmp(name, family, length) == 0 && (name[length] == '\0' || name[length] == '.');
}

static bool variable_is_tls(enum variables_kind kind)
{
    return kind == VARIABLES_TDATA || kind == VARIABLES_TBSS;
}

/* In a debug file that stands in for its program, no loaded section has bytes. So only the names
 * tell which sections have no bytes in the program either. */
static enum variables_kind variable_kind_of(const GElf_Shdr *header, const char *name,
                                            bool is_debug_file)
{
    bool empty = is_debug_file ? variable_is_family(name, "bss") || variable_is_family(name, "tbss")
                               : header->sh_type == SHT_NOBITS;
    if (header->sh_flags & SHF_TLS)
        return empty ? VARIABLES_TBSS : VARIABLES_TDATA;
    if (!(header->sh_flags & SHF_WRITE))
        return variable_is_family(name, "rodata") ? VARIABLES_RODATA : VARIABLES_OTHER;
    if (empty)
        return VARIABLES_BSS;
    if (variable_begins(name, ".data.rel.ro"))
        return VARIABLES_RELRO;
    return variable_is_family(name, "data") || strcmp(name, ".data1") == 0 ? VARIABLES_DATA
                                                                           : VARIABLES_OTHER;
}

static bool variable_is_believable(const GElf_Shdr *header, size_t file_bytes)
{
    if (header->sh_size > UINT64_MAX - header->sh_addr)
        return false;
    return header->sh_type == SHT_NOBITS ||
           (header->sh_offset <= file_bytes && header->sh_size <= file_bytes - header->sh_offset);
}

static bool variable_has_code_without_bytes(Elf *elf)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && (header.sh_flags & SHF_ALLOC) &&
            (header.sh_flags & SHF_EXECINSTR) && header.sh_type == SHT_NOBITS)
            return true;
    }
    return false;
}

static void variable_add_section(struct variables *variables, const GElf_Shdr *header,
                                 const char *name, bool is_debug_file)
{
    variables->sections =
        name_memory_grow(variables->sections, &variables->section_capacity,
                         variables->section_count + 1, sizeof *variables->sections);
    variables->sections[variables->section_count++] = (struct variables_section){
        .name = pool_intern(&variables->pool, name),
        .kind = variable_kind_of(header, name, is_debug_file),
        .writable = header->sh_flags & SHF_WRITE,
        .address = header->sh_addr,
        .bytes = header->sh_size,
    };
}

/* Thread-local sections are sorted apart, because .tbss has the addresses of the sections behind
 * it. */
static int variable_compare_sections(const void *left, const void *right)
{
    const struct variables_section *a = left, *b = right;
    if (variable_is_tls(a->kind) != variable_is_tls(b->kind))
        return variable_is_tls(a->kind) ? 1 : -1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void variable_read_tls(struct variables *variables, Elf *elf)
{
    size_t count;
    variables->tls = (struct variables_tls){.align_bytes = 1};
    if (elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header))
            return;
        if (header.p_type != PT_TLS || header.p_memsz > UINT64_MAX - header.p_vaddr)
            continue;
        uint64_t align = header.p_align;
        variables->tls = (struct variables_tls){
            .address = header.p_vaddr,
            .bytes = header.p_memsz,
            .object_file_bytes =
                header.p_filesz < header.p_memsz ? header.p_filesz : header.p_memsz,
            .align_bytes = align && (align & (align - 1)) == 0 ? align : 1,
        };
        return;
    }
}

void variable_sections_read(struct variables *variables, const struct variable_source *source)
{
    bool is_debug_file = variable_has_code_without_bytes(source->elf);
    size_t names;
    variable_read_tls(variables, source->elf);
    if (elf_getshdrstrndx(source->elf, &names) != 0)
        return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(source->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC) ||
            (header.sh_flags & SHF_EXECINSTR) || !header.sh_size)
            continue;
        const char *name = elf_strptr(source->elf, names, header.sh_name);
        if (variable_is_believable(&header, source->file_bytes))
            variable_add_section(variables, &header, name && *name ? name : "(unnamed)",
                                 is_debug_file);
        else
            variables->distrusted++;
    }
    if (variables->section_count)
        qsort(variables->sections, variables->section_count, sizeof *variables->sections,
              variable_compare_sections);
}

static bool variable_lies_after(const struct variables_section *section, bool tls, uint64_t address)
{
    return variable_is_tls(section->kind) == tls ? section->address > address
                                                 : variable_is_tls(section->kind);
}

uint32_t variable_section_at(const struct variables *variables, bool tls, uint64_t address,
                             uint64_t bytes)
{
    size_t first = 0;
    SEARCH_FIRST(first, variables->section_count, at,
                 !variable_lies_after(&variables->sections[at], tls, address));
    if (first == 0)
        return SECTION_NONE;
    const struct variables_section *section = &variables->sections[first - 1];
    uint64_t offset = address - section->address;
    bool inside = variable_is_tls(section->kind) == tls && offset < section->bytes &&
                  bytes <= section->bytes - offset;
    return inside ? (uint32_t)(first - 1) : SECTION_NONE;
}

/* ---- Symbols ------------------------------------------------------------------------------- */

static bool variable_is_hex(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!isxdigit((unsigned char)text[i]))
            return false;
    }
    return true;
}

/* Whether it is a compiler's name for a nameless constant: assembler-local labels, rustc's
 * "anon.<32 hex>.7" and "alloc_<32 hex>". strnlen: the name may end before. */
static bool variable_is_literal(const char *name)
{
    size_t prefix = variable_begins(name, "anon.") ? 5 : variable_begins(name, "alloc_") ? 6 : 0;
    if (variable_begins(name, ".L"))
        return true;
    return prefix && strnlen(name + prefix, 32) == 32 && variable_is_hex(name + prefix, 32);
}

/* Assembly without a declared type has NOTYPE. A size shows that it is more than a label. */
static bool variable_names_data(const GElf_Sym *symbol, const char *name)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || !symbol->st_size)
        return false;
    if (!name || !*name || variable_is_literal(name))
        return false;
    return type == STT_OBJECT || type == STT_TLS || type == STT_NOTYPE || type == STT_COMMON;
}

/* In code, or in a section that is not loaded. */
static bool variable_lies_elsewhere(Elf *elf, const GElf_Sym *symbol)
{
    GElf_Shdr header;
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    return section && gelf_getshdr(section, &header) &&
           (!(header.sh_flags & SHF_ALLOC) || (header.sh_flags & SHF_EXECINSTR));
}

/* Its section is found by the address: a debug file may number sections differently. */
static void variable_add_symbol(struct variables *variables, Elf *elf, uint64_t bias,
                                const GElf_Sym *symbol, const char *name)
{
    bool tls = GELF_ST_TYPE(symbol->st_info) == STT_TLS;
    uint64_t base = tls ? variables->tls.address : bias;
    uint32_t section =
        variable_section_at(variables, tls, symbol->st_value + base, symbol->st_size);
    if (section == SECTION_NONE) {
        variables->distrusted += !variable_lies_elsewhere(elf, symbol);
        return;
    }
    size_t length = strcspn(name + 1, "@") + 1;
    const char *linkage = pool_intern_n(&variables->pool, name, length);
    variable_append(variables, (struct variable){.linkage = linkage,
                                                 .section = section,
                                                 .rank = symbol_rank(symbol, linkage),
                                                 .address = symbol->st_value + (tls ? 0 : bias),
                                                 .bytes = symbol->st_size});
}

static Elf_Scn *variable_find_section(Elf *elf, uint32_t type)
{
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == type)
            return section;
    }
    return NULL;
}

bool variable_symbols_in(Elf *elf)
{
    return variable_find_section(elf, SHT_SYMTAB) != NULL;
}

uint64_t variable_unpacked_bytes(Elf *elf)
{
    uint64_t sum = 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        GElf_Chdr unpacked;
        if (gelf_getshdr(section, &header) && (header.sh_flags & SHF_COMPRESSED) &&
            gelf_getchdr(section, &unpacked) && __builtin_add_overflow(sum, unpacked.ch_size, &sum))
            return UINT64_MAX;
    }
    return sum;
}

static void variable_read_table(struct variables *variables, Elf *elf, uint64_t bias,
                                Elf_Scn *table)
{
    GElf_Shdr header;
    Elf_Data *data = elf_getdata(table, NULL);
    if (!data || !gelf_getshdr(table, &header))
        return;
    size_t count = data->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol))
            return;
        const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (variable_names_data(&symbol, name))
            variable_add_symbol(variables, elf, bias, &symbol, name);
    }
}

void variable_symbols_read(struct variables *variables, const struct variable_source *source)
{
    Elf *elf = source->elf;
    uint64_t bias = 0;
    Elf_Scn *table = variable_find_section(elf, SHT_SYMTAB);
    if (!table && (table = variable_find_section(source->debug_elf, SHT_SYMTAB))) {
        elf = source->debug_elf;
        bias = source->debug_bias;
    }
    if (table)
        variables->names = VARIABLES_NAMES_ALL;
    else if ((table = variable_find_section(elf, SHT_DYNSYM)))
        variables->names = VARIABLES_NAMES_EXPORTS;
    if (table)
        variable_read_table(variables, elf, bias, table);
}

/* ---- The list ------------------------------------------------------------------------------ */

struct variable *variable_append(struct variables *variables, struct variable variable)
{
    variables->list = name_memory_grow(variables->list, &variables->capacity, variables->count + 1,
                                       sizeof *variables->list);
    variables->list[variables->count] = variable;
    return &variables->list[variables->count++];
}

static int variable_compare_names(const struct variable *a, const struct variable *b)
{
    if (!a->linkage != !b->linkage)
        return a->linkage ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    const char *left = a->linkage ? a->linkage : a->name;
    const char *right = b->linkage ? b->linkage : b->name;
    return strcmp(left, right);
}

static int variable_compare(const void *left, const void *right)
{
    const struct variable *a = left, *b = right;
    if (a->section != b->section)
        return a->section < b->section ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return variable_compare_names(a, b);
}

static bool variable_is_same(const struct variable *a, const struct variable *b)
{
    return a->section == b->section && a->address == b->address && a->bytes == b->bytes;
}

/* Entries of DWARF without a symbol are one variable in several units, and no aliases. */
void variables_merge(struct variables *variables)
{
    struct variable *list = variables->list;
    size_t kept = 0;
    if (!variables->count)
        return;
    qsort(list, variables->count, sizeof *list, variable_compare);
    for (size_t i = 1; i < variables->count; i++) {
        if (!variable_is_same(&list[kept], &list[i]))
            list[++kept] = list[i];
        else if (list[i].linkage)
            list[kept].alias_count++;
    }
    variables->count = kept + 1;
}
