/* The overview of many processes for people: programs, the largest processes, and what to type
 * next. Without --top it fills a screen of 24 lines. */
#include <errno.h>
#include <string.h>
#include "base/text.h"
#include "model/figure_human.h"
#include "programs/programs.h"
#include "report/report_text.h"

enum { USUAL_PROGRAMS = 8, USUAL_PROCESSES = 3, UNREAD_SHOWN = 3 };

static void report_programs_choose(const struct programs *programs, size_t top,
                                   size_t *programs_shown, size_t *processes_shown)
{
    *programs_shown = top ? top : USUAL_PROGRAMS;
    *processes_shown = top ? top : USUAL_PROCESSES;
    if (*programs_shown > programs->program_count)
        *programs_shown = programs->program_count;
    if (*processes_shown > programs->process_count)
        *processes_shown = programs->process_count;
}

static void report_programs_add_safe(struct strbuf *out, const char *string)
{
    text_add_safe_string(out, string ? string : "?");
}

/* ---- Head ---------------------------------------------------------------------------------- */

static void report_programs_add_title(struct report_text *text, const struct programs *programs)
{
    struct strbuf name = STRBUF_INIT, rest = STRBUF_INIT;
    report_programs_add_safe(&name, programs->path ? programs->path : "these profiles");
    strbuf_addf(&rest, "%s process%s of %s program%s", human_exact(programs->process_count).text,
                programs->process_count == 1 ? "" : "es", human_exact(programs->program_count).text,
                human_plural(programs->program_count));
    style_add(&text->out, &text->style, TONE_TITLE, name.data);
    strbuf_add_string(&text->out, "  ");
    text_add_wrapped(&text->out, rest.data, 2, text->style.columns);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&name);
    strbuf_release(&rest);
}

static void report_programs_add_line(struct report_text *text, const char *label,
                                     const char *string)
{
    report_part_label(text, label);
    report_part_wrapped(text, string);
}

static size_t report_programs_known(const struct programs_program *program)
{
    size_t counts = program->alloc_count.processes, bytes = program->alloc_bytes.processes;
    return counts < bytes ? counts : bytes;
}

static bool report_programs_is_whole(const struct programs_program *program)
{
    return report_programs_known(program) == program->processes;
}

static void report_programs_add_known(struct strbuf *line, size_t known, size_t processes)
{
    if (known < processes)
        strbuf_addf(line, " (%s of %s processes known)", human_exact(known).text,
                    human_exact(processes).text);
}

static void report_programs_add_allocated(struct strbuf *line, const struct programs_program *all)
{
    size_t known = report_programs_known(all);
    if (!known)
        strbuf_add_string(line, "not known of any of them");
    else
        strbuf_addf(line, "%s%s in %s allocations, by all together",
                    report_programs_is_whole(all) ? "" : "at least ",
                    figure_human_bytes(all->alloc_bytes.known).text,
                    figure_human_count(all->alloc_count.known).text);
    if (known)
        report_programs_add_known(line, known, all->processes);
}

static void report_programs_add_sums(struct report_text *text, const struct programs *programs)
{
    const struct programs_program *all = &programs->all;
    const struct programs_process *largest = &programs->processes[all->largest];
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "%s, of ", figure_human_bytes(all->peak_bytes).text);
    report_programs_add_safe(&line, largest->program);
    strbuf_addf(&line, " (pid %llu); peaks of processes do not add up",
                (unsigned long long)largest->pid);
    report_programs_add_known(&line, all->known_peaks, all->processes);
    report_programs_add_line(text, "highest peak", line.data);
    strbuf_reset(&line);
    report_programs_add_allocated(&line, all);
    report_programs_add_line(text, "allocated", line.data);
    strbuf_reset(&line);
    if (all->failed)
        strbuf_addf(&line, "%s ended by a signal or with another status than 0",
                    human_exact(all->failed).text);
    if (all->lossy)
        strbuf_addf(&line, "%s%s lost events", line.length ? "; " : "",
                    human_exact(all->lossy).text);
    if (line.length)
        report_programs_add_line(text, "of them", line.data);
    strbuf_release(&line);
}

/* Says which files are not in the figures. */
static void report_programs_add_left_out(struct report_text *text, const struct programs *programs)
{
    struct strbuf line = STRBUF_INIT;
    if (programs->unread_count)
        strbuf_addf(&line, "%s that cannot be read, or not wholly: see below",
                    human_exact(programs->unread_count).text);
    if (programs->snapshots + programs->derived)
        strbuf_addf(&line, "%s%s snapshots, replays and jobs", line.length ? "; " : "",
                    human_exact(programs->snapshots + programs->derived).text);
    if (programs->beside)
        strbuf_addf(&line, "%s%s profile%s with files of their own beside it: report the directory",
                    line.length ? "; " : "", human_exact(programs->beside).text,
                    human_plural(programs->beside));
    if (line.length)
        report_programs_add_line(text, "not in it", line.data);
    strbuf_release(&line);
}

/* ---- Programs ------------------------------------------------------------------------------ */

static const struct text_column program_columns[] = {
    {"peak", 10, TEXT_RIGHT, 0},      {"processes", 9, TEXT_RIGHT, 2},
    {"allocated", 10, TEXT_RIGHT, 2}, {"allocations", 11, TEXT_RIGHT, 2},
    {"program", 0, TEXT_LEFT, 2},
};
enum { PROGRAM_COLUMNS = sizeof program_columns / sizeof *program_columns, NAME_AT = 50 };

/* The last cell of a row takes the rest of the line. */
static void report_programs_add_name(struct report_text *text, const char *name, size_t used)
{
    struct strbuf safe = STRBUF_INIT, cut = STRBUF_INIT;
    report_programs_add_safe(&safe, name);
    text_add_cut(&cut, safe.data, text->style.columns - used);
    report_part_next(text, cut.data);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&safe);
    strbuf_release(&cut);
}

/* "12.3 MiB+": at least that. */
static void report_programs_add_sum(struct report_text *text, const char *figure,
                                    const struct programs_sum *sum)
{
    struct strbuf cell = STRBUF_INIT;
    strbuf_addf(&cell, "%s%s", figure,
                figure_known(sum->known) && !figure_known(sum->all) ? "+" : "");
    report_part_next(text, cell.data);
    strbuf_release(&cell);
}

static void report_programs_add_program(struct report_text *text,
                                        const struct programs_program *program)
{
    report_part_row(text, program_columns);
    report_part_next_figure(text, figure_human_bytes(program->peak_bytes).text);
    report_part_next(text, human_exact(program->processes).text);
    report_programs_add_sum(text, figure_human_bytes(program->alloc_bytes.known).text,
                            &program->alloc_bytes);
    report_programs_add_sum(text, figure_human_count(program->alloc_count.known).text,
                            &program->alloc_count);
    report_programs_add_name(text, program->name, NAME_AT);
}

static void report_programs_add_more(struct report_text *text, size_t shown, size_t count,
                                     const char *what, const char *plural)
{
    struct strbuf line = STRBUF_INIT;
    if (shown == count)
        return;
    strbuf_addf(&line, "and %s more %s%s: --top %zu", human_exact(count - shown).text, what,
                count - shown == 1 ? "" : plural, count);
    report_part_note(text, line.data);
    strbuf_release(&line);
}

static void report_programs_add_programs(struct report_text *text, const struct programs *programs,
                                         size_t shown)
{
    report_part_title(text, "Programs",
                      report_programs_is_whole(&programs->all)
                          ? "peak: of the largest process; the rest: of all of them"
                          : "peak: of the largest process; the rest: of all of them; +: at least");
    report_part_headings(text, program_columns, PROGRAM_COLUMNS);
    for (size_t i = 0; i < shown; i++)
        report_programs_add_program(text, &programs->programs[i]);
    report_programs_add_more(text, shown, programs->program_count, "program", "s");
}

/* ---- Processes ----------------------------------------------------------------------------- */

static const struct text_column process_columns[] = {
    {"peak", 10, TEXT_RIGHT, 0},
    {"allocated", 10, TEXT_RIGHT, 2},
    {"pid", 7, TEXT_RIGHT, 2},
    {"command", 0, TEXT_LEFT, 2},
};
enum { PROCESS_COLUMNS = sizeof process_columns / sizeof *process_columns, COMMAND_AT = 33 };

static void report_programs_add_process(struct report_text *text,
                                        const struct programs_process *process)
{
    struct strbuf pid = STRBUF_INIT;
    strbuf_addf(&pid, "%llu", (unsigned long long)process->pid);
    report_part_row(text, process_columns);
    report_part_next_figure(text, figure_human_bytes(process->peak_bytes).text);
    report_part_next(text, figure_human_bytes(process->alloc_bytes).text);
    report_part_next(text, pid.data);
    report_programs_add_name(text, process->command ? process->command : process->program,
                             COMMAND_AT);
    strbuf_release(&pid);
}

static void report_programs_add_processes(struct report_text *text, const struct programs *programs,
                                          size_t shown)
{
    report_part_title(text, "Processes", NULL);
    report_part_headings(text, process_columns, PROCESS_COLUMNS);
    for (size_t i = 0; i < shown; i++)
        report_programs_add_process(text, &programs->processes[i]);
    report_programs_add_more(text, shown, programs->process_count, "process", "es");
}

/* ---- The end ------------------------------------------------------------------------------- */

static void report_programs_add_unread(struct report_text *text, const struct programs *programs)
{
    size_t shown = text->options->top ? programs->unread_count : UNREAD_SHOWN;
    if (shown > programs->unread_count)
        shown = programs->unread_count;
    if (!shown)
        return;
    report_part_title(text, "Not read", NULL);
    for (size_t i = 0; i < shown; i++) {
        struct strbuf safe = STRBUF_INIT;
        report_programs_add_safe(&safe, programs->unread[i].why);
        report_part_note(text, safe.data);
        strbuf_release(&safe);
    }
    report_programs_add_more(text, shown, programs->unread_count, "file", "s");
}

/* In quotes if a shell would not take the word as it is. */
static void report_programs_add_word(struct strbuf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    struct strbuf safe = STRBUF_INIT;
    report_programs_add_safe(&safe, word);
    bool quoted = safe.data[strspn(safe.data, plain)] != 0;
    strbuf_add_string(out, quoted ? "'" : "");
    for (const char *at = safe.data; *at; at++)
        strbuf_add_string(out, *at == '\'' ? "'\\''" : (char[]){*at, 0});
    strbuf_add_string(out, quoted ? "'" : "");
    strbuf_release(&safe);
}

/* A command that can be typed: it is never cut. */
static void report_programs_add_next(struct report_text *text, const struct programs *programs)
{
    strbuf_add_string(&text->out, "\nNext: tidemark report ");
    report_programs_add_word(&text->out, programs->processes[programs->all.largest].profile);
    strbuf_add_char(&text->out, '\n');
}

int report_programs_text(FILE *out, const struct programs *programs,
                         const struct report_options *options)
{
    struct report_text text = {.style = {options->colour, options->utf8, options->columns},
                               .out = STRBUF_INIT,
                               .options = options};
    size_t programs_shown, processes_shown;
    report_programs_choose(programs, options->top, &programs_shown, &processes_shown);
    report_programs_add_title(&text, programs);
    if (programs->process_count)
        report_programs_add_sums(&text, programs);
    report_programs_add_left_out(&text, programs);
    if (programs->process_count) {
        report_programs_add_programs(&text, programs, programs_shown);
        report_programs_add_processes(&text, programs, processes_shown);
    }
    report_programs_add_unread(&text, programs);
    if (programs->process_count)
        report_programs_add_next(&text, programs);
    bool written = fwrite(text.out.data, 1, text.out.length, out) == text.out.length;
    int error = written && !fflush(out) ? 0 : -errno;
    strbuf_release(&text.out);
    return error;
}
