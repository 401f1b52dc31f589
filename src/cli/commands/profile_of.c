/* Reads a profile, or has one written by the collector of a process (profile_of.h). The file of a
 * process is removed after it has been read: a user who wants to keep one asks for a snapshot. */
#include "commands/profile_of.h"

#include <unistd.h>
#include "base/error.h"
#include "base/human.h"
#include "base/strbuf.h"
#include "commands/ask_snapshot.h"
#include "commands/output.h"

static bool profile_of_pid(const char *operand, pid_t *pid)
{
    return !human_parse_pid(operand, pid) && access(operand, F_OK) != 0;
}

bool profile_of_is_process(const char *operand)
{
    return profile_of_pid(operand, &(pid_t){0});
}

static int profile_of_process(struct profile **out, const char *command, pid_t pid,
                              const struct wire_wish *wish)
{
    struct strbuf path = STRBUF_INIT;
    int status = ask_snapshot_of(command, pid, wish, &path);
    if (!status && profile_read(out, path.data))
        status = output_complain(command, error_text());
    if (path.length)
        unlink(path.data);
    strbuf_release(&path);
    return status;
}

int profile_of(struct profile **out, const char *command, const char *operand,
               const struct wire_wish *wish)
{
    pid_t pid;
    if (profile_of_pid(operand, &pid))
        return profile_of_process(out, command, pid, wish);
    return profile_read(out, operand) ? output_complain(command, error_text()) : 0;
}
