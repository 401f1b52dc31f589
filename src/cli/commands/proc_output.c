/* Options and output that `ps` and `maps` share (proc_output.h). Defaults are settled once the
 * options are read, because they depend on the format and on the terminal. */
#include "commands/proc_output.h"

#include <errno.h>
#include <string.h>

#include "base/human.h"
#include "base/text.h"
#include "commands/output.h"

enum { USUAL_COLUMNS = 160 };

void proc_settle_arguments(struct proc_arguments *arguments, uint64_t top)
{
    if (arguments->json)
        arguments->format = PROC_JSON;
    if (arguments->top == UINT64_MAX)
        arguments->top = arguments->format == PROC_TEXT ? top : 0;
}

size_t proc_narrow_columns(const struct proc_arguments *arguments, size_t usual)
{
    enum { NARROWEST = 40 };
    size_t asked = arguments->width ? arguments->width : term_columns(stdout);
    return asked >= usual ? usual : asked < NARROWEST ? NARROWEST : asked;
}

struct show_options proc_settle(const struct proc_arguments *arguments)
{
    return (struct show_options){
        .style = {.colour = term_wants_colour((enum term_colour)arguments->colour, stdout),
                  .utf8 = term_is_utf8(),
                  .columns = output_columns(arguments->width, USUAL_COLUMNS)},
        .top = arguments->top,
    };
}

struct term_pager proc_pager(const struct proc_arguments *arguments)
{
    return term_pager_open(arguments->pager && arguments->format == PROC_TEXT);
}

int proc_close(const struct options_command *command, struct term_pager *pager, int error)
{
    return output_close(command->name, pager, error);
}

int proc_take_pid(const struct options_command *command, const char *word, pid_t *pid)
{
    if (!human_parse_pid(word, pid))
        return 0;
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, word);
    int status = options_usage_error(command, "'%s' is no number of a process", safe.data);
    strbuf_release(&safe);
    return status;
}
