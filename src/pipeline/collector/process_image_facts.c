/* Collects what a profile and a trace say about their process (process_image_parts.h): names,
 * command, machine, job and times. Facts come from /proc, from the session and from the
 * recorder's header. */
#include "collector/pool_functions.h"
#include "collector/process_image_parts.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include "profile_build/profile_build.h"
#include "base/human.h"
#include "base/now.h"
#include "collector/name_takeover.h"
#include "collector/look_schedule.h"
#include "collector/output_name.h"
#include "collector/session_rows.h"
#include "procfs/process.h"
#include "profile/profile.h"

int64_t process_image_unix_ns(void)
{
    return (int64_t)now_ns(CLOCK_REALTIME);
}

/* The answer of a function of process.h, or "". malloc'd. */
static char *process_image_ask(int (*question)(pid_t, char **), pid_t pid)
{
    char *answer;
    return question(pid, &answer) == 0 ? answer : strdup("");
}

/* The name by which it was called: "g++", where the file is x86_64-linux-gnu-g++-12. A login
 * shell's dash and names that a shell would quote do not go into file names. */
static char *process_image_program_name(const char *command, const char *executable)
{
    size_t word = strcspn(command, " ");
    const char *name = command;
    for (const char *at = command; at < command + word; at++)
        if (*at == '/')
            name = at + 1;
    size_t length = (size_t)(command + word - name);
    if (length > 0 && *command != '\'' && *name != '-' && *name != '\'' && *name != '[')
        return strndup(name, length);
    return strdup(*executable ? basename(executable) : "unknown");
}

char *process_image_program_of(pid_t pid)
{
    char *executable = process_image_ask(process_executable, pid),
         *command = process_image_ask(process_command_line, pid);
    char *name = process_image_program_name(command, executable);
    free(executable);
    free(command);
    return name;
}

static uint64_t process_image_age_of(const struct process_image *image)
{
    uint64_t began_ns;
    if (process_start_time(image->pid, &began_ns) < 0)
        return 0;
    return (uint64_t)image->start_unix_ns > began_ns ? (uint64_t)image->start_unix_ns - began_ns
                                                     : 0;
}

/* The image's own name, or that of the image that it replaces by exec: a user who gives a profile's
 * name wants the profile of the program that the command executes in the end. */
static char *process_image_choose_name(struct process_image *image, struct process_image *replaced)
{
    const char *pattern = image->options.output;
    if (!replaced || !output_name_fits(replaced->path, pattern, image->program, image->pid))
        return output_name(pattern, image->program, image->pid);
    struct name_takeover *takeover = name_takeover_new(
        output_name_beside(replaced->path, pattern, replaced->program, replaced->pid));
    if (!takeover)
        return output_name(pattern, image->program, image->pid);
    image->takes = takeover;
    atomic_store(&replaced->gives, takeover);
    if (process_image_is_done(replaced))
        name_takeover_complete(takeover);
    return strdup(replaced->path);
}

/* The machine's, read once: malloc'd, NULL if it is not known. */
static char *process_image_boot(void)
{
    static char *boot;
    static bool asked;
    if (!asked)
        process_boot_id(&boot);
    asked = true;
    return boot ? strdup(boot) : NULL;
}

void process_image_describe(struct process_image *image, struct process_image *replaced)
{
    image->executable = process_image_ask(process_executable, image->pid);
    image->command = process_image_ask(process_command_line, image->pid);
    image->directory = process_image_ask(process_directory, image->pid);
    image->program = process_image_program_name(image->command, image->executable);
    image->start_unix_ns = process_image_unix_ns();
    image->age_ns = image->late ? process_image_age_of(image) : 0;
    image->boot = process_image_boot();
    job_place_identify(&image->launcher, image->pid, image->executable);
    if (image->options.job)
        image->uses_mpi = job_place_maps_mpi(image->pid);
    else
        image->path = process_image_choose_name(image, replaced);
    if (image->options.rows && image->path)
        session_rows_name(image->options.rows, image->path);
}

/* A forked process has its parent's command line at first, and a server's worker sets its own title
 * a moment later. An executed process keeps the command line that it was called with. */
void process_image_read_title(struct process_image *image)
{
    bool is_read = image->parent && !process_image_has_executed(image);
    char *title = is_read ? process_image_ask(process_command_line, image->pid) : NULL;
    if (title && *title && *title != '[' && strcmp(title, image->command) != 0) {
        free(image->command);
        image->command = title;
        image->retitled = true;
        return;
    }
    free(title);
}

void process_image_tell_title(struct process_image *image, process_image_take_fact *take)
{
    if (image->retitled)
        take(image, PROFILE_META_COMMAND, image->command, 0);
}

const char *process_image_job_id(const struct process_image *image)
{
    const struct launcher *launcher = &image->launcher;
    if (image->options.job_id)
        return image->options.job_id;
    return launcher->name && *launcher->job_id ? launcher->job_id : image->options.session;
}

void process_image_fact_for_profile(struct process_image *image, const char *key, const char *text,
                                    int64_t number)
{
    if (text)
        profile_build_fact(image->writer, key, text);
    else
        profile_build_fact_number(image->writer, key, number);
}

static void process_image_tell_rank(struct process_image *image, process_image_take_fact *take)
{
    const struct launcher *launcher = &image->launcher;
    if (image->boot)
        take(image, PROFILE_META_BOOT, image->boot, 0);
    if (image->options.job || launcher->name)
        take(image, PROFILE_META_JOB, process_image_job_id(image), 0);
    if (!launcher->name)
        return;
    take(image, PROFILE_META_LAUNCHER, launcher->name, 0);
    take(image, PROFILE_META_RANK, NULL, launcher->rank);
    if (launcher->ranks >= 0)
        take(image, PROFILE_META_RANKS, NULL, launcher->ranks);
    if (launcher->local_rank >= 0)
        take(image, PROFILE_META_LOCAL_RANK, NULL, launcher->local_rank);
    if (launcher->node >= 0)
        take(image, PROFILE_META_NODE, NULL, launcher->node);
}

void process_image_tell_budget(struct process_image *image, process_image_take_fact *take)
{
    const struct overhead_budget_reading *last =
        image->budget.count ? &image->budget.readings[image->budget.count - 1] : NULL;
    if (image->sample_changes.length) {
        take(image, PROFILE_META_SAMPLE, NULL, WIRE_LEVEL_UNIT);
        take(image, PROFILE_META_SAMPLE_CHANGES, image->sample_changes.data, 0);
    }
    if (image->sample_why)
        take(image, PROFILE_META_SAMPLE_WHY, image->sample_why, 0);
    if (last)
        take(image, PROFILE_META_BUDGET_COST, NULL, (int64_t)(last->recorder_ns + last->replay_ns));
}

void process_image_tell_description(struct process_image *image, process_image_take_fact *take)
{
    struct utsname machine;
    uname(&machine);
    take(image, "tool", "tidemark " TIDEMARK_VERSION, 0);
    take(image, "program", image->program, 0);
    take(image, "executable", image->executable, 0);
    take(image, "command", image->command, 0);
    take(image, "directory", image->directory, 0);
    take(image, "host", machine.nodename, 0);
    take(image, "kernel", machine.release, 0);
    take(image, "machine", machine.machine, 0);
    take(image, "pid", NULL, image->pid);
    take(image, "parent_pid", NULL, image->parent);
    take(image, "started_by", image->parent ? "fork" : "exec", 0);
    take(image, "start_unix_ns", NULL, image->start_unix_ns);
    process_image_tell_rank(image, take);
    if (image->late)
        take(image, PROFILE_META_ATTACHED, NULL, (int64_t)image->age_ns);
    take(image, "on_full", image->options.drop ? "drop" : "wait", 0);
    if (image->options.budget_millionths)
        take(image, PROFILE_META_BUDGET, NULL, image->options.budget_millionths);
    process_image_tell_budget(image, take);
    if (image->options.sample_bytes)
        take(image, PROFILE_META_SAMPLE, NULL, (int64_t)image->options.sample_bytes);
    if (image->pages) {
        take(image, PROFILE_META_SAMPLE, NULL, WIRE_PAGE_BYTES);
        take(image, PROFILE_META_PAGES, NULL, 1);
    }
    if (image->options.stacks == WIRE_STACKS_FP || image->options.stacks == WIRE_STACKS_NONE)
        take(image, PROFILE_META_STACKS, image->options.stacks == WIRE_STACKS_FP ? "fp" : "none",
             0);
    if (image->options.free_stacks)
        take(image, PROFILE_META_FREE_STACKS, NULL, 1);
    if (image->options.timed)
        take(image, PROFILE_META_TIMED, NULL, 1);
}

/* Did --for end the recording? A program that has ended since did not have to be stopped; then the
 * gate is shut if there are events of after that time. */
static bool process_image_ended_in_time(const struct process_image *image)
{
    const struct window *window = image->options.window;
    return window && window->for_ns &&
           (image->gate.state == GATE_SHUT ||
            (image->how == IMAGE_END_DETACHED && window->end == WINDOW_FOR));
}

/* Of --start-on, --until and --for. */
static void process_image_tell_window(struct process_image *image, process_image_take_fact *take)
{
    struct window *window = image->options.window;
    struct strbuf why = STRBUF_INIT;
    if (image->begun_on) {
        take(image, PROFILE_META_BEGUN_ON, image->begun_on, 0);
        take(image, PROFILE_META_BEGUN_NS, NULL, (int64_t)image->begun_ns);
        take(image, PROFILE_META_BEFORE_BLOCKS, NULL, (int64_t)image->before.live_count);
        take(image, PROFILE_META_BEFORE_BYTES, NULL, (int64_t)image->before.current_bytes);
    }
    if (image->gate.state == GATE_BEFORE)
        take(image, PROFILE_META_NEVER_BEGUN, window->start_on, 0);
    if (image->ended_on)
        strbuf_addf(&why, "at mark '%s' (--until)", image->ended_on);
    else if (image->how == IMAGE_END_DETACHED && window && window->end == WINDOW_UNTIL)
        strbuf_add_string(&why, "at a mark of another process (--until)");
    else if (process_image_ended_in_time(image))
        strbuf_addf(&why, "after %s (--for)", human_duration(window->for_ns).text);
    else if (image->how == IMAGE_END_DETACHED && window && window->end == WINDOW_MEMORY)
        strbuf_add_string(&why, WINDOW_MEMORY_TEXT);
    if (why.length)
        take(image, PROFILE_META_ENDED_ON, why.data, 0);
    strbuf_release(&why);
}

bool process_image_recorder_left(const struct process_image *image)
{
    return atomic_load(&image->view.header->end_kind) == WIRE_END_LEFT;
}

bool process_image_has_executed(const struct process_image *image)
{
    return image->view.header && atomic_load(&image->view.header->executed_ticks);
}

/* How the process ended. If nobody outside saw it, the recorder may have noted it in the header. */
struct process_image_ending process_image_ending(const struct process_image *image)
{
    struct wire_header *header = image->view.header;
    struct process_image_ending ending = {image->how, image->status};
    if (image->gate.state == GATE_SHUT) /* at a mark or a time: the program ran on */
        return (struct process_image_ending){IMAGE_END_DETACHED, 0};
    uint32_t kind = header ? atomic_load(&header->end_kind) : WIRE_END_NONE;
    if (ending.how == IMAGE_END_UNKNOWN && (kind == WIRE_END_EXIT || kind == WIRE_END_SIGNAL)) {
        ending.how = kind == WIRE_END_EXIT ? IMAGE_END_EXIT : IMAGE_END_SIGNAL;
        ending.status = atomic_load(&header->end_status) & 0xff;
    }
    if (process_image_has_executed(image) && ending.how != IMAGE_END_DETACHED)
        /* The end that was seen is the new program's. */
        ending = (struct process_image_ending){IMAGE_END_EXEC, 0};
    if (header && ending.how == IMAGE_END_UNKNOWN && process_image_recorder_left(image))
        ending.how = IMAGE_END_DETACHED;
    return ending;
}

bool process_image_ending_has_status(struct process_image_ending ending)
{
    return ending.how == IMAGE_END_EXIT || ending.how == IMAGE_END_SIGNAL;
}

const char *const process_image_end_names[] = {"unknown", "exit", "signal", "exec", "detached"};

static void process_image_tell_oom(struct process_image *image, struct process_image_ending ending,
                                   process_image_take_fact *take)
{
    uint64_t kills, limit_bytes;
    struct oom_watch_kills told;
    bool was_killed = ending.how == IMAGE_END_UNKNOWN ||
                      (ending.how == IMAGE_END_SIGNAL && ending.status == SIGKILL);
    if (!was_killed)
        return;
    told = oom_watch_kills(&image->oom);
    if (!figure_get(told.kills, &kills))
        return;
    take(image, PROFILE_META_OOM_KILLS, NULL, (int64_t)kills);
    if (kills && cgroup_is_limited(told.limit_bytes) && figure_get(told.limit_bytes, &limit_bytes))
        take(image, PROFILE_META_OOM_LIMIT, NULL, (int64_t)limit_bytes);
}

uint32_t process_image_unfollowed(const struct process_image *image, enum wire_unfollowed kind)
{
    uint32_t count = atomic_load(&image->forks_unfollowed[kind]);
    return image->view.header ? count + atomic_load(&image->view.header->unfollowed[kind]) : count;
}

static void process_image_tell_unfollowed(struct process_image *image,
                                          process_image_take_fact *take)
{
    static const char *const keys[] = {
        [WIRE_UNFOLLOWED_ENVIRONMENT] = PROFILE_META_UNFOLLOWED_ENVIRONMENT,
        [WIRE_UNFOLLOWED_PRELOAD] = PROFILE_META_UNFOLLOWED_PRELOAD,
        [WIRE_UNFOLLOWED_PRIVILEGED] = PROFILE_META_UNFOLLOWED_PRIVILEGED,
        [WIRE_UNFOLLOWED_UNLOADABLE] = PROFILE_META_UNFOLLOWED_UNLOADABLE,
        [WIRE_UNFOLLOWED_HIDDEN] = PROFILE_META_UNFOLLOWED_HIDDEN,
    };
    for (enum wire_unfollowed kind = 0; kind < WIRE_UNFOLLOWED_KINDS; kind++)
        if (process_image_unfollowed(image, kind))
            take(image, keys[kind], NULL, process_image_unfollowed(image, kind));
}

static const char *const unseen_whats[] = {
#define UNSEEN_WHAT(name, text) text,
#include "wire/unseen.def"
};
static const char *const unseen_whys[] = {
#define UNSEEN_WHY(name, text) text,
#include "wire/unseen.def"
};

/* Adds a text that the program could have written, with '?' for control characters. */
static void process_image_add_field(struct strbuf *line, const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    for (size_t i = 0; i < length; i++)
        strbuf_add_char(line, (unsigned char)text[i] < ' ' ? '?' : text[i]);
}

/* "WHAT\tMODULE\tWHY". The program can write there, so rows with impossible values are left out. */
static void process_image_add_unseen(struct strbuf *lines, const struct wire_unseen *shared)
{
    struct wire_unseen unseen = *shared;
    if (unseen.what >= WIRE_UNSEEN_WHATS || unseen.why >= WIRE_UNSEEN_WHYS)
        return;
    strbuf_addf(lines, "%s%s\t", lines->length ? "\n" : "", unseen_whats[unseen.what]);
    process_image_add_field(lines, unseen.module, sizeof unseen.module);
    strbuf_addf(lines, "\t%s", unseen_whys[unseen.why]);
    if (unseen.function[0]) {
        strbuf_add_string(lines, ": ");
        process_image_add_field(lines, unseen.function, sizeof unseen.function);
    }
}

void process_image_tell_unseen(struct process_image *image, process_image_take_fact *take)
{
    struct wire_header *header = image->view.header;
    uint32_t count = header ? atomic_load(&header->unseen_count) : 0;
    if (image->options.pool_functions)
        pool_functions_learn(image->options.pool_functions, header);
    struct strbuf lines = STRBUF_INIT;
    for (uint32_t i = 0; i < count && i < WIRE_UNSEEN_MOST; i++)
        process_image_add_unseen(&lines, &header->unseen[i]);
    if (lines.length)
        take(image, PROFILE_META_UNSEEN, lines.data, 0);
    strbuf_release(&lines);
}

void process_image_tell_end(struct process_image *image, process_image_take_fact *take)
{
    struct process_image_ending ending = process_image_ending(image);
    take(image, PROFILE_META_END, process_image_end_names[ending.how], 0);
    process_image_tell_title(image, take);
    process_image_tell_oom(image, ending, take);
    process_image_tell_window(image, take);
    process_image_tell_budget(image, take);
    if (process_image_ending_has_status(ending))
        take(image, PROFILE_META_END_STATUS, NULL, ending.status);
    if (image->view.header && atomic_load(&image->view.header->unseen_constructors))
        take(image, PROFILE_META_UNSEEN_CONSTRUCTORS, NULL,
             atomic_load(&image->view.header->unseen_constructors));
    if (image->view.header && atomic_load(&image->view.header->native_scripts))
        take(image, PROFILE_META_NATIVE_SCRIPTS, NULL,
             atomic_load(&image->view.header->native_scripts));
    process_image_tell_unfollowed(image, take);
    process_image_tell_unseen(image, take);
    if (image->looks && look_schedule_complaint(image->looks))
        take(image, PROFILE_META_NO_LEDGER, look_schedule_complaint(image->looks), 0);
    if (image->looks && look_schedule_graph_complaint(image->looks))
        take(image, PROFILE_META_NO_GRAPH, look_schedule_graph_complaint(image->looks), 0);
}
