/* Any bytes as /proc/PID/status, /proc/PID/cgroup and /proc/meminfo: whatever is taken from them
 * stood there, and a balance adds up. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "system_memory/processes.h"
#include "fuzz.h"

static void check_status(const char *text)
{
    struct system_memory_status status;
    if (system_memory_parse_status(text, &status) != 0)
        return;
    must(status.pid > 0 && status.parent >= 0 && status.inner_pid >= 0);
    must(memchr(status.name, '\0', sizeof status.name) != NULL);
}

static void check_cgroup(const char *text)
{
    char *cgroup = system_memory_parse_cgroup(text);
    must(!cgroup || (*cgroup == '/' && strstr(text, cgroup) && !strchr(cgroup, '\n')));
    free(cgroup);
}

static void check_machine(const char *text)
{
    struct system_memory system = {.is_whole = true};
    struct system_memory_balance balance;
    system_memory_parse_machine(text, &system.machine);
    if (!system_memory_balance(&system, &balance))
        return;
    must(balance.processes + balance.anonymous_elsewhere + balance.shared_memory +
             balance.page_cache + balance.kernel + balance.huge_pool + balance.free +
             (uint64_t)balance.rest ==
         balance.total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* its own block, so that sanitizers see its ends */
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    check_status(text);
    check_cgroup(text);
    check_machine(text);
    free(text);
    return 0;
}
