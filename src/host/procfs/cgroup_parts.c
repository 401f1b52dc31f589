/* Takes a control group's memory apart (cgroup_parts.h). First the sums of memory.stat, then the
 * processes and their files, which get names for parts of these sums. */
#include "procfs/cgroup_parts.h"

#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/now.h"
#include "base/regular.h"
#include "procfs/proc_file.h"
#include "procfs/process.h"
#include "procfs/smaps.h"

#define MAX_TEXT_BYTES (1u << 20)

/* Bounds of a reading: a group may have thousands of processes, and these thousands of files. */
enum { MAX_PROCESSES = 256, MAX_FILED_PROCESSES = 32, MAX_FILES = 2048 };

/* The most names of a kind, and the least bytes of a file with a name. */
enum { MAX_NAMED = 32, NAMED_BYTES = 256 << 10 };

/* mincore needs a mapping of the file. Larger files are not mapped. */
#define MINCORE_BYTES (64ull << 30)

/* The processes' sum may exceed the group's by this part without meaning shared pages: the kernel
 * counts in batches, and processes come and go meanwhile. */
enum { SHARED_PART = 20 };

/* How old a shared reading may be: RECENT_NS, or RECENT_TIMES the time that it took. */
#define RECENT_NS    200000000u
#define RECENT_TIMES 20

/* ---- Parts --------------------------------------------------------------------------------- */

static void cgroup_parts_add(struct cgroup_parts *parts, enum cgroup_part_kind kind,
                             const char *name, uint64_t bytes)
{
    if (!bytes ||
        !array_make_room(&parts->list, &parts->capacity, parts->count, sizeof *parts->list))
        return;
    parts->list[parts->count++] =
        (struct cgroup_part){.kind = kind, .name = name ? strdup(name) : NULL, .bytes = bytes};
}

static uint64_t cgroup_parts_sum(const struct cgroup_parts *parts, int kind)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < parts->count; i++)
        if (kind < 0 || (int)parts->list[i].kind == kind)
            sum += parts->list[i].bytes;
    return sum;
}

static int cgroup_parts_compare(const void *left, const void *right)
{
    const struct cgroup_part *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (!a->name != !b->name)
        return a->name ? -1 : 1;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

static void cgroup_parts_sort(struct cgroup_parts *parts)
{
    if (parts->count)
        qsort(parts->list, parts->count, sizeof *parts->list, cgroup_parts_compare);
}

/* Keeps the parts with the largest names, up to the kernel's sum of the kind. The rest of that sum
 * becomes a part without a name. */
static void cgroup_parts_settle(struct cgroup_parts *parts, enum cgroup_part_kind kind,
                                uint64_t whole)
{
    size_t kept = 0, named = 0;
    uint64_t given = 0;
    cgroup_parts_sort(parts);
    for (size_t i = 0; i < parts->count; i++) {
        struct cgroup_part part = parts->list[i];
        if (part.kind == kind) {
            part.bytes = part.bytes < whole - given ? part.bytes : whole - given;
            if (part.bytes < (kind == CGROUP_PROCESS ? 1 : NAMED_BYTES) || named++ >= MAX_NAMED) {
                free(part.name);
                continue;
            }
            given += part.bytes;
        }
        parts->list[kept++] = part;
    }
    parts->count = kept;
    cgroup_parts_add(parts, kind, NULL, whole - given);
}

void cgroup_parts_release(struct cgroup_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        free(parts->list[i].name);
    free(parts->list);
    *parts = CGROUP_PARTS_INIT;
}

/* ---- Files --------------------------------------------------------------------------------- */

struct cachestat_range {
    uint64_t start, length;
};
struct cachestat {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
};
#ifndef SYS_cachestat
#define SYS_cachestat 451 /* on all machines */
#endif

/* To users other than the file's owner, mincore reports all pages as present. */
static bool cgroup_parts_may_mincore(int fd)
{
    struct stat status;
    return geteuid() == 0 || (fstat(fd, &status) == 0 && status.st_uid == geteuid());
}

static bool cgroup_parts_mincore(int fd, uint64_t size_bytes, uint64_t *bytes)
{
    size_t page = process_page_bytes(), count = (size_t)((size_bytes + page - 1) / page);
    if (!count || size_bytes > MINCORE_BYTES || !cgroup_parts_may_mincore(fd))
        return false;
    unsigned char *pages = malloc(count);
    void *memory = mmap(NULL, (size_t)size_bytes, PROT_READ, MAP_SHARED, fd, 0);
    bool is_known =
        pages && memory != MAP_FAILED && mincore(memory, (size_t)size_bytes, pages) == 0;
    *bytes = 0;
    for (size_t i = 0; is_known && i < count; i++)
        *bytes += pages[i] & 1 ? page : 0;
    if (memory != MAP_FAILED)
        munmap(memory, (size_t)size_bytes);
    free(pages);
    return is_known;
}

bool cgroup_parts_cached(int fd, uint64_t size_bytes, uint64_t *bytes)
{
    struct cachestat_range all = {0, 0};
    struct cachestat stat;
    if (syscall(SYS_cachestat, fd, &all, &stat, 0) == 0) {
        *bytes = stat.cached * process_page_bytes();
        return true;
    }
    return cgroup_parts_mincore(fd, size_bytes, bytes);
}

/* The files found so far, so that no file counts twice. */
struct filing {
    struct cgroup_parts *parts;
    struct {
        dev_t device;
        ino_t inode;
    } seen[MAX_FILES];
    size_t count;
    /* Hashes of device, inode and path in maps, of files that were found; 0: none. A program maps a
     * file in five pieces, and all processes have the same libraries. */
    uint64_t mapped[2 * MAX_FILES];
};

/* The place that has the hash, or where it may be put. */
static uint64_t *cgroup_parts_mapped_place(struct filing *filing, uint64_t hash)
{
    enum { PLACES = sizeof filing->mapped / sizeof *filing->mapped, PROBES = 8 };
    uint64_t *place = NULL;
    for (unsigned i = 0; i < PROBES && (!place || (*place && *place != hash)); i++)
        place = &filing->mapped[(hash + i) % PLACES];
    return place;
}

static bool cgroup_parts_is_new(struct filing *filing, const struct stat *status)
{
    for (size_t i = 0; i < filing->count; i++)
        if (filing->seen[i].inode == status->st_ino && filing->seen[i].device == status->st_dev)
            return false;
    if (filing->count == MAX_FILES)
        return false;
    filing->seen[filing->count].device = status->st_dev;
    filing->seen[filing->count++].inode = status->st_ino;
    return true;
}

/* False for a file system of another machine or of a program, which could block us. */
static bool cgroup_parts_is_local(const struct statfs *system)
{
    enum { FUSE_MAGIC = 0x65735546, CIFS_MAGIC = (int)0xFF534D42, SMB2_MAGIC = (int)0xFE534D42 };
    const long type = (long)system->f_type;
    return type != FUSE_MAGIC && type != NFS_SUPER_MAGIC && (int)type != CIFS_MAGIC &&
           (int)type != SMB2_MAGIC && type != PROC_SUPER_MAGIC && type != SYSFS_MAGIC;
}

static bool cgroup_parts_is_memory(const struct statfs *system)
{
    return system->f_type == TMPFS_MAGIC || (unsigned long)system->f_type == HUGETLBFS_MAGIC;
}

/* `path` may be a link of /proc to the file. Only regular files are opened, and a file with a lease
 * is left out instead of waited for. False: it is no such file. */
static bool cgroup_parts_add_file(struct filing *filing, const char *path, const char *name)
{
    struct stat status;
    struct statfs system;
    uint64_t bytes;
    if (statfs(path, &system) < 0 || !cgroup_parts_is_local(&system) || stat(path, &status) < 0 ||
        !S_ISREG(status.st_mode))
        return false;
    if (!cgroup_parts_is_new(filing, &status))
        return true;
    int fd = regular_file_open(path, &status);
    if (fd < 0)
        return true;
    if (cgroup_parts_cached(fd, (uint64_t)status.st_size, &bytes))
        cgroup_parts_add(filing->parts,
                         cgroup_parts_is_memory(&system) ? CGROUP_TMPFS : CGROUP_PAGE_CACHE, name,
                         bytes);
    close(fd);
    return true;
}

static void cgroup_parts_add_open_files(struct filing *filing, pid_t pid)
{
    char directory[32], path[48 + NAME_MAX], name[PATH_MAX];
    snprintf(directory, sizeof directory, "/proc/%d/fd", (int)pid);
    DIR *files = opendir(directory);
    for (struct dirent *entry; files && (entry = readdir(files));) {
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        ssize_t length = readlink(path, name, sizeof name - 1);
        if (length <= 0 || name[0] != '/')
            continue; /* "pipe:[…]", "socket:[…]", "anon_inode:…" */
        name[length] = '\0';
        cgroup_parts_add_file(filing, path, name);
    }
    if (files)
        closedir(files);
}

/* "START-END PERMISSIONS OFFSET DEVICE INODE  PATH"; `name` is the path. */
static void cgroup_parts_add_mapped_file(struct filing *filing, pid_t pid, const char *line,
                                         const char *name)
{
    char path[PATH_MAX + 32];
    const char *device = line;
    for (unsigned i = 0; i < 3 && device; i++)
        device = (device = strchr(device, ' ')) ? device + 1 : NULL;
    uint64_t hash = device ? hash_bytes(device, strlen(device)) | 1 : 0;
    uint64_t *place = cgroup_parts_mapped_place(filing, hash);
    if (hash && *place == hash)
        return;
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, name);
    if (cgroup_parts_add_file(filing, path, name) && hash)
        *place = hash;
}

static void cgroup_parts_add_mapped_files(struct filing *filing, pid_t pid)
{
    struct proc_lines lines = {0};
    int fd = proc_open(pid, "maps");
    if (fd < 0)
        return;
    proc_lines_start(&lines, fd);
    for (char *line; (line = proc_lines_next(&lines));) {
        const char *name = strchr(line, '/');
        if (!name || strncmp(name, "/dev/", 5) == 0 || strncmp(name, "/memfd:", 7) == 0)
            continue;
        cgroup_parts_add_mapped_file(filing, pid, line, name);
    }
    proc_lines_release(&lines);
    close(fd);
}

/* ---- Processes ----------------------------------------------------------------------------- */

struct census {
    struct cgroup_parts *parts;
    struct filing filing;
    size_t processes;
    uint64_t page_table_bytes;
    bool has_all; /* all processes were read */
    struct {
        pid_t pid;
        size_t part; /* of `parts` */
    } named[MAX_PROCESSES];
    size_t named_count;
};

/* Pages that are shared with a fork count in full here, because that sum is in /proc/PID/status at
 * no cost. */
static void cgroup_parts_name_process(struct census *census, pid_t pid, const char *status,
                                      const char *label)
{
    struct cgroup_parts *parts = census->parts;
    uint64_t bytes = 0;
    proc_value(status, "RssAnon", &bytes);
    cgroup_parts_add(parts, CGROUP_PROCESS, label, bytes);
    if (!parts->count || !bytes || parts->list[parts->count - 1].kind != CGROUP_PROCESS)
        return;
    census->named[census->named_count].pid = pid;
    census->named[census->named_count++].part = parts->count - 1;
}

static void cgroup_parts_add_process(struct census *census, pid_t pid)
{
    struct strbuf status = STRBUF_INIT;
    char name[16], label[48];
    uint64_t tables = 0;
    if (++census->processes > MAX_PROCESSES) {
        census->has_all = false;
        return;
    }
    if (proc_read(pid, "status", MAX_TEXT_BYTES, &status) == 0 &&
        process_thread_name(pid, pid, name) == 0) {
        proc_value(status.data, "VmPTE", &tables);
        census->page_table_bytes += tables;
        snprintf(label, sizeof label, "%s (%d)", name, (int)pid);
        cgroup_parts_name_process(census, pid, status.data, label);
        if (census->processes <= MAX_FILED_PROCESSES) {
            cgroup_parts_add_open_files(&census->filing, pid);
            cgroup_parts_add_mapped_files(&census->filing, pid);
        }
    }
    strbuf_release(&status);
}

/* Pages that processes share since a fork are divided among them. The kernel walks all pages for
 * that, so it is asked only where the processes together have clearly more than the group. */
static void cgroup_parts_divide_shared(struct census *census, uint64_t anonymous)
{
    struct smaps_bytes bytes;
    uint64_t value;
    if (cgroup_parts_sum(census->parts, CGROUP_PROCESS) <= anonymous + anonymous / SHARED_PART)
        return;
    for (size_t i = 0; i < census->named_count; i++)
        if (smaps_rollup(census->named[i].pid, &bytes) == 0 &&
            figure_get(bytes.pss_anonymous, &value))
            census->parts->list[census->named[i].part].bytes = value;
}

static void cgroup_parts_visit_group(struct census *census, const char *directory)
{
    struct strbuf text = STRBUF_INIT, file = STRBUF_INIT;
    uint64_t pid;
    strbuf_addf(&file, "%s/cgroup.procs", directory);
    if (proc_read_at(file.data, MAX_TEXT_BYTES, &text) == 0)
        for (const char *at = text.data; proc_number(at, &pid, &at); at += *at == '\n')
            cgroup_parts_add_process(census, (pid_t)pid);
    strbuf_release(&file);
    strbuf_release(&text);
}

/* Visits the group and the groups below it. */
static void cgroup_parts_visit_tree(struct census *census, const char *directory, unsigned depth)
{
    enum { DEPTH = 8 };
    cgroup_parts_visit_group(census, directory);
    DIR *groups = depth < DEPTH && census->has_all ? opendir(directory) : NULL;
    for (struct dirent *entry; groups && (entry = readdir(groups));) {
        struct strbuf path = STRBUF_INIT;
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        strbuf_addf(&path, "%s/%s", directory, entry->d_name);
        cgroup_parts_visit_tree(census, path.data, depth + 1);
        strbuf_release(&path);
    }
    if (groups)
        closedir(groups);
}

/* ---- Sums ---------------------------------------------------------------------------------- */

/* The figures of memory.stat; 0 where it has none. */
struct cgroup_parts_sums {
    uint64_t anonymous, file, tmpfs, slab, page_tables, sockets, kernel;
};

static uint64_t cgroup_parts_value(const struct strbuf *text, const char *key)
{
    uint64_t value;
    return text->length && proc_value(text->data, key, &value) ? value : 0;
}

static bool cgroup_parts_read_file(const struct cgroup_place *place, const char *file,
                                   struct strbuf *text)
{
    struct strbuf path = STRBUF_INIT;
    strbuf_addf(&path, "%s%s/%s", place->mount, place->path, file);
    strbuf_reset(text);
    bool got = proc_read_at(path.data, MAX_TEXT_BYTES, text) == 0;
    if (!got)
        strbuf_reset(text);
    strbuf_release(&path);
    return got;
}

static struct figure cgroup_parts_number(const struct cgroup_place *place, const char *file)
{
    struct strbuf text = STRBUF_INIT;
    uint64_t number;
    const char *end;
    bool got = cgroup_parts_read_file(place, file, &text) && proc_number(text.data, &number, &end);
    strbuf_release(&text);
    return got ? figure_of(number) : FIGURE_UNKNOWN;
}

static struct cgroup_parts_sums cgroup_parts_sums_2(const struct strbuf *stat)
{
    struct cgroup_parts_sums sums = {
        .anonymous = cgroup_parts_value(stat, "anon"),
        .tmpfs = cgroup_parts_value(stat, "shmem"),
        .slab = cgroup_parts_value(stat, "slab"),
        .page_tables =
            cgroup_parts_value(stat, "pagetables") + cgroup_parts_value(stat, "sec_pagetables"),
        .sockets = cgroup_parts_value(stat, "sock"),
        .kernel = cgroup_parts_value(stat, "kernel"), /* Linux 5.18 */
    };
    uint64_t file = cgroup_parts_value(stat, "file");
    sums.file = file > sums.tmpfs ? file - sums.tmpfs : 0;
    if (!sums.kernel)
        sums.kernel = sums.slab + sums.page_tables + cgroup_parts_value(stat, "kernel_stack") +
                      cgroup_parts_value(stat, "percpu") + cgroup_parts_value(stat, "vmalloc");
    return sums;
}

/* Figures with "total" include the groups below. */
static struct cgroup_parts_sums cgroup_parts_sums_1(const struct strbuf *stat,
                                                    const struct cgroup_place *place)
{
    uint64_t cache = cgroup_parts_value(stat, "total_cache");
    uint64_t tmpfs = cgroup_parts_value(stat, "total_shmem");
    return (struct cgroup_parts_sums){
        .anonymous = cgroup_parts_value(stat, "total_rss"),
        .tmpfs = tmpfs,
        .file = cache > tmpfs ? cache - tmpfs : 0,
        .kernel = figure_or(cgroup_parts_number(place, "memory.kmem.usage_in_bytes"), 0),
    };
}

static uint64_t cgroup_parts_minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void cgroup_parts_add_kernel(struct cgroup_parts *parts,
                                    const struct cgroup_parts_sums *sums)
{
    cgroup_parts_add(parts, CGROUP_SLAB, NULL, sums->slab);
    cgroup_parts_add(parts, CGROUP_PAGE_TABLES, NULL, sums->page_tables);
    cgroup_parts_add(parts, CGROUP_SOCKETS, NULL, sums->sockets);
    cgroup_parts_add(parts, CGROUP_KERNEL_OTHER, NULL,
                     cgroup_parts_minus(sums->kernel, sums->slab + sums->page_tables));
    uint64_t current = figure_or(parts->current_bytes, 0);
    cgroup_parts_add(parts, CGROUP_OTHER, NULL,
                     cgroup_parts_minus(current, cgroup_parts_sum(parts, -1)));
}

/* ---- All of it ----------------------------------------------------------------------------- */

static void cgroup_parts_name(struct cgroup_parts *parts, const struct cgroup_place *place,
                              struct cgroup_parts_sums *sums)
{
    struct census *census = calloc(1, sizeof *census);
    struct strbuf directory = STRBUF_INIT;
    if (census) {
        strbuf_addf(&directory, "%s%s", place->mount, place->path);
        census->parts = census->filing.parts = parts;
        census->has_all = true;
        cgroup_parts_visit_tree(census, directory.data, 0);
        cgroup_parts_divide_shared(census, sums->anonymous);
        if (place->version == 1)
            sums->page_tables =
                census->page_table_bytes < sums->kernel ? census->page_table_bytes : sums->kernel;
    }
    strbuf_release(&directory);
    free(census);
}

int cgroup_parts_read_place(struct cgroup_parts *parts, const struct cgroup_place *place)
{
    struct strbuf stat = STRBUF_INIT;
    cgroup_parts_release(parts);
    parts->current_bytes = cgroup_parts_number(place, place->version == 1 ? "memory.usage_in_bytes"
                                                                          : "memory.current");
    bool has_stat = cgroup_parts_read_file(place, "memory.stat", &stat);
    struct cgroup_parts_sums sums =
        place->version == 1 ? cgroup_parts_sums_1(&stat, place) : cgroup_parts_sums_2(&stat);
    strbuf_release(&stat);
    if (!has_stat || !figure_known(parts->current_bytes))
        return -ENOENT;
    cgroup_parts_name(parts, place, &sums);
    cgroup_parts_settle(parts, CGROUP_PROCESS, sums.anonymous);
    cgroup_parts_settle(parts, CGROUP_PAGE_CACHE, sums.file);
    cgroup_parts_settle(parts, CGROUP_TMPFS, sums.tmpfs);
    cgroup_parts_add_kernel(parts, &sums);
    cgroup_parts_sort(parts);
    return 0;
}

int cgroup_parts_read(struct cgroup_parts *parts, pid_t pid)
{
    struct cgroup_memory *memory = malloc(sizeof *memory); /* paths make it 12 KiB */
    int error = memory ? cgroup_read(pid, memory) : -ENOMEM;
    if (!error && cgroup_is_limited(memory->limit_bytes))
        memcpy(memory->place.path, memory->limit_path, sizeof memory->place.path);
    if (!error)
        error = cgroup_parts_read_place(parts, &memory->place);
    free(memory);
    return error;
}

/* ---- For many ------------------------------------------------------------------------------ */

static struct {
    pthread_mutex_t lock;
    struct strbuf group;       /* of the process that asked */
    uint64_t read_ns, cost_ns; /* when it began, and what it took */
    struct cgroup_parts parts;
    bool is_reading;
} cgroup_recent_parts = {.lock = PTHREAD_MUTEX_INITIALIZER, .group = STRBUF_INIT};

static void cgroup_parts_copy(struct cgroup_parts *to, const struct cgroup_parts *from)
{
    cgroup_parts_release(to);
    to->current_bytes = from->current_bytes;
    for (size_t i = 0; i < from->count; i++)
        cgroup_parts_add(to, from->list[i].kind, from->list[i].name, from->list[i].bytes);
}

static bool cgroup_parts_is_recent(const struct strbuf *group, uint64_t now_ns)
{
    uint64_t most_ns = RECENT_TIMES * cgroup_recent_parts.cost_ns;
    most_ns = most_ns > RECENT_NS ? most_ns : RECENT_NS;
    return cgroup_recent_parts.read_ns &&
           strcmp(cgroup_recent_parts.group.data, group->data) == 0 &&
           (cgroup_recent_parts.is_reading || now_ns - cgroup_recent_parts.read_ns < most_ns);
}

/* Moves the parts into the shared reading. */
static void cgroup_parts_keep(struct cgroup_parts *parts, const struct strbuf *group,
                              uint64_t read_ns)
{
    cgroup_parts_release(&cgroup_recent_parts.parts);
    cgroup_recent_parts.parts = *parts;
    *parts = CGROUP_PARTS_INIT;
    strbuf_reset(&cgroup_recent_parts.group);
    strbuf_add(&cgroup_recent_parts.group, group->data, group->length);
    cgroup_recent_parts.read_ns = read_ns;
    cgroup_recent_parts.cost_ns = now_monotonic_ns() - read_ns;
}

/* With the lock, which is let go while hundreds of files are read: a thread that comes meanwhile
 * takes the last reading of its group, or makes one of its own if there is none. */
static int cgroup_parts_recent_locked(struct cgroup_parts *parts, pid_t pid,
                                      const struct strbuf *group)
{
    uint64_t now_ns = now_monotonic_ns();
    int error = 0;
    if (!cgroup_parts_is_recent(group, now_ns)) {
        struct cgroup_parts read = CGROUP_PARTS_INIT;
        cgroup_recent_parts.is_reading = true;
        pthread_mutex_unlock(&cgroup_recent_parts.lock);
        error = cgroup_parts_read(&read, pid);
        pthread_mutex_lock(&cgroup_recent_parts.lock);
        cgroup_recent_parts.is_reading = false;
        if (!error)
            cgroup_parts_keep(&read, group, now_ns);
        cgroup_parts_release(&read);
    }
    if (!error)
        cgroup_parts_copy(parts, &cgroup_recent_parts.parts);
    return error;
}

int cgroup_parts_recent(struct cgroup_parts *parts, pid_t pid)
{
    struct strbuf group = STRBUF_INIT;
    int error = proc_read(pid, "cgroup", MAX_TEXT_BYTES, &group);
    if (!error) {
        pthread_mutex_lock(&cgroup_recent_parts.lock);
        error = cgroup_parts_recent_locked(parts, pid, &group);
        pthread_mutex_unlock(&cgroup_recent_parts.lock);
    }
    strbuf_release(&group);
    return error;
}
