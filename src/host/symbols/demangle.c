/* Linkage names → names as in the source. C++ and Rust through libiberty, with the output that
 * c++filt gives, so that a name can be pasted from one tool into the other; gfortran by its
 * documented rule (GNU Fortran manual, "Naming conventions"):
 *
 *   __mod_MOD_proc              mod::proc
 *   __mod_sub_SMOD_proc …       unchanged: submodule names cannot be split with certainty
 *   __mod_MOD_proc.constprop.0  mod::proc [clone .constprop.0]     as for C++
 *   MAIN__                      main program      (DWARF, where present, has its real name)
 *   name_                       unchanged: C has such names too. Where DWARF says Fortran, the
 *                               name in DWARF is used, which has no underscore
 *
 * A compiler makes a function of the body of an OpenMP construct; outlined.c has the names of such
 * functions. The function around the construct is named first:
 *
 *   solve._omp_fn.0             solve [OpenMP region 0]
 *
 * A name from a file is not trusted: a hundred bytes can describe a name of gigabytes. So the
 * output is limited, and longjmp ends the demangling at the limit. */
#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/name_memory.h"
#include "symbols/outlined.h"
#include "symbols/symbols.h"
#include "base/memory.h"

#define STYLE            (DMGL_PARAMS | DMGL_ANSI)
#define MAX_OUTPUT_BYTES (256u << 10)
/* libiberty refuses C++ names above 1024 bytes unless told not to limit its recursion, and puts
 * about 100 bytes on the stack for each byte of the name. */
#define LIMITED_BYTES     1024u
#define MAX_LINKAGE_BYTES 16384u

struct output {
    char *text;
    size_t length, capacity;
    jmp_buf too_long;
};

static void symbols_demangle_append(const char *text, size_t length, void *opaque)
{
    struct output *output = opaque;
    if (length > MAX_OUTPUT_BYTES - output->length)
        longjmp(output->too_long, 1);
    output->text =
        name_memory_grow(output->text, &output->capacity, output->length + length + 1, 1);
    memcpy(output->text + output->length, text, length);
    output->length += length;
    output->text[output->length] = '\0';
}

typedef int demangler(const char *, int, demangle_callbackref, void *);

static char *demangle_with(demangler *demangle, const char *linkage, int style)
{
    struct output *output = memory_zeroed(1, sizeof *output);
    bool readable = false;
    if (setjmp(output->too_long) == 0)
        readable = demangle(linkage, style, symbols_demangle_append, output) && output->length;
    char *text = output->text;
    free(output);
    if (!readable) {
        free(text);
        return NULL;
    }
    return text;
}

/* "__mod_MOD_proc[.suffix]". The first "_MOD_" separates: Fortran names are kept in lower case. */
static char *demangle_fortran(const char *linkage)
{
    if (strcmp(linkage, "MAIN__") == 0)
        return strdup("main program");
    const char *separator = strstr(linkage, "_MOD_");
    if (strncmp(linkage, "__", 2) != 0 || !separator || separator < linkage + 3)
        return NULL;
    const char *module = linkage + 2, *procedure = separator + strlen("_MOD_");
    int module_length = (int)(separator - module);
    int procedure_length = (int)strcspn(procedure, ".");
    const char *suffix = procedure + procedure_length;
    if (!islower((unsigned char)*module) || procedure_length == 0)
        return NULL;
    char *readable = NULL;
    int printed = asprintf(&readable, *suffix ? "%.*s::%.*s [clone %s]" : "%.*s::%.*s",
                           module_length, module, procedure_length, procedure, suffix);
    return printed < 0 ? NULL : readable;
}

static char *demangle_function(const char *linkage)
{
    size_t length = strlen(linkage);
    /* Rust comes first, because its legacy names are valid C++ names with a hash at the end. */
    char *readable = NULL;
    if (strncmp(linkage, "_R", 2) == 0 || strncmp(linkage, "_ZN", 3) == 0)
        readable = demangle_with(rust_demangle_callback, linkage, STYLE);
    if (!readable && (strncmp(linkage, "_Z", 2) == 0 || strncmp(linkage, "_GLOBAL_", 8) == 0))
        readable = demangle_with(cplus_demangle_v3_callback, linkage,
                                 length > LIMITED_BYTES ? STYLE | DMGL_NO_RECURSE_LIMIT : STYLE);
    return readable ? readable : demangle_fortran(linkage);
}

/* Names of outlined functions without a parent are left as they are, because DWARF may have the
 * parent. */
static char *demangle_outlined(const struct outlined *outlined)
{
    struct strbuf out = STRBUF_INIT;
    char *parent = strndup(outlined->parent, outlined->parent_length);
    char *readable = parent ? demangle_function(parent) : NULL;
    if (parent)
        outlined_add(&out, readable ? readable : parent, outlined);
    free(readable);
    free(parent);
    char *text = parent ? strdup(out.data) : NULL;
    strbuf_release(&out);
    return text;
}

char *symbols_demangle(const char *linkage)
{
    if (strnlen(linkage, MAX_LINKAGE_BYTES + 1) > MAX_LINKAGE_BYTES)
        return NULL;
    struct outlined outlined;
    if (!outlined_find(linkage, &outlined))
        return demangle_function(linkage);
    return outlined.parent_length ? demangle_outlined(&outlined) : NULL;
}
