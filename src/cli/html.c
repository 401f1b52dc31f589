/* tidemark html: profiles as one file, written by the server room. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/options.h"
#include "cli/whole_file.h"
#include "server/html.h"

struct arguments {
    struct source_paths paths;
    const char *output;
    bool force, sources;
};

#define TO(field) OPTION_TO(struct arguments, field)

static int add_source_path(void *target, const char *value);

static const struct option_entry entries[] = {
    {"output", 'o', OPTION_STRING, "FILE",
     "write to FILE, \"-\" is stdout (default: the first profile's name with .html)", TO(output),
     false, NULL},
    {"force", 0, OPTION_FLAG, NULL, "replace FILE if it is there", TO(force), false, NULL},
    {"sources", 0, OPTION_SWITCH, NULL,
     "with the text of the program's source files that are known not to have changed "
     "(default: yes)",
     TO(sources), false, NULL},
    {"source-path", 'S', OPTION_CALL, "OLD=NEW",
     "sources recorded as below OLD are below NEW; may be repeated", 0, false, add_source_path},
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "html",
    .synopsis = "[options] PROFILE…",
    .purpose = "Writes the web view of profiles as one HTML file that opens from disk or by mail, "
               "without a server and without a network.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark html run.tmk\n"
                "  tidemark html --no-sources -o report.html before.tmk after.tmk\n",
};

static int add_source_path(void *target, const char *value)
{
    struct arguments *arguments = target;
    int error = source_paths_add(&arguments->paths, value);
    if (error == -EINVAL)
        options_usage_error(&command, "'%s' is not right for --source-path: expected OLD=NEW",
                            value);
    else if (error)
        options_usage_error(&command, "more than %d times --source-path", SOURCE_PATHS_MAX);
    return error;
}

static int complain(const char *sentence)
{
    return whole_file_complain("html", sentence);
}

static void default_output(struct strbuf *name, const char *profile)
{
    size_t length = strlen(profile);
    if (length > 4 && !strcmp(profile + length - 4, ".tmk"))
        length -= 4;
    strbuf_add(name, profile, length);
    strbuf_add_string(name, ".html");
}

static int write_to(FILE *out, const struct html_options *options, const char *name)
{
    struct strbuf why = STRBUF_INIT;
    int error = html_write(out, options, &why);
    int status = !error       ? 0
                 : why.length ? complain(why.data)
                              : whole_file_complain_of("html", "cannot write", name, -error);
    strbuf_release(&why);
    return status;
}

static int write_file(const struct html_options *options, const char *name, bool force)
{
    struct whole_file file;
    int status = whole_file_open(&file, "html", name, force);
    return status ? status : whole_file_close(&file, write_to(file.out, options, name));
}

int cmd_html(int argc, char **argv)
{
    struct arguments arguments = {.sources = true};
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand == argc)
        return options_usage_error(&command, "no profile given");
    struct html_options options = {
        .files = (const char *const *)argv + operand,
        .file_count = (size_t)(argc - operand),
        .paths = &arguments.paths,
        .sources = arguments.sources,
    };
    struct strbuf name = STRBUF_INIT;
    if (arguments.output)
        strbuf_add_string(&name, arguments.output);
    else
        default_output(&name, argv[operand]);
    int status = strcmp(name.data, "-") ? write_file(&options, name.data, arguments.force)
                                        : write_to(stdout, &options, "to stdout");
    strbuf_release(&name);
    return status;
}
