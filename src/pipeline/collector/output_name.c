/* Expands the pattern of -o into a file name (output_name.h). %-escapes are replaced one by one.
 * Names given so far are listed. A name that is taken gets the program and the pid added, then .2,
 * .3 and so on. */
#include "collector/output_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/old_file.h"
#include "base/own_file.h"
#include "base/strbuf.h"
#include "collector/job_place.h"

/* The process's own variable, as it was when the process image began: under an MPI launcher each
 * process has its rank, and we have none. Where it has none or may not be read: ours. malloc'd or
 * NULL. */
static char *output_name_variable_of(pid_t pid, const char *name)
{
    char path[32], *entry = NULL, *value = NULL;
    size_t capacity = 0, length = strlen(name);
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *variables = fopen(path, "re");
    while (variables && !value && getdelim(&entry, &capacity, '\0', variables) > 0)
        if (strncmp(entry, name, length) == 0 && entry[length] == '=')
            value = strdup(entry + length + 1);
    free(entry);
    if (variables)
        fclose(variables);
    const char *ours = value ? NULL : getenv(name);
    return ours ? strdup(ours) : value;
}

const char *output_name_check(const char *pattern)
{
    if (!*pattern)
        return "it is empty";
    if (!strcmp(pattern, "-"))
        return "a profile is rewritten while the program runs, so it cannot go to standard output "
               "(a file of that name is ./-)";
    if (*pattern == '-')
        return "it begins as an option does (a file of that name takes ./ before it)";
    for (const char *at = pattern; *at; at++) {
        if (*at != '%')
            continue;
        at++;
        if (*at == 'q' && (at[1] != '{' || !strchr(at, '}')))
            return "%q needs the name of an environment variable: %q{VAR}";
        if (!*at || !strchr("phrnq%", *at))
            return "after % comes p (pid), h (host), r (rank), n (program), q{VAR} or %";
    }
    return NULL;
}

int output_name_obstacle(const char *pattern, char **place)
{
    const char *slash = strrchr(pattern, '/');
    size_t length = slash ? (size_t)(slash - pattern) : 0;
    *place = NULL;
    if (memchr(pattern, '%', length))
        return 0;
    char *directory = !slash ? strdup(".") : strndup(pattern, length ? length : 1);
    int error = directory ? old_file_check_directory(directory) : 0;
    if (error || strchr(pattern, '%') || !(error = own_file_check(pattern))) {
        *place = directory;
        return error;
    }
    free(directory);
    *place = strdup(pattern);
    return error;
}

static void output_name_add_part(struct strbuf *name, const char *part)
{
    for (; *part; part++)
        strbuf_add_char(name, *part == '/' || iscntrl((unsigned char)*part) ? '_' : *part);
}

static void output_name_add_rank(struct strbuf *name, pid_t pid)
{
    struct launcher launcher;
    job_place_identify(&launcher, pid, NULL);
    if (launcher.name)
        strbuf_addf(name, "%lld", (long long)launcher.rank);
    else
        strbuf_add_string(name, "none");
}

static void output_name_add_variable(struct strbuf *name, const char *from, const char *to,
                                     pid_t pid)
{
    char variable[256];
    snprintf(variable, sizeof variable, "%.*s", (int)(to - from), from);
    char *value = output_name_variable_of(pid, variable);
    output_name_add_part(name, value ? value : "");
    free(value);
}

static const char *output_name_add_escape(struct strbuf *name, const char *at, const char *program,
                                          pid_t pid)
{
    char host[256] = "";
    switch (*at) {
    case 'p':
        strbuf_addf(name, "%d", (int)pid);
        break;
    case 'h':
        gethostname(host, sizeof host - 1);
        output_name_add_part(name, host);
        break;
    case 'r':
        output_name_add_rank(name, pid);
        break;
    case 'n':
        output_name_add_part(name, program);
        break;
    case 'q':
        output_name_add_variable(name, at + 2, strchr(at, '}'), pid);
        return strchr(at, '}');
    default:
        strbuf_add_char(name, '%');
    }
    return at;
}

static void output_name_add_before_suffix(struct strbuf *name, const char *mark)
{
    char *path = strbuf_detach(name);
    char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    strbuf_add(name, path, stem);
    strbuf_add_string(name, mark);
    strbuf_add_string(name, path + stem);
    free(path);
}

static bool output_name_has_pid(const char *pattern)
{
    for (const char *at = strchr(pattern, '%'); at; at = strchr(at + 2, '%'))
        if (at[1] == 'p')
            return true;
    return false;
}

/* ---- Names that have been given ---- */

static char **output_name_claims;
static size_t output_name_claim_count, output_name_claim_room;
static struct map output_name_claims_by_name; /* a session may have ten thousand processes */

static uint64_t output_name_hash(const char *name)
{
    return hash_bytes(name, strlen(name));
}

static bool output_name_is_taken(const char *name)
{
    uint32_t number;
    for (struct map_probe probe = map_probe(&output_name_claims_by_name, output_name_hash(name));
         map_next(&probe, &number);)
        if (strcmp(output_name_claims[number], name) == 0)
            return true;
    return false;
}

static void output_name_claim(const char *name)
{
    array_need_room(&output_name_claims, &output_name_claim_room, output_name_claim_count,
                    sizeof *output_name_claims);
    output_name_claims[output_name_claim_count] = memory_need(strdup(name));
    map_add(&output_name_claims_by_name, output_name_hash(name),
            (uint32_t)output_name_claim_count++);
}

/* .2, .3 … before the suffix, whichever is free. */
static void output_name_make_unique(struct strbuf *name)
{
    char *wanted = strdup(name->data);
    for (int again = 2; wanted && output_name_is_taken(name->data); again++) {
        char mark[16];
        snprintf(mark, sizeof mark, ".%d", again);
        strbuf_reset(name);
        strbuf_add_string(name, wanted);
        output_name_add_before_suffix(name, mark);
    }
    free(wanted);
}

/* A part of the path with inserted text, from `from` on, must be neither empty nor "." nor "..":
 * the program could otherwise choose another directory. */
static void output_name_keep_below(struct strbuf *name, size_t from)
{
    const char *part = name->data + from;
    if (!*part || !strcmp(part, "."))
        strbuf_add_char(name, '_');
    else if (!strcmp(part, ".."))
        memset(name->data + from, '_', 2);
}

static void output_name_fill_in(struct strbuf *name, const char *pattern, const char *program,
                                pid_t pid)
{
    size_t from = 0;
    bool is_filled_in = false;
    for (const char *at = pattern;; at++) {
        if ((!*at || *at == '/') && is_filled_in)
            output_name_keep_below(name, from);
        if (!*at)
            break;
        is_filled_in = *at != '/' && (is_filled_in || *at == '%');
        if (*at == '%')
            at = output_name_add_escape(name, at + 1, program, pid);
        else
            strbuf_add_char(name, *at);
        from = *at == '/' ? name->length : from;
    }
}

/* Makes a name that is not taken from `name`, which is. */
static void output_name_go_beside(struct strbuf *name, const char *pattern, const char *program,
                                  pid_t pid)
{
    if (!output_name_has_pid(pattern)) {
        struct strbuf mark = STRBUF_INIT;
        strbuf_add_char(&mark, '.');
        output_name_add_part(&mark, program);
        strbuf_addf(&mark, ".%d", (int)pid);
        output_name_add_before_suffix(name, mark.data);
        strbuf_release(&mark);
    }
    output_name_make_unique(name);
}

char *output_name(const char *pattern, const char *program, pid_t pid)
{
    struct strbuf name = STRBUF_INIT;
    output_name_fill_in(&name, pattern, program, pid);
    if (output_name_is_taken(name.data))
        output_name_go_beside(&name, pattern, program, pid);
    output_name_claim(name.data);
    return strbuf_detach(&name);
}

bool output_name_fits(const char *name, const char *pattern, const char *program, pid_t pid)
{
    struct strbuf own = STRBUF_INIT;
    output_name_fill_in(&own, pattern, program, pid);
    bool fits = strcmp(own.data, name) == 0;
    strbuf_release(&own);
    return fits;
}

char *output_name_beside(const char *name, const char *pattern, const char *program, pid_t pid)
{
    struct strbuf beside = STRBUF_INIT;
    strbuf_add_string(&beside, name);
    output_name_go_beside(&beside, pattern, program, pid);
    output_name_claim(beside.data);
    return strbuf_detach(&beside);
}
