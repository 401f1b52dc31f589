/* The command `tidemark viewer`: the web view as one page without a profile, which reads profiles
 * that are dropped on it. The server room writes it. A web server can hand it out as a directory's
 * index.html, and a CI job can keep it beside its profiles. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/options.h"
#include "base/term_guard.h"
#include "commands/output.h"
#include "commands/whole_file.h"
#include "server/single_file.h"

struct arguments {
    const char *output;
    bool force;
};

#define TO(field) OPTION_TO(struct arguments, field)

static const struct option_entry entries[] = {
    {"output", 'o', OPTION_STRING, "FILE",
     "write to FILE, \"-\" is stdout, instead of DIR/index.html", TO(output), false, NULL},
    {"force", 0, OPTION_FLAG, NULL, "replace the file if it is there", TO(force), false, NULL},
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "viewer",
    .synopsis = "[options] DIR",
    .purpose = "Writes a page, DIR/index.html, that shows the profiles that are dropped on it. It "
               "opens from disk or from any web server, reads files in the browser, and sends "
               "nothing.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark viewer public\n"
                "  tidemark viewer -o viewer.html\n",
};

static int cmd_viewer_write_to(FILE *out, const char *name)
{
    struct strbuf why = STRBUF_INIT;
    int error = html_write_viewer(out, &why);
    int status = !error || error == -EPIPE ? 0
                 : why.length              ? output_complain("viewer", why.data)
                              : whole_file_complain_of("viewer", "cannot write", name, -error);
    strbuf_release(&why);
    return status;
}

static int cmd_viewer_write_file(const char *name, bool force)
{
    struct whole_file file;
    int status = whole_file_spare_ours("viewer", name);
    status = status ? status : whole_file_open(&file, "viewer", name, force);
    return status ? status : whole_file_close(&file, cmd_viewer_write_to(file.out, name));
}

/* Makes the directory if it does not exist, but not those above. A directory that was made is
 * removed again where no page could be written. */
static int cmd_viewer_write_in(const char *directory, bool force)
{
    struct strbuf name = STRBUF_INIT;
    bool is_new = mkdir(directory, 0777) == 0;
    if (!is_new && errno != EEXIST)
        return whole_file_complain_of("viewer", "cannot make", directory, errno);
    strbuf_addf(&name, "%s/index.html", directory);
    int status = cmd_viewer_write_file(name.data, force);
    if (status && is_new)
        rmdir(directory);
    strbuf_release(&name);
    return status;
}

int cmd_viewer(int argc, char **argv)
{
    struct arguments arguments = {0};
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (argc - operand != !arguments.output)
        return options_usage_error(&command, arguments.output
                                                 ? "either --output or a directory, not both"
                                                 : "give one directory");
    if (!arguments.output)
        return cmd_viewer_write_in(argv[operand], arguments.force);
    return strcmp(arguments.output, "-") ? cmd_viewer_write_file(arguments.output, arguments.force)
                                         : cmd_viewer_write_to(term_guard_raw(), "to stdout");
}
