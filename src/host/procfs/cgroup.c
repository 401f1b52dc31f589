/* Finds a process's control group and reads its memory figures (cgroup.h). /proc/PID/cgroup gives
 * the group, mountinfo gives the directory where it is mounted. The tightest limit is found by
 * reading every directory from the group up to the mount. */
#include "procfs/cgroup.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procfs/proc_file.h"

#define MAX_TEXT_BYTES  (1u << 16)
#define MAX_MOUNT_BYTES (16u << 20) /* a machine of many containers has megabytes of mounts */

/* ---- Where --------------------------------------------------------------------------------- */

/* Is `word` one of the words in `list`, which are separated by commas? */
static bool cgroup_has_word(const char *list, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    for (const char *end = list + length; list < end;) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t part = (size_t)((comma ? comma : end) - list);
        if (part == word_length && memcmp(list, word, part) == 0)
            return true;
        list += part + 1;
    }
    return false;
}

static bool cgroup_copy(char to[PATH_MAX], const char *from, size_t length)
{
    if (length >= PATH_MAX)
        return false;
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

/* "4:memory,cpu:/path" (version 1), "0::/path" (version 2). The one with the controller wins, since
 * in a hybrid the second is there as well, without controllers. False if there is none. */
static bool cgroup_find_group(const char *text, const char *controller, int *version,
                              char path[PATH_MAX])
{
    *version = 0;
    for (const char *line = text; *line && *version != 1;) {
        size_t length = strcspn(line, "\n");
        const char *list = memchr(line, ':', length);
        const char *group = list ? memchr(list + 1, ':', length - (size_t)(list + 1 - line)) : NULL;
        bool whole = line[length] == '\n' && group && group[1] == '/';
        if (whole && cgroup_has_word(list + 1, (size_t)(group - list - 1), controller))
            *version = 1;
        if (whole && (*version == 1 || strncmp(line, "0::", 3) == 0)) {
            *version = *version ? *version : 2;
            if (!cgroup_copy(path, group + 1, length - (size_t)(group + 1 - line)))
                return false;
        }
        line += length + (line[length] == '\n');
    }
    return *version != 0;
}

/* Blanks and backslashes in mountinfo are written in octal. */
static void cgroup_decode_octal(char *text)
{
    char *to = text;
    for (; *text; text++) {
        bool octal = text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
                     text[2] <= '7' && text[3] >= '0' && text[3] <= '7';
        *to++ = octal ? (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0') : *text;
        text += octal ? 3 : 0;
    }
    *to = '\0';
}

/* "31 23 0:28 ROOT MOUNT OPTIONS [more…] - TYPE SOURCE SUPER": the words that are used, decoded. */
struct mount {
    char root[PATH_MAX], point[PATH_MAX];
    char type[32], super[512];
};

static bool cgroup_mount_parse(const char *line, size_t length, struct mount *mount)
{
    char text[2 * PATH_MAX + 1024]; /* a longer one is none of control groups */
    if (length >= sizeof text)
        return false;
    memcpy(text, line, length);
    text[length] = '\0';
    char *dash = strstr(text, " - ");
    if (!dash)
        return false;
    *dash = '\0';
    char *words[5], *at = text;
    for (size_t i = 0; i < 5; i++) {
        words[i] = at;
        if (!(at = strchr(at, ' ')))
            return false;
        *at++ = '\0';
    }
    cgroup_decode_octal(words[3]);
    cgroup_decode_octal(words[4]);
    return cgroup_copy(mount->root, words[3], strlen(words[3])) &&
           cgroup_copy(mount->point, words[4], strlen(words[4])) &&
           sscanf(dash + 3, "%31s %*s %511s", mount->type, mount->super) == 2;
}

static bool cgroup_is_wanted(const struct mount *mount, int version, const char *controller)
{
    if (version == 2)
        return strcmp(mount->type, "cgroup2") == 0;
    return strcmp(mount->type, "cgroup") == 0 &&
           cgroup_has_word(mount->super, strlen(mount->super), controller);
}

/* Where `group` lies below a mount whose top is `root`: "/a/b" below "/a" is "/b". False if it lies
 * elsewhere: the group of a process outside our namespace begins with "/..". */
static bool cgroup_place_below(const struct mount *mount, const char *group,
                               struct cgroup_place *place)
{
    size_t root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    if (strncmp(group, "/..", 3) == 0 && (!group[3] || group[3] == '/'))
        return false;
    if (strncmp(mount->root, group, root) != 0 || (group[root] && group[root] != '/'))
        return false;
    const char *rest = strcmp(group + root, "/") == 0 ? "" : group + root;
    return cgroup_copy(place->path, rest, strlen(rest)) &&
           cgroup_copy(place->mount, mount->point, strlen(mount->point));
}

int cgroup_locate_in(const char *cgroup, const char *mountinfo, const char *controller,
                     struct cgroup_place *place)
{
    char group[PATH_MAX];
    if (!cgroup_find_group(cgroup, controller, &place->version, group))
        return -ENOENT;
    for (const char *line = mountinfo; *line;) {
        struct mount mount;
        size_t length = strcspn(line, "\n");
        if (cgroup_mount_parse(line, length, &mount) &&
            cgroup_is_wanted(&mount, place->version, controller) &&
            cgroup_place_below(&mount, group, place))
            return 0;
        line += length + (line[length] == '\n');
    }
    return -ENOENT;
}

int cgroup_locate_for(pid_t pid, const char *controller, struct cgroup_place *place)
{
    struct strbuf cgroup = STRBUF_INIT, mountinfo = STRBUF_INIT;
    int error = proc_read(pid, "cgroup", MAX_TEXT_BYTES, &cgroup);
    if (!error)
        error = proc_read_list_at("/proc/self/mountinfo", MAX_MOUNT_BYTES, &mountinfo);
    if (!error)
        error = cgroup_locate_in(cgroup.data, mountinfo.data, controller, place);
    strbuf_release(&mountinfo);
    strbuf_release(&cgroup);
    return error;
}

int cgroup_locate(pid_t pid, struct cgroup_place *place)
{
    return cgroup_locate_for(pid, "memory", place);
}

/* ---- What ---------------------------------------------------------------------------------- */

static bool cgroup_read_file(const struct cgroup_place *place, const char *path, const char *file,
                             struct strbuf *text)
{
    struct strbuf name = STRBUF_INIT;
    strbuf_addf(&name, "%s%s/%s", place->mount, path, file);
    strbuf_reset(text);
    bool got = proc_read_at(name.data, MAX_TEXT_BYTES, text) == 0;
    strbuf_release(&name);
    return got;
}

/* Version 1 says "no limit" as the largest number of whole pages that a long counts. */
static struct figure cgroup_unlimited_or(int version, uint64_t value)
{
    const uint64_t largest = (uint64_t)INT64_MAX - (1u << 20);
    return version == 1 && value >= largest ? CGROUP_UNLIMITED : figure_of(value);
}

struct figure cgroup_read_number(const struct cgroup_place *place, const char *path,
                                 const char *file)
{
    struct strbuf text = STRBUF_INIT;
    struct figure value = FIGURE_UNKNOWN;
    uint64_t number;
    const char *end;
    if (file && cgroup_read_file(place, path, file, &text)) {
        if (strcmp(text.data, "max\n") == 0)
            value = CGROUP_UNLIMITED;
        else if (proc_number(text.data, &number, &end) && *end == '\n')
            value = cgroup_unlimited_or(place->version, number);
    }
    strbuf_release(&text);
    return value;
}

/* The names of the same things in both versions; NULL: not there. */
static const struct files {
    const char *current, *peak, *swap, *swap_max, *max, *high, *events;
} files_of[] = {
    /* version 1 counts swap together with memory only (memsw) */
    [1] = {"memory.usage_in_bytes", "memory.max_usage_in_bytes", NULL, NULL,
           "memory.limit_in_bytes", NULL, "memory.oom_control"},
    [2] = {"memory.current", "memory.peak", "memory.swap.current", "memory.swap.max", "memory.max",
           "memory.high", "memory.events"},
};

static struct figure cgroup_value_or_unknown(const char *text, const char *key)
{
    uint64_t value;
    return proc_value(text, key, &value) ? figure_of(value) : FIGURE_UNKNOWN;
}

static void cgroup_read_events(const struct cgroup_place *place, struct cgroup_memory *memory)
{
    struct strbuf text = STRBUF_INIT;
    if (!cgroup_read_file(place, place->path, files_of[place->version].events, &text))
        strbuf_reset(&text);
    memory->high_events = cgroup_value_or_unknown(text.data, "high");
    memory->max_events = place->version == 1
                             ? cgroup_read_number(place, place->path, "memory.failcnt")
                             : cgroup_value_or_unknown(text.data, "max");
    memory->oom_events = cgroup_value_or_unknown(text.data, "oom");
    memory->oom_kill_events = cgroup_value_or_unknown(text.data, "oom_kill");
    strbuf_release(&text);
}

static void cgroup_read_pressure(const struct cgroup_place *place, struct cgroup_pressure *pressure)
{
    struct strbuf text = STRBUF_INIT;
    if (place->version != 2 || !cgroup_read_file(place, place->path, "memory.pressure", &text))
        strbuf_reset(&text);
    cgroup_parse_pressure(text.data, pressure);
    strbuf_release(&text);
}

/* In version 1 limits above apply only where use_hierarchy is set, which is everywhere by now. */
static void cgroup_read_limits(const struct cgroup_place *place, struct cgroup_memory *memory)
{
    const struct files *files = &files_of[place->version];
    char path[PATH_MAX];
    cgroup_copy(path, place->path, strlen(place->path));
    memory->limit_bytes = memory->tightest_high_bytes = FIGURE_UNKNOWN;
    for (;;) {
        struct figure max = cgroup_read_number(place, path, files->max);
        struct figure high = cgroup_read_number(place, path, files->high);
        struct figure tightest = figure_min(memory->limit_bytes, max);
        if (!figure_equal(tightest, memory->limit_bytes))
            cgroup_copy(memory->limit_path, path, cgroup_is_limited(max) ? strlen(path) : 0);
        memory->limit_bytes = tightest;
        memory->tightest_high_bytes = figure_min(memory->tightest_high_bytes, high);
        char *slash = strrchr(path, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
    memory->limit_current_bytes =
        cgroup_is_limited(memory->limit_bytes)
            ? cgroup_read_number(place, memory->limit_path, files->current)
            : FIGURE_UNKNOWN;
}

int cgroup_read_place(const struct cgroup_place *place, struct cgroup_memory *memory)
{
    if (place->version != 1 && place->version != 2)
        return -EINVAL;
    const struct files *files = &files_of[place->version];
    *memory = (struct cgroup_memory){
        .place = *place,
        .current_bytes = cgroup_read_number(place, place->path, files->current),
        .peak_bytes = cgroup_read_number(place, place->path, files->peak),
        .swap_bytes = cgroup_read_number(place, place->path, files->swap),
        .swap_max_bytes = cgroup_read_number(place, place->path, files->swap_max),
        .max_bytes = cgroup_read_number(place, place->path, files->max),
        .high_bytes = cgroup_read_number(place, place->path, files->high),
    };
    cgroup_read_limits(place, memory);
    cgroup_read_events(place, memory);
    cgroup_read_pressure(place, &memory->pressure);
    return 0;
}

const char *cgroup_limit_file(const struct cgroup_place *place)
{
    return files_of[place->version].max;
}

/* Bytes of file pages without shared memory. */
static struct figure cgroup_read_reclaimable(const struct cgroup_place *place, const char *path)
{
    struct strbuf text = STRBUF_INIT;
    if (!cgroup_read_file(place, path, "memory.stat", &text))
        strbuf_reset(&text);
    bool first = place->version == 1;
    struct figure files = cgroup_value_or_unknown(text.data, first ? "total_cache" : "file");
    struct figure shared = cgroup_value_or_unknown(text.data, first ? "total_shmem" : "shmem");
    strbuf_release(&text);
    return figure_less(files, shared) ? FIGURE_UNKNOWN : figure_sub(files, shared);
}

struct figure cgroup_left_bytes(const struct cgroup_place *place, const char *path)
{
    struct figure limit = cgroup_read_number(place, path, cgroup_limit_file(place));
    struct figure used = cgroup_read_number(place, path, files_of[place->version].current);
    if (!cgroup_is_limited(limit) || !figure_known(used))
        return FIGURE_UNKNOWN;
    uint64_t files = figure_or(cgroup_read_reclaimable(place, path), 0);
    uint64_t kept = figure_or(used, 0) > files ? figure_or(used, 0) - files : 0;
    return figure_of(figure_or(limit, 0) > kept ? figure_or(limit, 0) - kept : 0);
}

int cgroup_read(pid_t pid, struct cgroup_memory *memory)
{
    struct cgroup_place place;
    int error = cgroup_locate(pid, &place);
    return error ? error : cgroup_read_place(&place, memory);
}

/* ---- Pressure, the machine ----------------------------------------------------------------- */

static const char *cgroup_line_of(const char *text, const char *first_word)
{
    size_t length = strlen(first_word);
    for (; text; text = strchr(text, '\n')) {
        text += *text == '\n';
        if (strncmp(text, first_word, length) == 0 && text[length] == ' ')
            return text;
    }
    return NULL;
}

/* " avg10=0.25" in a line; NAN if it is not there, whole, and a percentage. The decimal point is
 * the kernel's, not the locale's: read as two whole numbers. */
static double cgroup_average(const char *line, const char *key)
{
    const char *end = line ? line + strcspn(line, "\n") : NULL;
    const char *at = line ? strstr(line, key) : NULL;
    uint64_t whole, hundredths;
    if (!at || at >= end || !proc_number(at + strlen(key), &whole, &at) || *at != '.')
        return NAN;
    const char *digits = at + 1;
    if (!proc_number(digits, &hundredths, &at) || at - digits != 2 || *at != ' ' || whole > 100)
        return NAN;
    return (double)whole + (double)hundredths / 100;
}

static struct figure cgroup_total(const char *line)
{
    uint64_t value;
    const char *end = line ? line + strcspn(line, "\n") : NULL;
    const char *at = line ? strstr(line, " total=") : NULL;
    if (!at || at >= end || !proc_number(at + 7, &value, &at) || *at != '\n')
        return FIGURE_UNKNOWN;
    return figure_of(value);
}

void cgroup_parse_pressure(const char *text, struct cgroup_pressure *pressure)
{
    const char *some = cgroup_line_of(text, "some"), *full = cgroup_line_of(text, "full");
    *pressure = (struct cgroup_pressure){
        .some_avg10 = cgroup_average(some, " avg10="),
        .some_avg60 = cgroup_average(some, " avg60="),
        .some_avg300 = cgroup_average(some, " avg300="),
        .full_avg10 = cgroup_average(full, " avg10="),
        .full_avg60 = cgroup_average(full, " avg60="),
        .full_avg300 = cgroup_average(full, " avg300="),
        .some_total_us = cgroup_total(some),
        .full_total_us = cgroup_total(full),
    };
}

void cgroup_parse_meminfo(const char *text, struct cgroup_machine *machine)
{
    machine->total_bytes = cgroup_value_or_unknown(text, "MemTotal");
    machine->available_bytes = cgroup_value_or_unknown(text, "MemAvailable");
    machine->free_bytes = cgroup_value_or_unknown(text, "MemFree");
    machine->cached_bytes = cgroup_value_or_unknown(text, "Cached");
    machine->swap_total_bytes = cgroup_value_or_unknown(text, "SwapTotal");
    machine->swap_free_bytes = cgroup_value_or_unknown(text, "SwapFree");
}

int cgroup_machine_read(struct cgroup_machine *machine)
{
    struct strbuf text = STRBUF_INIT;
    int error = proc_read_at("/proc/meminfo", MAX_TEXT_BYTES, &text);
    cgroup_parse_meminfo(text.data, machine);
    strbuf_reset(&text);
    if (proc_read_at("/proc/pressure/memory", MAX_TEXT_BYTES, &text) != 0)
        strbuf_reset(&text);
    cgroup_parse_pressure(text.data, &machine->pressure);
    strbuf_release(&text);
    return error;
}
