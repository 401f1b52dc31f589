/* Reads an object file's symbol tables into ranges of addresses (symbol_table.h). Symbols are
 * sorted so that the name to show comes last at each address. A function without a size ends at the
 * next symbol or at its section's end. */
#include "symbols/symbol_table.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/name_memory.h"

/* The ends of the executable sections of one ELF file, by section number; 0: not executable. The
 * symbols of a module come from at most three files, one after the other. */
struct sections {
    Elf *elf;
    uint64_t *ends;
    size_t count;
    bool has_symtab;
};

static void symbol_table_sections_read(struct sections *sections, Elf *elf)
{
    size_t capacity = 0;
    free(sections->ends);
    *sections = (struct sections){.elf = elf};
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        size_t number = elf_ndxscn(section);
        sections->ends =
            name_memory_grow(sections->ends, &capacity, number + 1, sizeof *sections->ends);
        memset(sections->ends + sections->count, 0,
               (number + 1 - sections->count) * sizeof *sections->ends);
        sections->count = number + 1;
        if (!gelf_getshdr(section, &header))
            continue;
        if (header.sh_flags & SHF_EXECINSTR)
            sections->ends[number] = header.sh_addr + header.sh_size;
        if (header.sh_type == SHT_SYMTAB)
            sections->has_symtab = true;
    }
}

/* Assembly routines without a declared type have NOTYPE. "$x" are ARM's mapping symbols. */
static bool symbol_table_names_code(const GElf_Sym *symbol, const char *name, bool executable)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || !name || !*name || *name == '$')
        return false;
    return type == STT_FUNC || type == STT_GNU_IFUNC ||
           (type == STT_NOTYPE && executable && strncmp(name, ".L", 2) != 0);
}

int symbol_rank(const GElf_Sym *symbol, const char *name)
{
    int rank = 0;
    if (GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE)
        rank += 32;
    if (GELF_ST_BIND(symbol->st_info) != STB_LOCAL)
        rank += 16;
    size_t underscores = strspn(name, "_");
    return rank - (int)(underscores < 8 ? underscores : 8);
}

static void symbol_table_add(struct symbol_table *table, struct pool *pool, const GElf_Sym *symbol,
                             uint64_t value, uint64_t section_end, const char *name)
{
    const char *version = strchr(name + 1, '@');
    table->symbols = name_memory_grow(table->symbols, &table->capacity, table->count + 1,
                                      sizeof *table->symbols);
    table->symbols[table->count++] = (struct symbol){
        .value = value,
        .bytes = symbol->st_size,
        .section_end = section_end,
        .linkage = version ? pool_intern_n(pool, name, (size_t)(version - name)) : name,
        .rank = symbol_rank(symbol, name),
    };
}

static void symbol_table_read_all(struct symbol_table *table, struct object_file *image,
                                  struct pool *pool)
{
    struct sections sections = {0};
    int count = dwfl_module_getsymtab(image->module);
    for (int i = 0; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address, bias;
        GElf_Word section;
        Elf *elf;
        const char *name =
            dwfl_module_getsym_info(image->module, i, &symbol, &address, &section, &elf, &bias);
        if (!name || !elf)
            continue;
        if (elf != sections.elf) {
            symbol_table_sections_read(&sections, elf);
            table->full |= elf != image->elf || sections.has_symtab;
        }
        uint64_t end = section < sections.count ? sections.ends[section] : 0;
        if (symbol_table_names_code(&symbol, name, end != 0))
            symbol_table_add(table, pool, &symbol, address - image->bias, end, name);
    }
    free(sections.ends);
}

/* By address; the symbol to show comes last: inner ones after outer ones, higher ranks after lower
 * ones. Names make the order, and so the choice, the same on every run. */
static int symbol_table_compare_symbols(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    if (!a->bytes != !b->bytes)
        return a->bytes ? 1 : -1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return -strcmp(a->linkage, b->linkage);
}

/* Where a function without a size (assembly) ends: at the next symbol or at the section's end. A
 * table of exports lacks the functions in between, so there it has no extent. */
static uint64_t symbol_table_end_of(const struct symbol_table *table, size_t i)
{
    const struct symbol *symbol = &table->symbols[i];
    if (symbol->bytes)
        return symbol->bytes > UINT64_MAX - symbol->value ? UINT64_MAX
                                                          : symbol->value + symbol->bytes;
    uint64_t end = table->full ? symbol->section_end : 0;
    size_t next = i + 1;
    while (next < table->count && table->symbols[next].value == symbol->value)
        next++;
    if (next < table->count && table->symbols[next].value < end)
        end = table->symbols[next].value;
    return end;
}

/* Symbols without a size first: they must not cover a sized function that they lie within. */
static void symbol_table_map_ranges(struct symbol_table *table)
{
    for (int sized = 0; sized < 2; sized++) {
        for (size_t i = 0; i < table->count; i++) {
            if (!!table->symbols[i].bytes == sized)
                range_map_add(&table->ranges, table->symbols[i].value,
                              symbol_table_end_of(table, i), (uint32_t)i);
        }
    }
    range_map_seal(&table->ranges);
}

void symbol_table_read(struct symbol_table *table, struct object_file *image, struct pool *pool)
{
    symbol_table_read_all(table, image, pool);
    if (table->count)
        qsort(table->symbols, table->count, sizeof *table->symbols, symbol_table_compare_symbols);
    symbol_table_map_ranges(table);
}

void symbol_table_release(struct symbol_table *table)
{
    range_map_release(&table->ranges);
    free(table->symbols);
    *table = (struct symbol_table){0};
}

struct symbol *symbol_table_find(struct symbol_table *table, uint64_t address)
{
    uint32_t found = range_map_find(&table->ranges, address);
    return found == RANGE_NONE ? NULL : &table->symbols[found];
}
