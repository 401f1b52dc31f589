/* The command `tidemark import`: another tool's recording as a profile. The import room tells
 * the format and reads the file. The profile has its name only when it is whole. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/options.h"
#include "commands/output.h"
#include "commands/whole_file.h"
#include "base/own_file.h"
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
     "heaptrack, massif, dhat, pprof, jemalloc or tracemalloc (default: seen from the file)",
     TO(from), false, NULL},
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "import",
    .synopsis = "[options] FILE",
    .purpose =
        "Reads what heaptrack, massif, DHAT, pprof, jemalloc, gperftools or Python's tracemalloc "
        "recorded and writes a profile of it, for report, annotate, serve and html. What the other "
        "tool did not "
        "record is shown as unknown.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark import heaptrack.server.1234.zst -o server.tmk\n"
                "  tidemark import snapshot.pickle && tidemark report snapshot.pickle.tmk\n"
                "  tidemark import massif.out.1234 && tidemark report massif.out.1234.tmk\n",
};

/* The import room creates the profile's file itself, by name. */
static int cmd_import_to(const char *path, const struct import_format *format,
                         struct whole_file *file)
{
    struct strbuf why = STRBUF_INIT;
    const struct import_format *as;
    const char *to = whole_file_name(file);
    if (!to)
        return OPTIONS_EXIT_FAILURE;
    int error = import_file(path, format, to, &as, &why);
    int status = error ? output_complain("import", why.length ? why.data : strerror(-error)) : 0;
    strbuf_release(&why);
    return status;
}

/* --force replaces files of Tidemark's, and no others. */
static int cmd_import_complain_of_another(const char *name)
{
    struct strbuf sentence = STRBUF_INIT;
    strbuf_addf(&sentence, "will not replace %s: it is no file of Tidemark's; choose another name",
                name);
    int status = output_complain("import", sentence.data);
    strbuf_release(&sentence);
    return status;
}

static int cmd_import_write_profile(const char *path, const struct import_format *format,
                                    const char *name, bool force)
{
    struct whole_file file;
    int status = whole_file_spare("import", name, &path, 1);
    if (!status && force && own_file_check(name) == -EEXIST)
        status = cmd_import_complain_of_another(name);
    status = status ? status : whole_file_open(&file, "import", name, force);
    if (status)
        return status;
    return whole_file_close(&file, cmd_import_to(path, format, &file));
}

int cmd_import(int argc, char **argv)
{
    struct arguments arguments = {0};
    int operand = options_parse_one(&command, argc, argv, &arguments, "file");
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    const struct import_format *format = NULL;
    if (arguments.from && !(format = import_format_find(arguments.from)))
        return options_usage_error(&command,
                                   "'%s' cannot be imported: heaptrack, massif, dhat, "
                                   "pprof, jemalloc and tracemalloc can",
                                   arguments.from);
    struct strbuf name = STRBUF_INIT;
    if (arguments.output)
        strbuf_add_string(&name, arguments.output);
    else
        whole_file_default_name(&name, argv[operand], ".tmk");
    int status = cmd_import_write_profile(argv[operand], format, name.data, arguments.force);
    strbuf_release(&name);
    return status;
}
