/* Finds the profile of a process among the open files of all processes that this user may look at.
 * Each profile says of which process it is. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/memory.h"
#include "aggregate/facts.h"
#include "profile/profile.h"
#include "top/top.h"

struct top_finding {
    pid_t pid;
    char *of_pid;          /* a profile of the process, being written */
    char *by_pid;          /* one that the process writes */
    size_t by_pid_count;   /* how many it writes */
    size_t denied;         /* processes whose files may not be seen */
    struct top_paths *all; /* NULL: the profile of `pid` is wanted */
};

static bool top_find_is_number(const char *name)
{
    return isdigit((unsigned char)*name) && name[strspn(name, "0123456789")] == 0;
}

static bool top_find_is_profile_name(const char *path)
{
    size_t length = strlen(path);
    return *path == '/' && length > 4 && !strcmp(path + length - 4, ".tmk");
}

static void top_find_keep(char **where, const char *path)
{
    if (*where && strcmp(*where, path)) {
        free(*where);
        *where = NULL;
    }
    if (!*where)
        *where = strdup(path);
}

static bool top_find_has(const struct top_paths *paths, const char *path)
{
    for (size_t i = 0; i < paths->count; i++)
        if (!strcmp(paths->items[i], path))
            return true;
    return false;
}

void top_paths_add(struct top_paths *paths, const char *path)
{
    if (top_find_has(paths, path))
        return;
    array_need_room(&paths->items, &paths->room, paths->count, sizeof *paths->items);
    paths->items[paths->count++] = memory_need(strdup(path));
}

void top_paths_release(struct top_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->items[i]);
    free(paths->items);
    *paths = (struct top_paths){0};
}

static void top_find_consider(struct top_finding *finding, const char *path, pid_t writer)
{
    struct profile *profile;
    if (finding->of_pid && !strcmp(finding->of_pid, path))
        return;
    if (finding->all && top_find_has(finding->all, path))
        return;
    if (profile_read_meta(&profile, path))
        return;
    if (profile->being_written && finding->all)
        top_paths_add(finding->all, path);
    else if (profile->being_written) {
        if (facts_number(profile, PROFILE_META_PID) == (uint64_t)finding->pid)
            top_find_keep(&finding->of_pid, path);
        if (writer == finding->pid && !(finding->by_pid && !strcmp(finding->by_pid, path))) {
            top_find_keep(&finding->by_pid, path);
            finding->by_pid_count++;
        }
    }
    profile_free(profile);
}

/* The process's parent; 0: not known. */
static pid_t top_find_parent(const char *name)
{
    char file[64 + NAME_MAX], text[512] = "";
    int parent = 0;
    snprintf(file, sizeof file, "/proc/%s/stat", name);
    FILE *in = fopen(file, "re");
    const char *behind = in && fgets(text, sizeof text, in) ? strrchr(text, ')') : NULL;
    if (in)
        fclose(in);
    return behind && sscanf(behind, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* Who counts as the writer of the files of process `name`: if its parent is the wanted process
 * (`record` of a collector), the parent. */
static pid_t top_find_writer(const struct top_finding *finding, const char *name)
{
    return top_find_parent(name) == finding->pid ? finding->pid : (pid_t)strtol(name, NULL, 10);
}

static void top_find_search_process(struct top_finding *finding, const char *name)
{
    char link[64 + NAME_MAX], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%s/fd", name);
    DIR *files = opendir(link);
    if (!files) {
        finding->denied += errno == EACCES;
        return;
    }
    for (struct dirent *entry; (entry = readdir(files));) {
        if (!top_find_is_number(entry->d_name))
            continue;
        snprintf(link, sizeof link, "/proc/%s/fd/%s", name, entry->d_name);
        ssize_t length = readlink(link, path, sizeof path - 1);
        if (length <= 0)
            continue;
        path[length] = 0;
        if (top_find_is_profile_name(path))
            top_find_consider(finding, path, top_find_writer(finding, name));
    }
    closedir(files);
}

static void top_find_say_why_not(const struct top_finding *finding, struct strbuf *why)
{
    int pid = (int)finding->pid;
    if (kill(finding->pid, 0) && errno == ESRCH)
        strbuf_addf(why, "there is no process %d", pid);
    else if (finding->by_pid_count > 1)
        strbuf_addf(why, "process %d records %zu programs: give the pid of one, or its profile",
                    pid, finding->by_pid_count);
    else
        strbuf_addf(why,
                    "no profile of process %d is being written%s: it must be started by `tidemark "
                    "record`; or give the profile's name",
                    pid,
                    finding->denied ? ", as far as this user may see (perhaps by another user's "
                                      "tidemark)"
                                    : "");
}

static bool top_find_search(struct top_finding *finding)
{
    DIR *processes = opendir("/proc");
    if (!processes)
        return false;
    for (struct dirent *entry; (entry = readdir(processes));)
        if (top_find_is_number(entry->d_name))
            top_find_search_process(finding, entry->d_name);
    closedir(processes);
    return true;
}

void top_find_all(struct top_paths *paths)
{
    struct top_finding finding = {.all = paths};
    top_find_search(&finding);
}

int top_find(pid_t pid, struct strbuf *path, struct strbuf *why)
{
    struct top_finding finding = {.pid = pid};
    if (!top_find_search(&finding)) {
        strbuf_add_string(why, "/proc cannot be read: give the profile's name");
        return -errno;
    }
    const char *found = finding.of_pid              ? finding.of_pid
                        : finding.by_pid_count == 1 ? finding.by_pid
                                                    : NULL;
    if (found)
        strbuf_add_string(path, found);
    else
        top_find_say_why_not(&finding, why);
    free(finding.of_pid);
    free(finding.by_pid);
    return found ? 0 : -ESRCH;
}
