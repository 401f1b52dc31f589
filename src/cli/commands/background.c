/* Which processes are daemons: those that have called setsid(). Between its fork and that call a
 * daemon looks like any child, so an answer counts when it has stayed the same for a while. */
#include "commands/background.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/now.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "collector/collector.h"
#include "collector/process_image.h"

static bool background_is_nothing_else(const struct background *background,
                                       const struct collector *collector)
{
    struct collector_process process;
    size_t running = collector_running(collector);
    if (!running || running != collector_active(collector))
        return false;
    for (size_t i = 0; i < running; i++) {
        if (!collector_running_at(collector, i, &process))
            return false;
        pid_t session = getsid(process.pid);
        if (!process.path || session <= 0 || session == background->session)
            return false;
    }
    return true;
}

bool background_is_all(struct background *background, const struct collector *collector)
{
    const uint64_t stands_ns = 333000000;
    if (background->is_waited_for || !background_is_nothing_else(background, collector)) {
        background->since_ns = 0;
        return false;
    }
    if (!background->since_ns)
        background->since_ns = now_monotonic_ns();
    return now_monotonic_ns() - background->since_ns >= stands_ns;
}

bool background_has(const struct collector *collector, const struct process_image_result *started)
{
    struct collector_process process;
    for (size_t i = 0; started && collector_running_at(collector, i, &process); i++)
        if (!strcmp(process.program, started->program))
            return true;
    return false;
}

static void background_say_one(const struct collector_process *process)
{
    bool is_there = access(process->path, F_OK) == 0;
    struct strbuf line = STRBUF_INIT;
    strbuf_add_string(&line, "tidemark: ");
    text_add_safe_string(&line, process->program);
    strbuf_addf(&line, " (pid %d) runs on in the background and is recorded to its end\n",
                (int)process->pid);
    strbuf_addf(&line, is_there ? "  so far       tidemark report " : "  its profile  ");
    text_add_safe_string(&line, process->path);
    strbuf_add_char(&line, '\n');
    if (!is_there && process->rows) {
        strbuf_add_string(&line, "  if small     ");
        text_add_safe_string(&line, process->rows);
        strbuf_addf(&line, "@%d\n", (int)process->pid);
    }
    fputs(line.data, stderr);
    strbuf_release(&line);
}

void background_say(const struct collector *collector, const struct process_image_result *started)
{
    enum { SAID = 3 };
    struct collector_process process;
    size_t running = collector_running(collector);
    for (size_t i = 0; i < SAID && collector_running_at(collector, i, &process); i++)
        background_say_one(&process);
    if (running > SAID)
        fprintf(stderr, "  and          %zu more\n", running - SAID);
    if (started && started->path)
        fprintf(stderr, "  started by   pid %d: tidemark report %s\n", (int)started->pid,
                started->path);
    fprintf(stderr, "  %-12s tidemark record --wait\n",
            running > 1 ? "wait for all" : "wait for it");
}

void background_let_go(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; nothing >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(nothing, fd);
    if (nothing > STDERR_FILENO)
        close(nothing);
}
