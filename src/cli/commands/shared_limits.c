/* A table of limits and what recording takes of each (shared_limits.h). A limit of processes counts
 * all that the user or the control group has, so it is mentioned only where few are left. */
#include "commands/shared_limits.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/human.h"
#include "base/strbuf.h"
#include "procfs/cgroup.h"
#include "procfs/proc_file.h"

/* Threads and processes that a session needs at a time, with some to spare. */
enum { TASKS_NEAR = 64 };

static void shared_limits_add(struct strbuf *line, const char *what)
{
    strbuf_add_string(line, line->length ? "; " : "");
    strbuf_add_string(line, what);
}

/* ---- The process's own ---- */

static void shared_limits_add_bytes(struct strbuf *line, const char *what, uint64_t bytes)
{
    shared_limits_add(line, what);
    strbuf_addf(line, " (limited to %s)", human_bytes(bytes).text);
}

static void shared_limits_add_seconds(struct strbuf *line, const char *what, uint64_t seconds)
{
    shared_limits_add(line, what);
    strbuf_addf(line, " (limited to %llu s)", (unsigned long long)seconds);
}

static const struct {
    int resource;
    const char *what;
    void (*add)(struct strbuf *line, const char *what, uint64_t limit);
} shares[] = {
    {RLIMIT_AS, "8 MiB of address space and more with threads and call paths",
     shared_limits_add_bytes},
    {RLIMIT_DATA, "2 MiB of data and more with call paths", shared_limits_add_bytes},
    {RLIMIT_CPU, "the time that recording takes in the program", shared_limits_add_seconds},
};

static void shared_limits_add_own(struct strbuf *line)
{
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)shares[i].resource, &limit) == 0 &&
            limit.rlim_cur != RLIM_INFINITY)
            shares[i].add(line, shares[i].what, limit.rlim_cur);
    }
}

/* ---- Processes ---- */

/* Threads of all processes of a user: /proc/PID/task has a directory for each. */
static uint64_t shared_limits_tasks_of(uid_t user)
{
    uint64_t count = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc)) != NULL;) {
        char path[300];
        struct stat facts;
        snprintf(path, sizeof path, "/proc/%s/task", entry->d_name);
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && stat(path, &facts) == 0 &&
            facts.st_uid == user && facts.st_nlink > 2)
            count += facts.st_nlink - 2;
    }
    if (proc)
        closedir(proc);
    return count;
}

/* root has no such limit. Counting takes time, so only a low limit is looked at. */
static void shared_limits_add_processes(struct strbuf *line)
{
    enum { LOW = 4096 };
    struct rlimit limit;
    if (geteuid() == 0 || getrlimit(RLIMIT_NPROC, &limit) < 0 || limit.rlim_cur > LOW ||
        shared_limits_tasks_of(geteuid()) + TASKS_NEAR <= limit.rlim_cur)
        return;
    shared_limits_add(line, "threads of its own beside the program");
    strbuf_addf(line, " (this user may have %llu)", (unsigned long long)limit.rlim_cur);
}

/* The number in a file. False: the file cannot be read, or says "max". */
static bool shared_limits_read(const char *directory, const char *name, uint64_t *number)
{
    char path[2 * PATH_MAX + 16];
    const char *end;
    struct strbuf text = STRBUF_INIT;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    bool is = proc_read_at(path, 64, &text) == 0 && proc_number(text.data, number, &end);
    strbuf_release(&text);
    return is;
}

/* The group's own limit and those of the groups around it. */
static void shared_limits_add_group(struct strbuf *line)
{
    struct cgroup_place place;
    char directory[2 * PATH_MAX];
    if (cgroup_locate_for(getpid(), "pids", &place) < 0)
        return;
    snprintf(directory, sizeof directory, "%s%s", place.mount, place.path);
    size_t mount = strlen(place.mount);
    for (char *slash = directory; slash && strlen(directory) >= mount;) {
        uint64_t most, now;
        if (shared_limits_read(directory, "pids.max", &most) &&
            shared_limits_read(directory, "pids.current", &now) && now + TASKS_NEAR > most) {
            shared_limits_add(line, "threads of its own beside the program");
            strbuf_addf(line, " (its control group may have %llu, and has %llu)",
                        (unsigned long long)most, (unsigned long long)now);
            return;
        }
        if ((slash = strrchr(directory, '/')) != NULL)
            *slash = '\0';
    }
}

void shared_limits_say(const char *command)
{
    struct strbuf line = STRBUF_INIT;
    shared_limits_add_own(&line);
    shared_limits_add_processes(&line);
    shared_limits_add_group(&line);
    if (line.length)
        fprintf(stderr,
                "tidemark %s: of what is limited here recording takes a part: %s; a program that "
                "needs all of it may fail\n",
                command, line.data);
    strbuf_release(&line);
}
