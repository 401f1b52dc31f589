/* The command `tidemark unpack`: a profile as a plain SQLite database for people and tools. The
 * name of the database follows from the profile's name if it is not given. An existing file is
 * never replaced. */
#include "commands/commands.h"

#include <stdio.h>
#include "base/error.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "commands/whole_file.h"
#include "profile/profile.h"

static const struct option_entry entries[] = {OPTION_GROUP_END};

static const struct options_command command = {
    .name = "unpack",
    .synopsis = "PROFILE [DATABASE]",
    .purpose = "Writes a profile, finished or still being recorded, as a plain SQLite database "
               "with a row for each call path, for sqlite3 and other tools. The profile itself "
               "stays as it is. DATABASE must not exist; its name is PROFILE's with .db instead of "
               ".tmk if "
               "it is not given.",
    .entries = entries,
    .epilogue = "Example:\n"
                "  tidemark unpack run.tmk && sqlite3 run.db 'SELECT * FROM top_functions'\n",
};

int cmd_unpack(int argc, char **argv)
{
    int operand = options_parse(&command, argc, argv, NULL);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand == argc || operand + 2 < argc)
        return options_usage_error(&command, operand == argc
                                                 ? "no profile given"
                                                 : "more than a profile and a database given");
    struct strbuf output = STRBUF_INIT;
    if (operand + 1 < argc)
        strbuf_add_string(&output, argv[operand + 1]);
    else
        whole_file_default_name(&output, argv[operand], ".db");
    int error = profile_unpack(argv[operand], output.data);
    if (error)
        fprintf(stderr, "tidemark unpack: %s\n", error_text());
    strbuf_release(&output);
    return error ? OPTIONS_EXIT_FAILURE : 0;
}
