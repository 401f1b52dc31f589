/* One table of what compilers add (outlined.h):
 *
 *   solve._omp_fn.0                  gcc, gfortran; bodies of tasks too, and of OpenACC
 *   solve.omp_outlined.1             clang 17 and newer
 *   solve..omp_par.1                 flang, and clang with -fopenmp-enable-irbuilder
 *   .omp_outlined..1                 clang before 17; with debug information the body is in
 *   .omp_outlined._debug__.1         this one, which the other calls
 *   .omp_task_entry.                 clang
 *   __omp_offloading_fd00_1f_solve_l12    clang: "target" at line 12, and its body on the host
 *
 * Numbers are the compiler's, in no order that the source has; they tell two regions apart. */
#include "symbols/outlined.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *added, *what;
} outlined_rows[] = {
    {"._omp_fn.", "region"}, {"._omp_cpyfn.", "task's arguments"}, {".omp_outlined", "region"},
    {"..omp_par", "region"}, {".omp_task_entry.", "task"},
};

/* Compilers put more behind the number when they clone or split the function: ".cold",
 * ".lto_priv.0", ".constprop.0". */
static void outlined_find_number(const char *behind, struct outlined *outlined)
{
    outlined->number = behind + strspn(behind, "._debug");
    outlined->number_length = strspn(outlined->number, "0123456789");
}

/* "__omp_offloading_DEVICE_FILE_NAME_lLINE": the first two in hexadecimal. */
static bool outlined_find_target(const char *name, struct outlined *outlined)
{
    static const char prefix[] = "__omp_offloading_", digits[] = "0123456789abcdef";
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return false;
    const char *at = name + strlen(prefix), *line = NULL;
    for (int i = 0; i < 2; i++) {
        size_t length = strspn(at, digits);
        if (!length || at[length] != '_')
            return false;
        at += length + 1;
    }
    for (const char *found = at; (found = strstr(found, "_l")); found++)
        line = isdigit((unsigned char)found[2]) ? found : line;
    if (!line || line == at)
        return false;
    *outlined = (struct outlined){at, (size_t)(line - at), "target, line", line + 2,
                                  strspn(line + 2, "0123456789")};
    return true;
}

bool outlined_find(const char *name, struct outlined *outlined)
{
    for (size_t i = 0; i < sizeof outlined_rows / sizeof *outlined_rows; i++) {
        const char *added = strstr(name, outlined_rows[i].added);
        if (!added)
            continue;
        *outlined = (struct outlined){name, (size_t)(added - name), outlined_rows[i].what, 0, 0};
        outlined_find_number(added + strlen(outlined_rows[i].added), outlined);
        return true;
    }
    return outlined_find_target(name, outlined);
}

void outlined_add(struct strbuf *out, const char *parent, const struct outlined *outlined)
{
    strbuf_addf(out, "%s%s[OpenMP %s", parent, *parent ? " " : "", outlined->what);
    if (outlined->number_length)
        strbuf_addf(out, " %.*s", (int)outlined->number_length, outlined->number);
    strbuf_add_char(out, ']');
}
