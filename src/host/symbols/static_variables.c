/* Reads the static variables of a file (static_variables.h). It opens the file, collects variables
 * from the ELF symbols and the DWARF, sorts them by section and address, and counts each byte once
 * where they overlap. */
#include "symbols/static_variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/now.h"

#include "symbols/object_file.h"
#include "symbols/symbols.h"
#include "symbols/unpack_limit.h"
#include "symbols/variable_places.h"
#include "symbols/variable_symbols.h"

/* zlib unpacks 280 kB of DWARF in a millisecond on Zen 4. */
#define UNPACKED_BYTES_PER_MS 200000u

/* ---- Adding up ----------------------------------------------------------------------------- */

/* The list is sorted by section and address, larger before smaller. A variable counts the bytes
 * that reach beyond all variables before it. */
static void static_variables_count_bytes(struct variables *variables)
{
    uint64_t covered = 0;
    for (size_t i = 0; i < variables->count; i++) {
        struct variable *variable = &variables->list[i];
        struct variables_section *section = &variables->sections[variable->section];
        uint64_t end = variable->address + variable->bytes;
        if (i == 0 || variable->section != variable[-1].section)
            covered = variable->address;
        uint64_t begin = variable->address > covered ? variable->address : covered;
        variable->counted_bytes = end > begin ? end - begin : 0;
        covered = end > covered ? end : covered;
        section->named_bytes += variable->counted_bytes;
        section->variable_count++;
    }
}

static void static_variables_name_rest(struct variables *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        struct variable *variable = &variables->list[i];
        if (variable->name)
            continue;
        char *readable = symbols_demangle(variable->linkage);
        variable->name = readable ? pool_intern(&variables->pool, readable) : variable->linkage;
        free(readable);
    }
}

static int static_variables_compare_sizes(const void *left, const void *right)
{
    const struct variable *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    int names = strcmp(a->name, b->name);
    if (names)
        return names;
    if (a->section != b->section)
        return a->section < b->section ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void static_variables_finish(struct variables *variables)
{
    variables_merge(variables);
    static_variables_count_bytes(variables);
    static_variables_name_rest(variables);
    if (variables->count)
        qsort(variables->list, variables->count, sizeof *variables->list,
              static_variables_compare_sizes);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static int static_variables_check_type(Elf *elf)
{
    GElf_Ehdr header;
    if (!gelf_getehdr(elf, &header))
        return -ENOENT;
    bool loadable = header.e_type == ET_EXEC || header.e_type == ET_DYN;
    return loadable && gelf_getclass(elf) == ELFCLASS64 ? 0 : -ENOTSUP;
}

static bool static_variables_has_debug_information(Elf *elf)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && strcmp(name, ".debug_info") == 0)
            return true;
    }
    return false;
}

/* Where the file has no .symtab, libdwfl looks for its debug file when asked for symbols, without
 * unpacking it. It may find .gnu_debugdata instead, which has functions only. */
static void static_variables_find_debug_file(struct variable_source *source,
                                             struct object_file *image)
{
    GElf_Sym symbol;
    GElf_Addr address, bias;
    Elf *elf = NULL;
    if (variable_symbols_in(image->elf) || dwfl_module_getsymtab(image->module) < 2 ||
        !dwfl_module_getsym_info(image->module, 1, &symbol, &address, NULL, &elf, &bias))
        return;
    if (!elf || elf == image->elf || !static_variables_has_debug_information(elf))
        return;
    source->debug_elf = elf;
    source->debug_bias = bias - image->bias;
}

/* libdw unpacks all sections when it opens a file. If that would take too long, it is not begun. */
static void static_variables_read_places(struct variables *variables,
                                         const struct variable_source *source,
                                         struct object_file *image, unsigned place_ms)
{
    uint64_t deadline_ns = now_monotonic_ns() + place_ms * 1000000ull;
    Elf *elf = source->debug_elf ? source->debug_elf : source->elf;
    if (variable_unpacked_bytes(elf) / UNPACKED_BYTES_PER_MS > place_ms) {
        variables->places = VARIABLES_PLACES_PARTLY;
        return;
    }
    Dwarf_Addr bias;
    Dwarf *dwarf = dwfl_module_getdwarf(image->module, &bias);
    if (dwarf)
        variable_places_read(variables, dwarf, bias - image->bias, deadline_ns);
    if (unpack_limit_was_met())
        variables->places = VARIABLES_PLACES_PARTLY;
}

static int static_variables_read_image(struct variables *variables, struct object_file *image,
                                       unsigned place_ms)
{
    struct variable_source source = {.elf = image->elf, .file_bytes = image->length};
    int error = static_variables_check_type(image->elf);
    if (error)
        return error;
    static_variables_find_debug_file(&source, image);
    variable_sections_read(variables, &source);
    variable_symbols_read(variables, &source);
    variables_merge(variables);
    if (place_ms)
        static_variables_read_places(variables, &source, image, place_ms);
    static_variables_finish(variables);
    return 0;
}

static int static_variables_quality_error(enum symbols_quality quality)
{
    if (quality == SYMBOLS_CHANGED)
        return -ESTALE;
    return quality == SYMBOLS_NONE ? -ENOENT : 0;
}

int variables_read(struct variables *variables, const struct variables_request *request)
{
    struct object_file_session session = {0};
    struct object_file image = {0};
    struct object_file_id id = {request->build_id, request->build_id_bytes};
    *variables = (struct variables){0};
    if (!object_file_session_begin(&session, request->root ? request->root : "")) {
        object_file_session_end(&session);
        return -ENOENT;
    }
    int error =
        static_variables_quality_error(object_file_open(&image, &session, request->path, id));
    if (!error) {
        struct guarded_open before = object_file_guard(&image);
        error = static_variables_read_image(variables, &image, request->place_ms);
        guarded_open_restore(before);
    }
    object_file_session_end(&session);
    object_file_release(&image);
    if (error)
        variables_release(variables);
    return error;
}

void variables_release(struct variables *variables)
{
    free(variables->list);
    free(variables->sections);
    pool_release(&variables->pool);
    *variables = (struct variables){0};
}

/* ---- Words and sums ------------------------------------------------------------------------ */

const char *variables_explain(int error)
{
    if (error == -ESTALE)
        return "not the file that was recorded (its build-id differs)";
    if (error == -ENOTSUP)
        return "not a 64-bit program or shared library";
    return "missing, unreadable or not an ELF file";
}

uint64_t variables_tls_cost(const struct variables_tls *tls, uint64_t threads)
{
    uint64_t mask = tls->align_bytes ? tls->align_bytes - 1 : 0, copies, cost;
    if (tls->bytes > UINT64_MAX - mask)
        return UINT64_MAX;
    if (__builtin_mul_overflow((tls->bytes + mask) & ~mask, threads, &copies) ||
        __builtin_add_overflow(copies, tls->object_file_bytes, &cost))
        return UINT64_MAX;
    return cost;
}
