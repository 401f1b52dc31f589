/* The global and thread-local variables of one object file: what each takes, in which section it
 * lies, where it is defined, and how many bytes of each section have no name.
 *
 * Names and sizes: .symtab of the file, else of its separate debug file, else .dynsym. Places:
 * DWARF, which also adds variables that have an address there and no symbol. Sections: the section
 * headers, so totals are right however little is known of names.
 *
 * Not variables: string literals and other nameless constants (part of the unnamed rest), symbols
 * without a size (linker marks, assembly labels), data among code (in executable sections: the
 * section headers count it as code, and so do nm and size).
 *
 * Each reading opens the file anew and keeps nothing open, so several threads may read at once. */
#ifndef TIDEMARK_SYMBOLS_STATIC_VARIABLES_H
#define TIDEMARK_SYMBOLS_STATIC_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/string_pool.h"

enum variables_kind {
    VARIABLES_DATA,   /* .data: initialised, writable */
    VARIABLES_BSS,    /* .bss: zero at the start, nothing in the file */
    VARIABLES_RODATA, /* .rodata: constant, shared between processes */
    VARIABLES_RELRO,  /* .data.rel.ro: constant once the dynamic linker has put addresses in */
    VARIABLES_TDATA,  /* .tdata: thread-local, initialised */
    VARIABLES_TBSS,   /* .tbss: thread-local, zero */
    VARIABLES_OTHER,  /* loaded and not code: .got, .init_array, .eh_frame, sections of one's own */
    VARIABLES_KINDS
};

/* Where the names come from. */
enum variables_names {
    VARIABLES_NAMES_NONE,    /* no symbol table; DWARF may still name some */
    VARIABLES_NAMES_EXPORTS, /* only .dynsym: local variables are in the unnamed rest */
    VARIABLES_NAMES_ALL,
};

enum variables_places {
    VARIABLES_PLACES_NONE,   /* no debug information, or not asked for */
    VARIABLES_PLACES_PARTLY, /* time was up: a variable without a place may have one, and statics
                                of functions may lack their function's name */
    VARIABLES_PLACES_ALL,
};

struct variable {
    const char *name;       /* readable; a static of a function: "function::name" */
    const char *linkage;    /* as in the symbol table; NULL: known from DWARF alone */
    const char *file;       /* where it is defined; NULL: unknown */
    uint32_t line;          /* 0: unknown */
    uint32_t alias_count;   /* further symbols of the same address and size */
    uint32_t section;       /* index in `sections` */
    int rank;               /* of aliases, the highest is shown */
    uint64_t address;       /* as in the file; thread-local: within the file's TLS segment */
    uint64_t bytes;         /* > 0, and inside the section */
    uint64_t counted_bytes; /* those of the bytes that no earlier variable has. Variables overlap
                               where one symbol spans others */
};

/* named_bytes = Σ counted_bytes of its variables ≤ bytes; the rest is unnamed: literals, padding,
 * compilers' tables, and local variables where only exports are known. */
struct variables_section {
    const char *name;
    enum variables_kind kind;
    bool writable;
    uint64_t address, bytes, named_bytes;
    size_t variable_count;
};

/* PT_TLS: the segment of which each thread gets a copy. `bytes` 0: the file has none. */
struct variables_tls {
    uint64_t address;
    uint64_t bytes;             /* memory of one copy: .tdata and .tbss */
    uint64_t object_file_bytes; /* of them initialised: what the file's own mapping holds once */
    uint64_t align_bytes;       /* ≥ 1 */
};

struct variables {
    enum variables_names names;
    enum variables_places places;
    size_t unit_count, units_read;      /* compile units with debug information */
    size_t distrusted;                  /* impossible sections and symbols, which are left out */
    struct variables_tls tls;           /* known even where nothing else is */
    struct variables_section *sections; /* loaded, not code; by address, thread-local ones last */
    size_t section_count, section_capacity; /* 0: the file has no section headers: totals unknown */
    struct variable *list;                  /* largest first; equal ones by name, then address */
    size_t count, capacity;
    struct pool pool; /* all strings */
};

struct variables_request {
    const char *root; /* as for symbols_new(); NULL is "" */
    const char *path;
    const uint8_t *build_id; /* recorded; any file will do if build_id_bytes is 0 */
    size_t build_id_bytes;
    unsigned place_ms; /* most time to spend on walking DWARF; 0: no places */
};

/* Enough for 15 million entries of DWARF on Zen 4. glibc has 1.2 million. */
#define VARIABLES_PLACE_MS 2000u

/* 0, and the caller releases `variables`, to which all strings belong. Else there is nothing to
 * release: -ENOENT (missing, unreadable, or not ELF), -ESTALE (another build-id), -ENOTSUP (32-bit,
 * or neither a program nor a shared library). */
int variables_read(struct variables *variables, const struct variables_request *request);
void variables_release(struct variables *variables);

/* An error of variables_read() in a few words, to follow "PATH: ". */
const char *variables_explain(int error);

/* The bytes of the file's thread-local variables with `threads` threads (the main one included):
 * one copy each, rounded up to its alignment, and the initialised bytes in the file's own mapping.
 * MALT (SEPS 2017, 4.7) counts one more copy instead, but .tbss is in no mapping. For a library
 * loaded by dlopen an upper bound: a thread gets its copy when it first touches one of them.
 * Saturates at UINT64_MAX. */
uint64_t variables_tls_cost(const struct variables_tls *tls, uint64_t threads);

#endif
