/* The command `tidemark html`: profiles as one file, which the server room writes. An existing
 * file is replaced only with --force. The file has its name only when it is whole. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/options.h"
#include "base/term_guard.h"
#include "commands/filter_options.h"
#include "commands/output.h"
#include "commands/redaction.h"
#include "commands/showing.h"
#include "commands/source_path.h"
#include "commands/whole_file.h"
#include "server/single_file.h"

struct arguments {
    struct source_paths paths;
    const char *output, *id, *filter;
    bool force, sources, ranks;
    struct redaction_arguments redaction;
};

#define TO(field) OPTION_TO(struct arguments, field)

static int cmd_html_add_source_path(void *target, const char *value);

static const struct option_entry entries[] = {
    {"output", 'o', OPTION_STRING, "FILE",
     "write to FILE, \"-\" is stdout (default: the first profile's name with .html)", TO(output),
     false, NULL},
    {"force", 0, OPTION_FLAG, NULL, "replace FILE if it is there", TO(force), false, NULL},
    {"id", 0, OPTION_STRING, "ID", "the job of that id, where a directory has several", TO(id),
     false, NULL},
    {"ranks", 0, OPTION_FLAG, NULL, "with the profile of each rank of a job, not only the job's",
     TO(ranks), false, NULL},
    {"sources", 0, OPTION_SWITCH, NULL,
     "with the text of the program's source files that are known not to have changed "
     "(default: yes)",
     TO(sources), false, NULL},
    {"filter", 'f', OPTION_STRING, "REGEX",
     "opens with this in its search field, which takes the words of report --filter", TO(filter),
     false, NULL},
    SOURCE_PATH_ENTRY(cmd_html_add_source_path),
    REDACTION_ENTRIES(TO),
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "html",
    .synopsis = "[options] PROFILE|JOBDIR|TRACE…",
    .purpose = "Writes the web view of profiles, jobs and traces as one HTML file that opens from "
               "disk or by mail, without a server and without a network.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark html run.tmk\n"
                "  tidemark html --no-sources -o report.html before.tmk after.tmk\n",
};

static int cmd_html_add_source_path(void *target, const char *value)
{
    struct arguments *arguments = target;
    return source_path_add(&command, &arguments->paths, value);
}

static int cmd_html_write_to(FILE *out, const struct html_options *options, const char *name)
{
    struct strbuf why = STRBUF_INIT;
    int error = html_write(out, options, &why);
    int status = !error || error == -EPIPE ? 0
                 : why.length              ? output_complain("html", why.data)
                              : whole_file_complain_of("html", "cannot write", name, -error);
    strbuf_release(&why);
    return status;
}

static int cmd_html_write_file(const struct html_options *options, const char *name, bool force)
{
    struct whole_file file;
    int status = whole_file_spare_ours("html", name);
    status = status ? status : whole_file_open(&file, "html", name, force);
    return status ? status : whole_file_close(&file, cmd_html_write_to(file.out, options, name));
}

int cmd_html(int argc, char **argv)
{
    struct arguments arguments = {.sources = true};
    source_path_only_here(&arguments.paths);
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand == argc)
        return options_usage_error(&command, "no profile given");
    const char *region = NULL; /* checked only: the page itself reads it from its search field */
    if (!filter_is_right(&command, arguments.filter, &region))
        return OPTIONS_EXIT_FAILURE;
    struct showing showing;
    size_t hidden = 0;
    struct showing_options to_show = {
        .command = "html", .id = arguments.id, .ranks = arguments.ranks};
    int status = showing_open(&showing, &to_show, (const char *const *)argv + operand,
                              (size_t)(argc - operand));
    struct strbuf from_disk = STRBUF_INIT;
    struct html_options options = {
        .shown = showing.shown,
        .shown_count = showing.count,
        .paths = &arguments.paths,
        .sources = arguments.sources,
        .from_disk = &from_disk,
        .redact = (enum redact_level)arguments.redaction.level,
        .salt = arguments.redaction.salt,
        .hidden = &hidden,
        .search = arguments.filter,
    };
    struct strbuf name = STRBUF_INIT;
    if (arguments.output)
        strbuf_add_string(&name, arguments.output);
    else
        whole_file_default_name(&name, argv[operand], ".html");
    if (!status)
        status = strcmp(name.data, "-")
                     ? cmd_html_write_file(&options, name.data, arguments.force)
                     : cmd_html_write_to(term_guard_raw(), &options, "to stdout");
    if (!status && from_disk.length)
        fprintf(stderr, "tidemark html: of this machine's files it has the text of\n%s",
                from_disk.data);
    strbuf_release(&from_disk);
    redaction_say_hidden("html", status ? 0 : hidden);
    strbuf_release(&name);
    showing_release(&showing);
    return status;
}
