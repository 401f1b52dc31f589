/* tidemark import: another tool's recording as a profile, made by the import room. */
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include "base/options.h"
#include "cli/output.h"
#include "cli/publish.h"
#include "import/import.h"

struct arguments {
    const char *output, *from;
    bool force;
};

#define TO(field) OPTION_TO(struct arguments, field)

static const struct option_entry entries[] = {
    {"output", 'o', OPTION_STRING, "FILE", "the profile to write (default: FILE's name with .tmk)",
     TO(output), false, NULL},
    {"force", 0, OPTION_FLAG, NULL, "replace the profile if it is there", TO(force), false, NULL},
    {"from", 0, OPTION_STRING, "FORMAT",
     "heaptrack, massif, dhat, pprof or jemalloc (default: seen from the file)", TO(from), false,
     NULL},
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "import",
    .synopsis = "[options] FILE",
    .purpose =
        "Reads what heaptrack, massif, DHAT, pprof, jemalloc or gperftools recorded and writes "
        "a profile of it, for report, annotate, serve and html. What the other tool did not "
        "record is shown as unknown.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark import heaptrack.server.1234.zst -o server.tmk\n"
                "  tidemark import massif.out.1234 && tidemark report massif.out.1234.tmk\n",
};

struct importing {
    const char *path;
    const struct import_format *format;
};

static int write_profile(const char *path, void *context)
{
    struct importing *importing = context;
    struct strbuf why = STRBUF_INIT;
    const struct import_format *as;
    int error = import_file(importing->path, importing->format, path, &as, &why);
    int status = error ? output_complain("import", why.length ? why.data : strerror(-error)) : 0;
    strbuf_release(&why);
    return status;
}

int cmd_import(int argc, char **argv)
{
    struct arguments arguments = {0};
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand + 1 != argc)
        return options_usage_error(&command,
                                   operand == argc ? "no file given" : "more than one file given");
    struct importing importing = {.path = argv[operand]};
    if (arguments.from && !(importing.format = import_format_find(arguments.from)))
        return options_usage_error(&command,
                                   "'%s' cannot be imported: heaptrack, massif, dhat, "
                                   "pprof and jemalloc can",
                                   arguments.from);
    struct strbuf name = STRBUF_INIT;
    if (arguments.output)
        strbuf_add_string(&name, arguments.output);
    else
        publish_default_name(&name, argv[operand], ".tmk");
    struct publication publication = {.command = "import",
                                      .name = name.data,
                                      .force = arguments.force,
                                      .write_file = write_profile,
                                      .context = &importing};
    int status = publish(&publication);
    strbuf_release(&name);
    return status;
}
