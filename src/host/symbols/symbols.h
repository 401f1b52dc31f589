/* Addresses → functions, inline frames, files and lines, with names as people write them.
 * Sources: DWARF (in the file, in separate debug files by build-id or .gnu_debuglink, from
 * debuginfod where DEBUGINFOD_URLS is set), else Go's own table, else the ELF symbol tables
 * (.symtab, .gnu_debugdata where present, .dynsym); jitdump files and perf-style maps
 * (/tmp/perf-PID.map) for JIT code; the vdso.
 *
 * One thread at a time. Strings belong to the symbols object and live as long as it does.
 *
 * symbols.c opens a module when the first address of it is asked for, in a thread of its own, so
 * that a second signal can end the wait. object_file.c maps the object file for one libdwfl session
 * that all modules share. symbol_table.c sorts the symbols once. dwarf_index.c reads units,
 * functions and inlined calls only where an address falls. dwarf_names.c chooses a function's name,
 * demangle.c makes linkage names readable, jit.c follows perf maps and jit_dump.c
 * jitdump files. static_variables.h is a
 * separate interface, for global variables by size. */
#ifndef TIDEMARK_SYMBOLS_SYMBOLS_H
#define TIDEMARK_SYMBOLS_SYMBOLS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;

/* root: prefix for module paths ("" or "/proc/PID/root"), tried first when not empty. */
struct symbols *symbols_new(const char *root);
void symbols_free(struct symbols *symbols);
/* Closes the files and frees what was read from them; the next question opens them again. Answers
 * stay valid, and so do the modules and their qualities. */
void symbols_rest(struct symbols *symbols);

/* How well a module can be named; said in reports. */
enum symbols_quality {
    SYMBOLS_NONE = 0,  /* file missing, unreadable or not ELF */
    SYMBOLS_CHANGED,   /* build-id differs from the one recorded: not used */
    SYMBOLS_EXPORTS,   /* only .dynsym: the nearest exported name would be wrong for other
                        functions, so an address outside every symbol's size stays unnamed */
    SYMBOLS_FUNCTIONS, /* full symbol table, no lines */
    SYMBOLS_LINES,     /* DWARF, or Go's table */
    SYMBOLS_PACKED,    /* exports or functions, because unpacking the rest would take too much
                        memory */
};

/* Registers a module; `build_id_bytes` 0 if it has none. Opening is lazy: nothing is read until an
 * address is asked for. Returns its handle, ≥ 0. path "[vdso]" or "linux-vdso.so.1": the vdso. */
int symbols_add_module(struct symbols *symbols, const char *path, const uint8_t *build_id,
                       size_t build_id_bytes);
/* Whether the quality is known without opening the module. */
bool symbols_knows_quality(const struct symbols *symbols, int module);
/* The module's quality. Opens the module if needed. */
enum symbols_quality symbols_module_quality(struct symbols *symbols, int module);

struct symbols_frame {
    const char *function; /* demangled, readable; NULL: unknown */
    const char *linkage;  /* as in the object file; NULL where there is none */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
    bool inlined;         /* this frame was inlined into the next one of the array */
};

/* Resolves `address`, as in the ELF file (memory address - bias). Pass a return address minus 1.
 * Writes at most `max` frames, innermost inline frame first; returns how many (≥ 1; an unknown
 * address gives one frame of NULLs). */
size_t symbols_resolve(struct symbols *symbols, int module, uint64_t address,
                       struct symbols_frame *frames, size_t max);

/* Bytes of a structure that belong to none of its members (type_layout.h). */
struct symbols_type_layout {
    uint64_t hole_count, hole_bytes; /* between members; whole bytes */
    uint64_t padding_bytes;          /* behind the last one */
};

/* The type of a call's result, by debug information (assigned_types.h). */
struct symbols_call_type {
    const char *name;
    uint64_t bytes;  /* of an object, or of an element of an array */
    bool is_made;    /* by a constructor */
    bool is_scalar;  /* numbers, characters, pointers */
    bool is_open;    /* a structure whose last member is an array without a size */
    bool hands_on;   /* the function returns the result unchanged; then nothing else is known */
    bool has_layout; /* of a structure */
    struct symbols_type_layout layout;
};
/* `address`: a return address. False: nothing is known. */
bool symbols_type_of_call(struct symbols *symbols, int module, uint64_t address,
                          struct symbols_call_type *type);

/* A jitdump file (jit_dump.h) that process `pid` has mapped, by its own path. */
void symbols_add_jit_dump(struct symbols *symbols, int pid, const char *path);

/* JIT code of process `pid`, by its jitdump files, else by its perf map; read again when they have
 * grown. */
size_t symbols_resolve_jit(struct symbols *symbols, int pid, uint64_t address,
                           struct symbols_frame *frames, size_t max);

/* How many maps and jitdump files there have been: 0 before the first, one more whenever one is
 * read from its beginning. The Java virtual machine writes its map late, and as a whole. */
unsigned symbols_jit_maps(struct symbols *symbols, int pid);

/* From now on this process does not wait for names: those that are not known yet stay unknown, also
 * if the reading of a file does not end (a file server is gone). This cannot be undone. */
void symbols_give_up(void);
bool symbols_have_given_up(void);
/* Joins a thread that reads files for names. False: names were given up before it ended. The thread
 * is detached then, and the memory that it uses must not be freed. */
bool symbols_join(pthread_t thread);

/* A linkage name made readable: C++ and Rust demangled (a Rust hash suffix is dropped), gfortran's
 * "__mod_MOD_proc" → "mod::proc", "name_" stays as it is unless it is known to come from Fortran.
 * Returns a malloc'd string, or NULL if the name is readable as it is. */
char *symbols_demangle(const char *linkage);

#endif
