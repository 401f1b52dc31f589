/* The option --source-path (source_path.h). It adds a pair OLD=NEW and complains about a wrong
 * one. It also says which machine this is, for commands that read only sources of their own
 * machine. */
#include "commands/source_path.h"

#include <errno.h>
#include <unistd.h>
#include "procfs/process.h"

int source_path_add(const struct options_command *command, struct source_paths *paths,
                    const char *pair)
{
    int error = source_paths_add(paths, pair);

    if (error == -EINVAL)
        options_usage_error(command, "'%s' is not right for --source-path: expected OLD=NEW", pair);
    else if (error)
        options_usage_error(command, "more than %d times --source-path", SOURCE_PATHS_MAX);
    return error;
}

void source_path_only_here(struct source_paths *paths)
{
    static char host[256]; /* both for the life of the process */
    static char *boot;
    gethostname(host, sizeof host - 1);
    if (process_boot_id(&boot))
        boot = NULL;
    paths->only_here = true;
    paths->host = host;
    paths->boot = boot;
}
