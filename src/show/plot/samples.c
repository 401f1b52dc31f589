/* Reads lines of time and size, as malloc_count's memprofile and its descendants write them for
 * gnuplot. The files are strangers': only numbers are taken from them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/regular.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "plot/plot.h"
#include "system_history/history.h"

enum {
    SNIFFED_BYTES = 1 << 16,
    POINTS_MOST = 1 << 21, /* of a function; beyond, points that look the same are removed */
    COLUMNS_KEPT = 1 << 16,
    LINE_BYTES = 512, /* longer lines are of something else */
    FUNCTIONS_MAX = 64
};

#define BYTES_MAX 0x1p64

struct sample {
    char function[128]; /* "": none */
    double seconds, bytes;
    bool is_gap;
};

static const char *samples_after_blanks(const char *at)
{
    return at + strspn(at, " \t\r");
}

/* Reads one number; false: there is none, or it is not finite. */
static bool samples_take_number(const char **at, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(*at, &end);
    bool right = end != *at && isfinite(*value) && (!*end || strchr(" \t\r,", *end));
    *at = samples_after_blanks(end);
    return right;
}

/* "func=NAME ts=SECONDS mem=BYTES" */
static bool samples_parse_named(const char *line, struct sample *sample)
{
    const char *time = strstr(line, " ts="), *size = time ? strstr(time, " mem=") : NULL;
    size_t length = time ? (size_t)(time - line) - 5 : 0;
    if (!size || length >= sizeof sample->function)
        return false;
    memcpy(sample->function, line + 5, length);
    sample->function[length] = 0;
    time += 4, size += 5;
    return samples_take_number(&time, &sample->seconds) &&
           samples_take_number(&size, &sample->bytes);
}

/* False: it is no such line. Comments and empty lines are gaps, because gnuplot breaks its line
 * there. */
static bool samples_parse_line(const char *line, struct sample *sample)
{
    *sample = (struct sample){0};
    line = samples_after_blanks(line);
    sample->is_gap = !*line || *line == '#';
    if (sample->is_gap)
        return true;
    if (!strncmp(line, "func=", 5))
        return samples_parse_named(line, sample);
    return samples_take_number(&line, &sample->seconds) &&
           samples_take_number(&line, &sample->bytes);
}

static struct plot_samples *samples_of(struct plot_run *run, const char *function)
{
    for (size_t i = 0; i < run->sample_count; i++)
        if (!strcmp(run->samples[i].function ? run->samples[i].function : "", function))
            return &run->samples[i];
    if (run->sample_count == FUNCTIONS_MAX)
        return NULL;
    if (!array_make_bare_room(&run->samples, &run->sample_room, run->sample_count,
                              sizeof *run->samples))
        return NULL;
    run->samples[run->sample_count] =
        (struct plot_samples){.function = *function ? strdup(function) : NULL};
    return &run->samples[run->sample_count++];
}

static void samples_reduce(struct plot_samples *samples)
{
    struct chart_series series = {
        .points = samples->points, .count = samples->count, .capacity = samples->capacity};
    chart_reduce(&series, COLUMNS_KEPT);
    samples->points = series.points;
    samples->count = series.count;
    samples->capacity = series.capacity;
}

static int samples_add(struct plot_samples *samples, double x, double y)
{
    if (samples->count >= POINTS_MOST && !samples->is_dense)
        samples_reduce(samples);
    samples->is_dense = samples->count >= POINTS_MOST; /* all are gaps, which cannot be reduced */
    if (!array_make_bare_room(&samples->points, &samples->capacity, samples->count,
                              sizeof *samples->points))
        return -ENOMEM;
    samples->points[samples->count++] = (struct chart_point){x, y};
    return 0;
}

static int samples_add_gap(struct plot_run *run)
{
    for (size_t i = 0; i < run->sample_count; i++) {
        struct plot_samples *samples = &run->samples[i];
        const struct chart_point *last =
            samples->count ? &samples->points[samples->count - 1] : NULL;
        if (last && !isnan(last->y) && samples_add(samples, last->x, NAN))
            return -ENOMEM;
    }
    return 0;
}

static int samples_take_line(struct plot_run *run, const char *line, size_t number,
                             const char *name, struct strbuf *why)
{
    struct sample sample;
    if (!samples_parse_line(line, &sample)) {
        strbuf_addf(why, "%s, line %zu: no time and size ('0.5 1024', or 'func=… ts=… mem=…')",
                    name, number);
        return -EINVAL;
    }
    if (sample.is_gap)
        return *samples_after_blanks(line) ? 0 : samples_add_gap(run);
    if (sample.bytes < 0 || sample.bytes > BYTES_MAX || fabs(sample.seconds) > 1e10) {
        strbuf_addf(why,
                    "%s, line %zu: the size is negative or more than any memory, or the time "
                    "centuries away",
                    name, number);
        return -EINVAL;
    }
    struct plot_samples *samples = samples_of(run, sample.function);
    if (!samples) {
        strbuf_addf(why, "%s, line %zu: more than %d functions", name, number, FUNCTIONS_MAX);
        return -EINVAL;
    }
    /* Time goes back to the beginning where a second run was added to the file. Threads may put it
     * back a little. */
    double before = samples->count ? samples->points[samples->count - 1].x : 0;
    if (sample.seconds * 1e9 < before / 2 && samples_add(samples, before, NAN))
        return -ENOMEM;
    return samples_add(samples, sample.seconds * 1e9, sample.bytes);
}

static int samples_check_any(const struct plot_run *run, const char *name, struct strbuf *why)
{
    if (run->sample_count)
        return 0;
    strbuf_addf(why, "%s has no line of time and size", name);
    return -EINVAL;
}

/* Does the text begin as such a file? All other files are left to the reader of profiles. */
static bool samples_looks_like_samples(const char *bytes, size_t count)
{
    char line[LINE_BYTES];
    struct sample sample;
    for (const char *at = bytes, *end = bytes + count; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        if (length >= sizeof line)
            return false;
        memcpy(line, at, length);
        line[length] = 0;
        if (strlen(line) != length || !samples_parse_line(line, &sample))
            return false;
        if (!sample.is_gap)
            return true;
        at += length + 1;
    }
    return false;
}

/* Reads line by line, so that a file may be of any size. */
int plot_samples_read(struct plot_run *run, FILE *file, const char *name, struct strbuf *why)
{
    char line[LINE_BYTES];
    size_t number = 0;
    int error = 0;
    while (!error && fgets(line, sizeof line, file)) {
        size_t length = strlen(line);
        number++;
        if (length && line[length - 1] == '\n') {
            line[length - 1] = 0;
        } else if (!feof(file)) {
            strbuf_addf(why, "%s, line %zu: no text, or too long for a time and a size", name,
                        number);
            return -EINVAL;
        }
        error = samples_take_line(run, line, number, name, why);
    }
    if (!error && ferror(file)) {
        strbuf_addf(why, "cannot read %s: %s", name, strerror(errno));
        error = -EIO;
    }
    return error ? error : samples_check_any(run, name, why);
}

static int samples_read_history(struct plot_run *run, FILE *file, const char *name,
                                struct strbuf *why)
{
    run->history = memory_need(calloc(1, sizeof *run->history));
    int error = history_read(run->history, file, name, why);
    if (error && !why->length)
        strbuf_addf(why, "cannot read %s: %s", name, strerror(-error));
    return error;
}

/* What begins with a brace is no time. */
static int samples_read_any(struct plot_run *run, FILE *file, const char *name, struct strbuf *why)
{
    int first = getc(file);
    ungetc(first, file);
    int error = first == '{' ? samples_read_history(run, file, name, why)
                             : plot_samples_read(run, file, name, why);
    if (error)
        plot_run_close(run);
    return error;
}

/* 0: read; 1: not such a file; else -errno. */
static int samples_open(struct plot_run *run, const char *path, struct strbuf *why)
{
    struct stat status;
    char *start = malloc(SNIFFED_BYTES);
    int fd = regular_file_open(path, &status);
    ssize_t count = start && fd >= 0 ? pread(fd, start, SNIFFED_BYTES, 0) : -1;
    /* Ignore a last line that was cut. */
    while (count == SNIFFED_BYTES && count && start[count - 1] != '\n')
        count--;
    bool ours = count > 0 && (history_begins(start, (size_t)count) ||
                              samples_looks_like_samples(start, (size_t)count));
    FILE *file = ours ? fdopen(fd, "r") : NULL;
    free(start);
    if (!file) {
        if (fd >= 0)
            close(fd);
        return 1;
    }
    int error = samples_read_any(run, file, path, why);
    fclose(file);
    return error;
}

int plot_run_open(struct plot_run *run, const char *path, struct strbuf *why)
{
    *run = (struct plot_run){.path = path};
    if (!strcmp(path, "-"))
        return samples_read_any(run, stdin, "standard input", why);
    int error = samples_open(run, path, why);
    if (error <= 0)
        return error;
    error = profile_read(&run->profile, path);
    if (error)
        strbuf_add_string(why, error_text());
    return error;
}

void plot_run_close(struct plot_run *run)
{
    for (size_t i = 0; i < run->sample_count; i++) {
        free(run->samples[i].function);
        free(run->samples[i].points);
    }
    free(run->samples);
    if (run->history)
        history_release(run->history);
    free(run->history);
    if (run->profile)
        profile_free(run->profile);
    *run = (struct plot_run){0};
}
