/* Looks at the machine again and again (ps_watch.h). Each look is a table on the terminal, with
 * what grew since the first, or a line in a file of history, or both. The terminal keeps the last
 * table when it ends. */
#include "commands/ps_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/human.h"
#include "base/now.h"
#include "base/own_file.h"
#include "base/term_guard.h"
#include "base/text.h"
#include "commands/output.h"
#include "model/figure_human.h"
#include "system_history/history.h"
#include "system_memory/row_marks.h"

struct watch {
    const struct ps_watching *watching;
    FILE *history;
    uint64_t looks, began_ns;
    bool has_start;
    struct row_marks start;  /* growth is counted from these */
    struct row_marks before; /* of the last look in the file */
    uint64_t start_unix_ns;
    bool on_screen, keys; /* each table replaces the one before; single keys are read */
    struct termios terminal;
    bool quit;
};

static volatile sig_atomic_t ps_watch_asked; /* to end */

static void ps_watch_note(int signal)
{
    ps_watch_asked = signal;
}

/* ---- The screen ---------------------------------------------------------------------------- */

/* Lines of the terminal; 0: standard output is none. */
static size_t ps_watch_lines(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

static void ps_watch_take_keys(struct watch *watch)
{
    struct termios keys;
    if (!watch->on_screen || tcgetattr(STDIN_FILENO, &watch->terminal) != 0 ||
        tcgetpgrp(STDIN_FILENO) != getpgrp())
        return;
    keys = watch->terminal;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    watch->keys = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
}

static void ps_watch_give_keys_back(struct watch *watch)
{
    if (watch->keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &watch->terminal);
    watch->keys = false;
}

/* Removes the table before. It writes past the guard of stdout, which lets no such sequence
 * through. */
static void ps_watch_clear(const struct watch *watch)
{
    FILE *raw = term_guard_raw();
    if (!watch->on_screen)
        return;
    fputs("\033[H\033[J", raw);
    fflush(raw);
}

static void ps_watch_print_sentence(const struct style *style, const char *text)
{
    struct strbuf shown = STRBUF_INIT, line = STRBUF_INIT;
    text_add_wrapped(&shown, text, 0, style->columns);
    style_add(&line, style, TONE_DIM, shown.data);
    puts(line.data);
    strbuf_release(&shown);
    strbuf_release(&line);
}

static void ps_watch_add_clock(struct strbuf *out, uint64_t unix_ns)
{
    struct tm local;
    time_t seconds = (time_t)(unix_ns / 1000000000);
    char text[32] = "";
    if (localtime_r(&seconds, &local))
        strftime(text, sizeof text, "%H:%M:%S", &local);
    strbuf_add_string(out, text);
}

static void ps_watch_print_head(const struct watch *watch, const struct style *style)
{
    struct strbuf text = STRBUF_INIT;
    ps_watch_add_clock(&text, now_ns(CLOCK_REALTIME));
    strbuf_addf(&text, ", every %s; growth since ", human_duration(watch->watching->every_ns).text);
    ps_watch_add_clock(&text, watch->start_unix_ns);
    if (watch->keys)
        strbuf_add_string(&text, "  (b: from now on, q: quit)");
    ps_watch_print_sentence(style, text.data);
    strbuf_release(&text);
}

static void ps_watch_print_foot(const struct watch *watch, const struct system_memory *system,
                                const struct system_memory_table *table, const struct style *style)
{
    struct strbuf text = STRBUF_INIT;
    size_t gone, unread = system->state_counts[SYSTEM_MEMORY_FORBIDDEN];
    struct figure bytes = row_marks_gone(&watch->start, table, &gone);
    if (figure_known(system->machine.available))
        strbuf_addf(&text, "%s of %s available to programs.",
                    figure_human_bytes(system->machine.available).text,
                    figure_human_bytes(system->machine.total).text);
    if (gone)
        strbuf_addf(&text, " Gone since then: %s, which had %s.", human_exact(gone).text,
                    figure_human_bytes(bytes).text);
    if (unread)
        strbuf_addf(&text, " %s process%s could not be read.", human_exact(unread).text,
                    unread == 1 ? "" : "es");
    ps_watch_print_sentence(style, text.data);
    strbuf_release(&text);
}

/* As many rows as the terminal has lines for, beside head, headings, others, total and foot. On a
 * narrow terminal sentences take more lines. */
static uint64_t ps_watch_rows(const struct watch *watch, uint64_t asked, size_t columns)
{
    size_t lines = watch->on_screen ? ps_watch_lines() : 0, others = columns < 80 ? 10 : 8;
    uint64_t most = lines > others + 1 ? lines - others : 1;
    return !lines || (asked && asked < most) ? asked : most;
}

static void ps_watch_show(const struct watch *watch, const struct system_memory *system,
                          const struct system_memory_table *table)
{
    const struct ps_watching *watching = watch->watching;
    struct show_options options = proc_settle(watching->common);
    options.bars = watching->bars;
    options.columns = watching->columns;
    options.watched = true;
    options.style.columns = proc_narrow_columns(watching->common, options.style.columns);
    options.top = ps_watch_rows(watch, options.top, options.style.columns);
    ps_watch_clear(watch);
    if (watch->looks && !watch->on_screen)
        putchar('\n');
    ps_watch_print_head(watch, &options.style);
    show_system_memory_text(stdout, system, table, &options);
    ps_watch_print_foot(watch, system, table, &options.style);
    fflush(stdout);
}

/* ---- The file ------------------------------------------------------------------------------ */

/* Cuts off a last line that another writer did not end. */
static int ps_watch_drop_unfinished(int fd)
{
    char block[4096];
    off_t end = lseek(fd, 0, SEEK_END), keep = end;
    while (keep > 0) {
        size_t count = keep < (off_t)sizeof block ? (size_t)keep : sizeof block;
        ssize_t got = pread(fd, block, count, keep - (off_t)count);
        const char *last = got > 0 ? memrchr(block, '\n', (size_t)got) : NULL;
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        keep -= got;
        if (last) {
            keep += last + 1 - block;
            break;
        }
    }
    if (keep < end && ftruncate(fd, keep) != 0)
        return -errno;
    return lseek(fd, keep, SEEK_SET) < 0 ? -errno : 0;
}

/* A new file is for its owner alone, since command lines may hold secrets. */
static int ps_watch_open_history(struct watch *watch)
{
    const char *path = watch->watching->record;
    int error = own_file_check_text(path, HISTORY_BEGINNING);
    int fd = error ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (!error && fd < 0)
        error = -errno;
    if (!error)
        error = ps_watch_drop_unfinished(fd);
    watch->history = error ? NULL : fdopen(fd, "w");
    if (watch->history)
        return 0;
    if (fd >= 0)
        close(fd);
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, path);
    int status = error == -EEXIST
                     ? output_complainf(watch->watching->command,
                                        "'%s' is there already, and is no history of ps", safe.data)
                     : output_complainf(watch->watching->command, "cannot write '%s': %s",
                                        safe.data, strerror(error ? -error : ENOMEM));
    strbuf_release(&safe);
    return status;
}

static int ps_watch_write(struct watch *watch, const struct system_memory *system,
                          const struct system_memory_table *table, struct row_marks *now)
{
    int error = row_marks_write(watch->history, system, table, watch->looks ? &watch->before : NULL,
                                now, now_ns(CLOCK_REALTIME));
    row_marks_release(&watch->before);
    watch->before = *now;
    *now = (struct row_marks){0};
    return error ? output_complainf(watch->watching->command, "cannot write the history: %s",
                                    strerror(-error))
                 : 0;
}

/* ---- Looks --------------------------------------------------------------------------------- */

static int ps_watch_tabulate(struct watch *watch, const struct system_memory *system,
                             struct system_memory_table *table)
{
    const struct ps_watching *watching = watch->watching;
    int error =
        system_memory_tabulate(table, system, watching->by, watching->order, watching->reverse);
    if (error)
        return error;
    if (!watch->has_start) {
        row_marks_release(&watch->start);
        row_marks_take(&watch->start, table);
        watch->start_unix_ns = now_ns(CLOCK_REALTIME);
        watch->has_start = true;
    }
    row_marks_compare(&watch->start, table);
    system_memory_sort(table, watching->order, watching->reverse);
    if (watching->tree && (error = system_memory_make_tree(table)))
        system_memory_table_release(table);
    return error;
}

static int ps_watch_look(struct watch *watch)
{
    struct system_memory system;
    struct system_memory_table table;
    struct row_marks now = {0};
    int status = 0, error = system_memory_take(&system, watch->watching->request);
    if (error)
        return output_complainf(watch->watching->command, "cannot read /proc: %s",
                                strerror(-error));
    error = ps_watch_tabulate(watch, &system, &table);
    if (error) {
        status = output_complain(watch->watching->command, strerror(-error));
    } else {
        if (watch->watching->watch)
            ps_watch_show(watch, &system, &table);
        row_marks_take(&now, &table);
        if (watch->history)
            status = ps_watch_write(watch, &system, &table, &now);
        row_marks_release(&now);
        system_memory_table_release(&table);
    }
    system_memory_release(&system);
    watch->looks++;
    return status;
}

static void ps_watch_press(struct watch *watch, char key)
{
    watch->quit |= key == 'q';
    if (key == 'b')
        watch->has_start = false;
}

/* Waits until that time, a key, or a signal. Takes keys and signals even where the time has come:
 * they would never be taken if each look took longer than the time between looks. */
static void ps_watch_pause(struct watch *watch, uint64_t until_ns)
{
    uint64_t left_ns;
    do {
        uint64_t now = now_monotonic_ns();
        left_ns = now < until_ns ? until_ns - now : 0;
        struct timespec left = {(time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000)};
        struct pollfd keys = {.fd = watch->keys ? STDIN_FILENO : -1, .events = POLLIN};
        sigset_t none;
        char key;
        sigemptyset(&none);
        if (ppoll(&keys, 1, &left, &none) <= 0)
            continue;
        if (read(STDIN_FILENO, &key, 1) != 1)
            ps_watch_give_keys_back(watch);
        else
            ps_watch_press(watch, key);
        return;
    } while (left_ns && !ps_watch_asked);
}

/* Blocked but in ps_watch_pause(), so that no signal ends this process in the middle of a line. */
static void ps_watch_set_signals(void)
{
    static const int asking[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = ps_watch_note};
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++) {
        struct sigaction before;
        sigaction(asking[i], NULL, &before);
        if (before.sa_handler == SIG_IGN)
            continue;
        sigaction(asking[i], &action, NULL);
        sigaddset(&blocked, asking[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, NULL);
}

static uint64_t ps_watch_later(uint64_t ns, uint64_t by_ns)
{
    return by_ns < UINT64_MAX - ns ? ns + by_ns : UINT64_MAX;
}

static int ps_watch_run(struct watch *watch)
{
    const struct ps_watching *watching = watch->watching;
    uint64_t next_ns = watch->began_ns = now_monotonic_ns();
    for (int status;;) {
        if ((status = ps_watch_look(watch)))
            return status;
        next_ns = ps_watch_later(next_ns, watching->every_ns);
        uint64_t now = now_monotonic_ns();
        next_ns = next_ns < now ? now : next_ns; /* a look took longer than that */
        if (watching->for_ns && next_ns > ps_watch_later(watch->began_ns, watching->for_ns))
            return 0;
        ps_watch_pause(watch, next_ns);
        if (ps_watch_asked || watch->quit)
            return 0;
    }
}

int ps_watch(const struct ps_watching *watching)
{
    struct watch watch = {.watching = watching};
    int status = watching->record ? ps_watch_open_history(&watch) : 0;
    if (status)
        return status;
    watch.on_screen = watching->watch && isatty(STDOUT_FILENO);
    ps_watch_set_signals();
    ps_watch_take_keys(&watch);
    status = ps_watch_run(&watch);
    ps_watch_give_keys_back(&watch);
    if (watch.history && fclose(watch.history) != 0 && !status)
        status =
            output_complainf(watching->command, "cannot write the history: %s", strerror(errno));
    if (watching->record && !status) {
        struct strbuf safe = STRBUF_INIT;
        text_add_safe_string(&safe, watching->record);
        fprintf(stderr, "tidemark ps: %s look%s written: tidemark plot %s\n",
                human_exact(watch.looks).text, human_plural(watch.looks), safe.data);
        strbuf_release(&safe);
    }
    row_marks_release(&watch.start);
    row_marks_release(&watch.before);
    return status;
}
