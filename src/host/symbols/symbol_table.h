/* The functions of an object file's symbol tables, by address: .symtab of the file or of its debug
 * file, with .gnu_debugdata where libdwfl finds one, else .dynsym. Read once, sorted once. */
#ifndef TIDEMARK_SYMBOLS_SYMBOL_TABLE_H
#define TIDEMARK_SYMBOLS_SYMBOL_TABLE_H

#include "symbols/object_file.h"
#include "symbols/string_pool.h"
#include "symbols/range_map.h"

struct symbol {
    uint64_t value, bytes, section_end;
    const char *linkage;  /* without "@VERSION" */
    const char *function; /* demangled; NULL: not asked for yet */
    int rank;             /* of aliases at one address the highest is shown */
};

struct symbol_table {
    struct symbol *symbols;
    size_t count, capacity;
    struct range_map ranges; /* → index in symbols */
    bool full;               /* more than .dynsym: local functions have names too */
};

void symbol_table_read(struct symbol_table *table, struct object_file *image, struct pool *pool);
void symbol_table_release(struct symbol_table *table);

/* Of aliases, the one with the highest rank is shown: a public name before private ones ("write"
 * before "__write"), a function or variable before a label. */
int symbol_rank(const GElf_Sym *symbol, const char *name);

/* The function at `address`, or NULL. */
struct symbol *symbol_table_find(struct symbol_table *table, uint64_t address);

#endif
