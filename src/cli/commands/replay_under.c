/* `tidemark replay --under` (replay_under.h): parses the list of candidates, runs whatif_run() with
 * progress on a terminal, and prints the comparison. */
#include "commands/replay_under.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/options.h"
#include "base/term.h"
#include "base/text.h"
#include "commands/output.h"
#include "trace/trace.h"

enum { USUAL_MOST_COLUMNS = 120, MOST_ROUNDS = 1000 };
#define DEFAULT_PATIENCE_NS 30000000000ull

static int replay_under_complain(const char *about, const char *sentence)
{
    struct strbuf line = STRBUF_INIT;
    int status;

    if (about)
        strbuf_addf(&line, "%s: ", about);
    strbuf_add_string(&line, sentence);
    status = output_complain("replay", line.data);
    strbuf_release(&line);
    return status;
}

int replay_under_add(struct replay_under *under, const char *list)
{
    struct strbuf sentence = STRBUF_INIT;
    int error = whatif_candidates_add(&under->candidates, list, &sentence);

    if (error)
        replay_under_complain("--under", sentence.data);
    strbuf_release(&sentence);
    return error;
}

/* ---- Progress ------------------------------------------------------------------------------ */

static void replay_under_show_progress(void *context, const char *name, unsigned round)
{
    (void)context;
    term_progress("round %u: %s", round + 1, name);
}

/* ---- Printing ------------------------------------------------------------------------------ */

static int replay_under_print_text(FILE *out, const struct whatif *whatif, const char *path,
                                   int colour, uint64_t width)
{
    struct style style = {term_wants_colour((enum term_colour)colour, stdout), term_is_utf8(),
                          output_columns(width, USUAL_MOST_COLUMNS)};
    struct strbuf text = STRBUF_INIT;
    size_t wrote;

    whatif_text(&text, whatif, &style, path);
    wrote = fwrite(text.data, 1, text.length, out);
    if (wrote != text.length || fflush(out)) {
        int error = -errno;
        strbuf_release(&text);
        return error;
    }
    strbuf_release(&text);
    return 0;
}

static int replay_under_print(const struct whatif *whatif, const char *path, bool json, int colour,
                              bool pager, uint64_t width)
{
    struct term_pager to = term_pager_open(pager && !json);
    int error = json ? whatif_json(to.out, whatif, path)
                     : replay_under_print_text(to.out, whatif, path, colour, width);
    int close_error = term_pager_close(&to);

    error = error ? error : close_error;
    if (error && error != -EPIPE)
        return replay_under_complain("cannot write", strerror(-error));
    return 0;
}

static bool replay_under_any_finished(const struct whatif *whatif)
{
    for (size_t i = 0; i < whatif->row_count; i++)
        if (whatif->rows[i].rounds)
            return true;
    return false;
}

int replay_under_run(struct replay_under *under, const char *path, bool json, int colour,
                     bool pager, uint64_t width)
{
    bool is_usual = under->rounds == REPLAY_UNDER_USUAL_ROUNDS;
    struct whatif_options options = {
        .rounds = is_usual ? 3 : (unsigned)under->rounds,
        .order = (enum whatif_order)under->order,
        .touch = (enum whatif_touch)under->touch,
        .patience_ns = under->patience_ns ? under->patience_ns : DEFAULT_PATIENCE_NS,
        .progress = isatty(STDERR_FILENO) ? replay_under_show_progress : NULL,
    };
    struct strbuf sentence = STRBUF_INIT;
    struct whatif *whatif = NULL;
    struct trace *trace;
    int status;

    if (!is_usual && (under->rounds == 0 || under->rounds > MOST_ROUNDS))
        return replay_under_complain(NULL, "--rounds takes 1 to 1000");
    if (trace_open(&trace, path))
        return replay_under_complain(NULL, error_text());
    if (whatif_run(&whatif, trace, &under->candidates, &options, &sentence)) {
        term_progress_end();
        status = replay_under_complain(path, sentence.data);
    } else {
        term_progress_end();
        status = replay_under_print(whatif, path, json, colour, pager, width);
        if (!status && !replay_under_any_finished(whatif))
            status = replay_under_complain(
                path, "no allocator came to the end of the stream: what stopped each is "
                      "said above");
    }
    whatif_free(whatif);
    trace_close(trace);
    strbuf_release(&sentence);
    return status;
}
