/* truth: sick
 * what: the command line of the sender of each message is read and not freed
 * real: systemd-journald (RHEL 7), CVE-2019-3815: dispatch_message_real leaks _CMDLINE
 * expect: leak-lost leak-growth
 * run: service idle 0.3; ask 3000; idle 0.5; ask 3000; idle 0.3 */
#include "truth.h"

NOINLINE static char *field_make(const char *name, const char *value)
{
    char *field = malloc(400);
    snprintf(field, 400, "%s=%s", name, value);
    return field;
}

NOINLINE static char *get_process_cmdline(const char *line)
{
    char *text = malloc(260); /* guilty: get_process_cmdline */
    snprintf(text, 260, "/usr/bin/sender --of=%s", line);
    return text;
}

NOINLINE static size_t dispatch_message(const char *line)
{
    char *message = field_make("MESSAGE", line);
    char *cmdline = field_make("_CMDLINE", get_process_cmdline(line));
    size_t size = strlen(message) + strlen(cmdline);
    free(message);
    free(cmdline);
    return size;
}

int main(void)
{
    char line[200];
    size_t size = 0;
    while (fgets(line, sizeof line, stdin))
        size += dispatch_message(line);
    printf("%zu\n", size);
    return 0;
}
