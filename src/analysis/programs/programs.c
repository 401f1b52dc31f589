/* Adds up the processes of a session by program (programs.h). All processes are gathered first,
 * then sorted by name and added up, and then both lists are sorted as asked. */
#include "programs/programs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "aggregate/facts.h"
#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "format/names.h"
#include "profile/profile.h"
#include "session/session_file.h"

struct programs_gathering {
    struct programs *programs;
    size_t process_room, unread_room;
};

static char *programs_copy(const char *text)
{
    return text ? memory_need(strdup(text)) : NULL;
}

static bool programs_ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    return length > end && !strcmp(name + length - end, suffix);
}

static bool programs_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool programs_is(const char *path)
{
    return programs_is_directory(path) || session_is_file(path);
}

static struct programs_process *programs_add(struct programs_gathering *gathering)
{
    struct programs *programs = gathering->programs;
    array_need_room(&programs->processes, &gathering->process_room, programs->process_count,
                    sizeof *programs->processes);
    return &programs->processes[programs->process_count++];
}

static void programs_add_unread(struct programs_gathering *gathering, const char *path,
                                const char *why)
{
    struct programs *programs = gathering->programs;
    array_need_room(&programs->unread, &gathering->unread_room, programs->unread_count,
                    sizeof *programs->unread);
    programs->unread[programs->unread_count++] =
        (struct programs_unread){programs_copy(path), programs_copy(why)};
}

/* ---- Profiles with a file of their own ----------------------------------------------------- */

static const char *programs_name_of(const struct profile *profile)
{
    const char *name = profile_get(profile, PROFILE_META_PROGRAM);
    return name ? name : "?";
}

static void programs_take_profile(struct programs_process *process, const char *path,
                                  const struct profile *profile)
{
    const struct call_metrics *total = &profile->program.total;
    *process = (struct programs_process){
        .profile = programs_copy(path),
        .program = programs_copy(name_base(programs_name_of(profile))),
        .command = programs_copy(profile_get(profile, PROFILE_META_COMMAND)),
        .pid = facts_number(profile, PROFILE_META_PID),
        .parent = facts_number(profile, PROFILE_META_PARENT_PID),
        .start_unix_ns = facts_number(profile, PROFILE_META_START),
        .duration_ns = facts_figure(profile, PROFILE_META_DURATION),
        .peak_bytes = total->peak_bytes,
        .resident_peak_bytes = facts_resident_peak(profile),
        .alloc_count = total->alloc_count,
        .alloc_bytes = total->alloc_bytes,
        .end = programs_copy(profile_get(profile, PROFILE_META_END)),
        .end_status = facts_figure(profile, PROFILE_META_END_STATUS),
        .lossy = profile->program.lost_events || profile->program.late_events,
        .being_written = profile->being_written,
        .cut_short = !profile->complete && !profile->being_written,
    };
}

static void programs_add_nothing(struct programs_gathering *gathering, const char *path,
                                 const struct profile *profile)
{
    struct strbuf why = STRBUF_INIT;
    strbuf_addf(&why, "%s: %s", path,
                profile->being_written ? "its recording has just begun"
                                       : "it ended before anything was saved");
    programs_add_unread(gathering, path, why.data);
    strbuf_release(&why);
}

static void programs_read_profile(struct programs_gathering *gathering, const char *path)
{
    struct profile *profile;
    if (profile_read_totals(&profile, path)) {
        programs_add_unread(gathering, path, error_text());
        return;
    }
    if (facts_is_snapshot(profile))
        gathering->programs->snapshots++;
    else if (profile_is_job(profile) || profile_get(profile, PROFILE_META_WINDOW_FROM) ||
             programs_ends_with(path, ".replay.tmk"))
        gathering->programs->derived++;
    else if (!profile->has_program)
        programs_add_nothing(gathering, path, profile);
    else
        programs_take_profile(programs_add(gathering), path, profile);
    profile_free(profile);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

struct programs_image {
    pid_t pid;
    uint64_t start_unix_ns;
    size_t entry;
};

static int programs_compare_images(const void *left, const void *right)
{
    const struct programs_image *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    int order = (a->start_unix_ns > b->start_unix_ns) - (a->start_unix_ns < b->start_unix_ns);
    return order ? order : (a->entry > b->entry) - (a->entry < b->entry);
}

/* Of each entry which image of its process it is, from 1; 0: the last, which needs no number. */
static uint32_t *programs_number_images(const struct session *session)
{
    struct programs_image *images = memory_need(calloc(session->count + 1, sizeof *images));
    uint32_t *numbers = memory_need(calloc(session->count + 1, sizeof *numbers));
    for (size_t i = 0; i < session->count; i++)
        images[i] = (struct programs_image){session->entries[i].row.pid,
                                            session->entries[i].row.start_unix_ns, i};
    qsort(images, session->count, sizeof *images, programs_compare_images);
    for (size_t i = 0, first = 0; i < session->count; i++) {
        if (images[i].pid != images[first].pid)
            first = i;
        if (i + 1 < session->count && images[i + 1].pid == images[i].pid)
            numbers[images[i].entry] = (uint32_t)(i - first + 1);
    }
    free(images);
    return numbers;
}

static const char *programs_end_name(int end)
{
    static const char *const names[SESSION_ENDS] = {
        [SESSION_END_UNKNOWN] = "unknown",   [SESSION_END_EXIT] = "exit",
        [SESSION_END_SIGNAL] = "signal",     [SESSION_END_EXEC] = "exec",
        [SESSION_END_DETACHED] = "detached",
    };
    return names[end];
}

/* Rows of all other ends have 0 there. */
static struct figure programs_row_status(const struct session_row *row)
{
    bool has_status = row->end == SESSION_END_EXIT || row->end == SESSION_END_SIGNAL;
    return has_status ? figure_of((uint32_t)row->end_status) : FIGURE_UNKNOWN;
}

static void programs_take_row(struct programs_process *process, const char *path,
                              const struct session_row *row, uint32_t number)
{
    struct strbuf operand = STRBUF_INIT;
    strbuf_addf(&operand, "%s@%d", path, (int)row->pid);
    if (number)
        strbuf_addf(&operand, ".%u", number);
    *process = (struct programs_process){
        .profile = strbuf_detach(&operand),
        .program = programs_copy(name_base(*row->program ? row->program : "?")),
        .command = programs_copy(row->command),
        .pid = (uint64_t)row->pid,
        .parent = (uint64_t)row->parent,
        .start_unix_ns = row->start_unix_ns,
        .duration_ns = row->duration_ns,
        .peak_bytes = row->peak_bytes,
        .resident_peak_bytes = row->resident_bytes,
        .alloc_count = row->alloc_count,
        .alloc_bytes = row->alloc_bytes,
        .end = programs_copy(programs_end_name(row->end)),
        .end_status = programs_row_status(row),
        .is_row = true,
        .lossy = row->lossy,
    };
}

static void programs_note_damage(struct programs_gathering *gathering, const char *path,
                                 const struct session *session)
{
    struct strbuf why = STRBUF_INIT;
    if (!session->lost_bytes || (session->cut && session->being_written))
        return;
    strbuf_addf(&why,
                session->cut ? "%s is cut short: its last %llu bytes are no whole row"
                             : "%s is damaged: %llu of its bytes are no whole row",
                path, (unsigned long long)session->lost_bytes);
    programs_add_unread(gathering, path, why.data);
    strbuf_release(&why);
}

static int programs_read_session(struct programs_gathering *gathering, const char *path)
{
    struct session *session;
    int error = session_list(&session, path);
    if (error)
        return error;
    uint32_t *numbers = programs_number_images(session);
    for (size_t i = 0; i < session->count; i++)
        programs_take_row(programs_add(gathering), path, &session->entries[i].row, numbers[i]);
    gathering->programs->rows += session->count;
    programs_note_damage(gathering, path, session);
    free(numbers);
    session_free(session);
    return 0;
}

/* ---- A directory --------------------------------------------------------------------------- */

static int programs_is_listed(const struct dirent *item)
{
    return *item->d_name != '.' &&
           (programs_ends_with(item->d_name, ".tmk") || programs_ends_with(item->d_name, ".entry"));
}

/* A node's file in a job's directory. */
static bool programs_is_of_job(const char *path)
{
    struct session *session;
    if (session_list(&session, path))
        return false;
    bool is = session->count && session->entries[0].said;
    session_free(session);
    return is;
}

/* `tidemark record --job` writes an entry beside each profile, or both into a node's file. */
static int programs_read_item(struct programs_gathering *gathering, const char *directory,
                              const char *name)
{
    struct strbuf path = STRBUF_INIT;
    int error = 0;
    strbuf_addf(&path, "%s%s%s", strcmp(directory, ".") ? directory : "",
                strcmp(directory, ".") && !programs_ends_with(directory, "/") ? "/" : "", name);
    bool is_session = !programs_ends_with(name, ".entry") && session_is_file(path.data);
    if (programs_ends_with(name, ".entry") || (is_session && programs_is_of_job(path.data)))
        error = error_set(-EINVAL, "%s is the directory of a job: `tidemark job %s` shows it",
                          directory, directory);
    else if (!is_session)
        programs_read_profile(gathering, path.data);
    else if (programs_read_session(gathering, path.data))
        programs_add_unread(gathering, path.data, error_text());
    strbuf_release(&path);
    return error;
}

static int programs_read_directory(struct programs_gathering *gathering, const char *path)
{
    struct dirent **items;
    int error = 0, count = scandir(path, &items, programs_is_listed, alphasort);
    if (count < 0)
        return error_set(-errno, "cannot read the directory %s: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (!error)
            error = programs_read_item(gathering, path, items[i]->d_name);
        free(items[i]);
    }
    free(items);
    return error;
}

/* Written while the session was, or a little later: by processes that ended last. */
static bool programs_may_be_of_session(const struct programs *programs, DIR *directory,
                                       const char *name)
{
    enum { LATER_S = 60 };
    struct stat session, file;
    bool has_begun = false;
    if (stat(programs->path, &session) || fstatat(dirfd(directory), name, &file, 0))
        return true;
    for (size_t i = 0; i < programs->process_count && !has_begun; i++)
        has_begun =
            programs->processes[i].start_unix_ns / 1000000000 <= (uint64_t)file.st_mtim.tv_sec;
    return has_begun && file.st_mtim.tv_sec <= session.st_mtim.tv_sec + LATER_S;
}

/* Counts the profiles that may be of the same recording. Only their times can tell. */
static void programs_count_beside(struct programs *programs)
{
    const char *slash = strrchr(programs->path, '/');
    char *directory =
        slash ? memory_need(strndup(programs->path, (size_t)(slash - programs->path) + 1))
              : programs_copy(".");
    DIR *names = opendir(directory);
    for (struct dirent *name; names && (name = readdir(names));)
        programs->beside += programs_ends_with(name->d_name, ".tmk") &&
                            !programs_ends_with(name->d_name, SESSION_FILE_SUFFIX) &&
                            programs_may_be_of_session(programs, names, name->d_name);
    if (names)
        closedir(names);
    free(directory);
}

/* ---- Programs ------------------------------------------------------------------------------ */

static void programs_sum_add(struct programs_sum *sum, struct figure figure)
{
    sum->all = figure_add(sum->all, figure);
    if (!figure_known(figure))
        return;
    sum->known = sum->processes++ ? figure_add(sum->known, figure) : figure;
}

static void programs_count_process(struct programs_program *program,
                                   const struct programs_process *process, size_t index)
{
    bool failed =
        process->end && (!strcmp(process->end, "signal") ||
                         (!strcmp(process->end, "exit") && figure_positive(process->end_status)));
    if (!program->processes++ || figure_less(program->peak_bytes, process->peak_bytes) ||
        !figure_known(program->peak_bytes)) {
        program->largest = index;
        program->peak_bytes = process->peak_bytes;
    }
    program->failed += failed;
    program->lossy += process->lossy;
    program->resident_peak_bytes =
        figure_max(program->resident_peak_bytes, process->resident_peak_bytes);
    program->known_peaks += figure_known(process->peak_bytes);
    programs_sum_add(&program->alloc_count, process->alloc_count);
    programs_sum_add(&program->alloc_bytes, process->alloc_bytes);
    programs_sum_add(&program->duration_ns, process->duration_ns);
}

static struct programs_program programs_new(const char *name)
{
    const struct programs_sum none = {.all = figure_of(0), .known = FIGURE_UNKNOWN};
    return (struct programs_program){
        .name = name,
        .peak_bytes = FIGURE_UNKNOWN,
        .resident_peak_bytes = FIGURE_UNKNOWN,
        .alloc_count = none,
        .alloc_bytes = none,
        .duration_ns = none,
    };
}

static int programs_compare_names(const void *left, const void *right, void *context)
{
    const struct programs_process *processes = context;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    int order = strcmp(processes[a].program, processes[b].program);
    return order ? order : (a > b) - (a < b);
}

static void programs_add_up(struct programs *programs)
{
    size_t count = programs->process_count;
    size_t *order = memory_need(calloc(count + 1, sizeof *order));
    programs->programs = memory_need(calloc(count + 1, sizeof *programs->programs));
    programs->all = programs_new(NULL);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, programs_compare_names, programs->processes);
    for (size_t i = 0; i < count; i++) {
        const struct programs_process *process = &programs->processes[order[i]];
        struct programs_program *last = programs->programs + programs->program_count - 1;
        if (!programs->program_count || strcmp(last->name, process->program)) {
            last = &programs->programs[programs->program_count++];
            *last = programs_new(process->program);
        }
        programs_count_process(last, process, order[i]);
        programs_count_process(&programs->all, process, order[i]);
    }
    free(order);
}

/* ---- Order --------------------------------------------------------------------------------- */

static int programs_compare_figures(struct figure a, struct figure b)
{
    return figure_compare(b, a);
}

static int programs_compare_processes(const void *left, const void *right, void *context)
{
    const struct programs_process *a = left, *b = right;
    enum programs_order by = *(const enum programs_order *)context;
    int order = by == PROGRAMS_BY_COUNT   ? programs_compare_figures(a->alloc_count, b->alloc_count)
                : by == PROGRAMS_BY_BYTES ? programs_compare_figures(a->alloc_bytes, b->alloc_bytes)
                                          : programs_compare_figures(a->peak_bytes, b->peak_bytes);
    return order ? order : strcmp(a->profile, b->profile);
}

/* Sums by what is known of them. */
static int programs_compare_programs(const void *left, const void *right, void *context)
{
    const struct programs_program *a = left, *b = right;
    enum programs_order by = *(const enum programs_order *)context;
    int order = by == PROGRAMS_BY_COUNT
                    ? programs_compare_figures(a->alloc_count.known, b->alloc_count.known)
                : by == PROGRAMS_BY_BYTES
                    ? programs_compare_figures(a->alloc_bytes.known, b->alloc_bytes.known)
                    : programs_compare_figures(a->peak_bytes, b->peak_bytes);
    return order ? order : strcmp(a->name, b->name);
}

static void programs_settle(struct programs *programs, enum programs_order order)
{
    if (programs->process_count)
        qsort_r(programs->processes, programs->process_count, sizeof *programs->processes,
                programs_compare_processes, &order);
    programs_add_up(programs);
    if (programs->program_count)
        qsort_r(programs->programs, programs->program_count, sizeof *programs->programs,
                programs_compare_programs, &order);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static int programs_gather(struct programs_gathering *gathering, const char *path)
{
    struct programs *programs = gathering->programs;
    bool is_directory = programs_is_directory(path);
    int error = is_directory ? programs_read_directory(gathering, path)
                             : programs_read_session(gathering, path);
    if (error)
        return error;
    if (!is_directory)
        programs_count_beside(programs);
    if (!programs->process_count && !programs->unread_count)
        return error_set(-ENOENT, "there are no profiles in %s", path);
    return 0;
}

/* A path that does not exist was named by mistake, which is an error. A damaged file is listed as
 * unread, and the others are shown. PATH@PID is a process of PATH. */
static int programs_gather_many(struct programs_gathering *gathering, char *const *paths,
                                size_t count)
{
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        if (access(paths[i], R_OK) && !strchr(paths[i], '@'))
            error = error_set(-errno, "cannot open %s: %s", paths[i], strerror(errno));
        else if (programs_is_directory(paths[i]))
            error = programs_read_directory(gathering, paths[i]);
        else if (!session_is_file(paths[i]))
            programs_read_profile(gathering, paths[i]);
        else if (programs_read_session(gathering, paths[i]))
            programs_add_unread(gathering, paths[i], error_text());
    }
    if (!error && !gathering->programs->process_count && !gathering->programs->unread_count)
        return error_set(-ENOENT, "none of these %zu is the profile of a process", count);
    return error;
}

int programs_read(struct programs **out, char *const *paths, size_t count,
                  enum programs_order order)
{
    struct programs *programs = memory_need(calloc(1, sizeof *programs));
    struct programs_gathering gathering = {.programs = programs};
    programs->path = count == 1 ? programs_copy(paths[0]) : NULL;
    int error = count == 1 ? programs_gather(&gathering, paths[0])
                           : programs_gather_many(&gathering, paths, count);
    if (error) {
        programs_free(programs);
        *out = NULL;
        return error;
    }
    programs_settle(programs, order);
    *out = programs;
    return 0;
}

void programs_free(struct programs *programs)
{
    if (!programs)
        return;
    for (size_t i = 0; i < programs->process_count; i++) {
        free(programs->processes[i].profile);
        free(programs->processes[i].program);
        free(programs->processes[i].command);
        free(programs->processes[i].end);
    }
    for (size_t i = 0; i < programs->unread_count; i++) {
        free(programs->unread[i].path);
        free(programs->unread[i].why);
    }
    free(programs->processes);
    free(programs->programs);
    free(programs->unread);
    free(programs->path);
    free(programs);
}
