#include "collector/output_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/strbuf.h"

static const char *const rank_variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                             "SLURM_PROCID", "MV2_COMM_WORLD_RANK"};

static const char *rank(void)
{
    for (size_t i = 0; i < sizeof rank_variables / sizeof *rank_variables; i++) {
        const char *value = getenv(rank_variables[i]);
        if (value && *value)
            return value;
    }
    return "0";
}

const char *output_name_check(const char *pattern)
{
    if (!*pattern)
        return "it is empty";
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

static void add_part(struct strbuf *name, const char *part)
{
    for (; *part; part++)
        strbuf_add_char(name, *part == '/' ? '_' : *part);
}

static void add_variable(struct strbuf *name, const char *from, const char *to)
{
    char variable[256];
    snprintf(variable, sizeof variable, "%.*s", (int)(to - from), from);
    const char *value = getenv(variable);
    add_part(name, value ? value : "");
}

static const char *add_escape(struct strbuf *name, const char *at, const char *program, pid_t pid)
{
    char host[256] = "";
    switch (*at) {
    case 'p':
        strbuf_addf(name, "%d", (int)pid);
        break;
    case 'h':
        gethostname(host, sizeof host - 1);
        add_part(name, host);
        break;
    case 'r':
        add_part(name, rank());
        break;
    case 'n':
        add_part(name, program);
        break;
    case 'q':
        add_variable(name, at + 2, strchr(at, '}'));
        return strchr(at, '}');
    default:
        strbuf_add_char(name, '%');
    }
    return at;
}

static void add_child_mark(struct strbuf *name, const char *program, pid_t pid)
{
    char *path = strbuf_detach(name);
    char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    strbuf_add(name, path, stem);
    strbuf_add_char(name, '.');
    add_part(name, program);
    strbuf_addf(name, ".%d%s", (int)pid, path + stem);
    free(path);
}

char *output_name(const char *pattern, const char *program, pid_t pid, int first)
{
    struct strbuf name = STRBUF_INIT;
    int has_pid = 0;
    for (const char *at = pattern; *at; at++) {
        if (*at != '%') {
            strbuf_add_char(&name, *at);
            continue;
        }
        has_pid |= at[1] == 'p';
        at = add_escape(&name, at + 1, program, pid);
    }
    if (!first && !has_pid)
        add_child_mark(&name, program, pid);
    return strbuf_detach(&name);
}
