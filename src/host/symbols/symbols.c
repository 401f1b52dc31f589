/* The room's interface (symbols.h): modules by handle, which are opened for their first address,
 * and the choice between the names of DWARF, the symbol table and a JIT map. */
#include "symbols/symbols.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/memory.h"
#include "base/now.h"
#include "procfs/process.h"

#include "symbols/assigned_types.h"
#include "symbols/dwarf_index.h"
#include "symbols/go_table.h"
#include "symbols/object_file.h"
#include "symbols/jit.h"
#include "symbols/jit_dump.h"
#include "symbols/name_memory.h"
#include "symbols/string_pool.h"
#include "symbols/symbol_table.h"
#include "symbols/unpack_limit.h"

struct symbols_module {
    char *path;
    uint8_t *build_id;
    size_t build_id_bytes;
    bool opened;
    bool has_quality; /* the module was opened before */
    bool has_dwarf;
    bool is_packed; /* some of it was not unpacked (unpack_limit.h) */
    enum symbols_quality quality;
    struct object_file image;
    struct symbol_table table;
    struct dwarf_index dwarf;
    struct go_table go; /* without DWARF */
};

struct symbols {
    char *root;
    struct object_file_session images; /* begun with the first module opened */
    struct pool pool;
    struct symbols_module **modules; /* each in its own memory: libdwfl points into them */
    size_t module_count, module_capacity;
    struct jit_map *jits;
    size_t jit_count, jit_capacity;
    struct jit_dump *dumps;
    size_t dump_count, dump_capacity;
    bool is_abandoned; /* a thread still opens a module: nothing here may be used or freed */
};

/* ---- Giving up ----------------------------------------------------------------------------- */

static atomic_bool symbols_given_up;

void symbols_give_up(void)
{
    atomic_store(&symbols_given_up, true);
}

bool symbols_have_given_up(void)
{
    return atomic_load(&symbols_given_up);
}

bool symbols_join(pthread_t thread)
{
    enum { LOOK_NS = 50 * 1000 * 1000 };
    do {
        struct timespec until = now_later(CLOCK_REALTIME, LOOK_NS);
        if (pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT)
            return true;
    } while (!symbols_have_given_up());
    pthread_detach(thread);
    return false;
}

/* ---- Modules ------------------------------------------------------------------------------- */

static char *symbols_copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(memory_zeroed(bytes, 1), text, bytes);
}

struct symbols *symbols_new(const char *root)
{
    struct symbols *symbols = memory_zeroed(1, sizeof *symbols);
    symbols->root = symbols_copy_text(root ? root : "");
    return symbols;
}

static void symbols_module_forget(struct symbols_module *module)
{
    dwarf_index_release(&module->dwarf);
    symbol_table_release(&module->table);
    object_file_release(&module->image);
    module->go = (struct go_table){0};
    module->opened = module->has_dwarf = false;
}

static void symbols_module_close(struct symbols_module *module)
{
    symbols_module_forget(module);
    free(module->build_id);
    free(module->path);
    free(module);
}

void symbols_free(struct symbols *symbols)
{
    if (!symbols || symbols->is_abandoned)
        return;
    object_file_session_end(&symbols->images);
    for (size_t i = 0; i < symbols->module_count; i++)
        symbols_module_close(symbols->modules[i]);
    for (size_t i = 0; i < symbols->jit_count; i++)
        jit_map_release(&symbols->jits[i]);
    for (size_t i = 0; i < symbols->dump_count; i++)
        jit_dump_release(&symbols->dumps[i]);
    free(symbols->modules);
    free(symbols->jits);
    free(symbols->dumps);
    pool_release(&symbols->pool);
    free(symbols->root);
    free(symbols);
}

void symbols_rest(struct symbols *symbols)
{
    if (symbols->is_abandoned)
        return;
    object_file_session_end(&symbols->images);
    for (size_t i = 0; i < symbols->module_count; i++)
        symbols_module_forget(symbols->modules[i]);
}

int symbols_add_module(struct symbols *symbols, const char *path, const uint8_t *build_id,
                       size_t build_id_bytes)
{
    symbols->modules = name_memory_grow(symbols->modules, &symbols->module_capacity,
                                        symbols->module_count + 1, sizeof *symbols->modules);
    struct symbols_module *module = memory_zeroed(1, sizeof *module);
    module->path = symbols_copy_text(path);
    module->build_id_bytes = build_id_bytes;
    if (build_id_bytes) {
        module->build_id = memory_zeroed(build_id_bytes, 1);
        memcpy(module->build_id, build_id, build_id_bytes);
    }
    symbols->modules[symbols->module_count] = module;
    return (int)symbols->module_count++;
}

static void symbols_module_read(struct symbols *symbols, struct symbols_module *module)
{
    struct object_file_id id = {module->build_id, module->build_id_bytes};
    unpack_limit_was_met();
    if (!symbols->images.dwfl && !object_file_session_begin(&symbols->images, symbols->root))
        return;
    module->quality = object_file_open(&module->image, &symbols->images, module->path, id);
    if (module->quality < SYMBOLS_EXPORTS)
        return;
    struct guarded_open before = object_file_guard(&module->image);
    unpack_limit_begin(module->image.elf);
    Dwarf_Addr bias;
    Dwarf *dwarf = dwfl_module_getdwarf(module->image.module, &bias);
    symbol_table_read(&module->table, &module->image, &symbols->pool);
    module->has_dwarf =
        dwarf && dwarf_index_open(&module->dwarf, dwarf, bias - module->image.bias, &symbols->pool);
    if (!module->has_dwarf)
        go_table_open(&module->go, &module->image);
    if (module->has_dwarf || module->go.bytes)
        module->quality = SYMBOLS_LINES;
    else if (module->table.full)
        module->quality = SYMBOLS_FUNCTIONS;
    guarded_open_restore(before);
    module->is_packed = unpack_limit_was_met();
}

static void symbols_module_read_again(struct symbols *symbols, struct symbols_module *module)
{
    symbols_module_read(symbols, module);
    module->has_quality = true;
}

struct symbols_opening {
    struct symbols *symbols;
    struct symbols_module *module;
};

static void *symbols_opening_thread(void *context)
{
    struct symbols_opening opening = *(struct symbols_opening *)context;
    free(context);
    symbols_module_read_again(opening.symbols, opening.module);
    return NULL;
}

/* Without a thread the opening is not bounded in time. */
static void symbols_module_open(struct symbols *symbols, struct symbols_module *module)
{
    pthread_t thread;
    struct symbols_opening *opening = memory_need(malloc(sizeof *opening));
    *opening = (struct symbols_opening){symbols, module};
    module->opened = true;
    if (pthread_create(&thread, NULL, symbols_opening_thread, opening))
        symbols_opening_thread(opening);
    else if (!symbols_join(thread))
        symbols->is_abandoned = true;
}

static struct symbols_module *symbols_module_at(struct symbols *symbols, int number)
{
    if (number < 0 || (size_t)number >= symbols->module_count || symbols->is_abandoned)
        return NULL;
    struct symbols_module *module = symbols->modules[number];
    if (!module->opened && !symbols_have_given_up())
        symbols_module_open(symbols, module);
    return module->opened && !symbols->is_abandoned ? module : NULL;
}

bool symbols_knows_quality(const struct symbols *symbols, int module)
{
    return module >= 0 && (size_t)module < symbols->module_count && !symbols->is_abandoned &&
           symbols->modules[module]->has_quality;
}

enum symbols_quality symbols_module_quality(struct symbols *symbols, int module)
{
    struct symbols_module *opened = symbols_knows_quality(symbols, module)
                                        ? symbols->modules[module]
                                        : symbols_module_at(symbols, module);
    if (!opened)
        return SYMBOLS_NONE;
    return opened->is_packed ? SYMBOLS_PACKED : opened->quality;
}

static const char *symbols_readable_name(struct symbols *symbols, struct symbol *symbol)
{
    if (!symbol->function) {
        char *text = symbols_demangle(symbol->linkage);
        symbol->function = pool_intern(&symbols->pool, text ? text : symbol->linkage);
        free(text);
    }
    return symbol->function;
}

static bool symbols_is_mangled(const char *linkage)
{
    return strncmp(linkage, "_Z", 2) == 0 || strncmp(linkage, "_R", 2) == 0;
}

/* Completes DWARF's outermost frame from the symbol table: a linkage name if DWARF has none (C),
 * and the function's name if DWARF has none (assembly) or only its plain one (C++ functions with
 * internal linkage). */
static void symbols_complete(struct symbols *symbols, struct symbols_module *module,
                             uint64_t address, struct symbols_frame *frame)
{
    if (frame->inlined || (frame->linkage && frame->function))
        return;
    struct symbol *symbol = symbol_table_find(&module->table, address);
    if (!symbol)
        return;
    if (!frame->function || (!frame->linkage && symbols_is_mangled(symbol->linkage)))
        frame->function = symbols_readable_name(symbols, symbol);
    if (!frame->linkage)
        frame->linkage = pool_intern(&symbols->pool, symbol->linkage);
}

/* Names outlive the image. */
static size_t symbols_go_resolve(struct symbols *symbols, struct symbols_module *module,
                                 uint64_t address, struct symbols_frame *frame)
{
    if (!go_table_find(&module->go, address, frame))
        return 0;
    frame->function = frame->linkage = pool_intern(&symbols->pool, frame->function);
    if (frame->file)
        frame->file = pool_intern(&symbols->pool, frame->file);
    return 1;
}

/* Guarded, because another program may truncate the file, and names are read from its mapping. */
static size_t symbols_module_resolve(struct symbols *symbols, struct symbols_module *module,
                                     uint64_t address, struct symbols_frame *frames, size_t max)
{
    struct guarded_open before = object_file_guard(&module->image);
    size_t count = 0;
    if (module->has_dwarf)
        count = dwarf_index_resolve(&module->dwarf, address, frames, max);
    if (count == 0)
        count = symbols_go_resolve(symbols, module, address, frames);
    if (count == 0)
        frames[count++] = (struct symbols_frame){0};
    if (module->quality >= SYMBOLS_EXPORTS)
        symbols_complete(symbols, module, address, &frames[count - 1]);
    guarded_open_restore(before);
    return count;
}

size_t symbols_resolve(struct symbols *symbols, int module_number, uint64_t address,
                       struct symbols_frame *frames, size_t max)
{
    struct symbols_module *module = symbols_module_at(symbols, module_number);
    if (max == 0)
        return 0;
    if (module)
        return symbols_module_resolve(symbols, module, address, frames, max);
    frames[0] = (struct symbols_frame){0};
    return 1;
}

bool symbols_type_of_call(struct symbols *symbols, int module_number, uint64_t address,
                          struct symbols_call_type *type)
{
    struct symbols_module *module = symbols_module_at(symbols, module_number);
    if (!module || !module->has_dwarf)
        return false;
    struct guarded_open before = object_file_guard(&module->image);
    bool is_known = assigned_types_find(&module->dwarf, &module->image, address, type);
    guarded_open_restore(before);
    if (is_known && type->name)
        type->name = pool_intern(&symbols->pool, type->name);
    return is_known;
}

static struct jit_map *symbols_jit_of(struct symbols *symbols, int pid)
{
    for (size_t i = 0; i < symbols->jit_count; i++) {
        if (symbols->jits[i].pid == pid)
            return &symbols->jits[i];
    }
    symbols->jits = name_memory_grow(symbols->jits, &symbols->jit_capacity, symbols->jit_count + 1,
                                     sizeof *symbols->jits);
    symbols->jits[symbols->jit_count] = (struct jit_map){.pid = pid};
    return &symbols->jits[symbols->jit_count++];
}

/* A worker's file is often told again, and a process that executed another program has other
 * code: the newest file of the name begins anew by itself. */
void symbols_add_jit_dump(struct symbols *symbols, int pid, const char *path)
{
    char whole[PATH_MAX];
    pid_t own = pid;
    int bytes = snprintf(whole, sizeof whole, "%s%s", symbols->root, path);
    if (bytes <= 0 || (size_t)bytes >= sizeof whole)
        return;
    for (size_t i = 0; i < symbols->dump_count; i++)
        if (symbols->dumps[i].pid == pid && strcmp(symbols->dumps[i].path, whole) == 0)
            return;
    process_own_pid(pid, &own);
    symbols->dumps = name_memory_grow(symbols->dumps, &symbols->dump_capacity,
                                      symbols->dump_count + 1, sizeof *symbols->dumps);
    symbols->dumps[symbols->dump_count++] =
        (struct jit_dump){.path = symbols_copy_text(whole), .pid = pid, .own_pid = own};
}

/* Of the files of the process, the last that knows the address. *begun: of all of them. */
static struct jit_code symbols_ask_dumps(struct symbols *symbols, int pid, uint64_t address,
                                         unsigned *begun)
{
    struct jit_code found = {0};
    for (size_t i = 0; i < symbols->dump_count; i++) {
        struct jit_dump *dump = &symbols->dumps[i];
        if (dump->pid != pid)
            continue;
        jit_dump_update(dump, &symbols->pool);
        *begun += dump->begun;
        struct jit_code code = jit_dump_find(dump, address);
        found = code.function ? code : found;
    }
    return found;
}

unsigned symbols_jit_maps(struct symbols *symbols, int pid)
{
    struct jit_map *map = symbols_jit_of(symbols, pid);
    unsigned begun = 0;
    symbols_ask_dumps(symbols, pid, 0, &begun);
    jit_map_update(map, symbols->root, &symbols->pool);
    return map->begun + begun;
}

size_t symbols_resolve_jit(struct symbols *symbols, int pid, uint64_t address,
                           struct symbols_frame *frames, size_t max)
{
    if (max == 0)
        return 0;
    unsigned begun = 0;
    struct jit_code code = symbols_ask_dumps(symbols, pid, address, &begun);
    if (!code.function) {
        struct jit_map *map = symbols_jit_of(symbols, pid);
        jit_map_update(map, symbols->root, &symbols->pool);
        code = jit_map_find(map, address);
    }
    frames[0] =
        (struct symbols_frame){.function = code.function, .file = code.file, .line = code.line};
    return 1;
}
