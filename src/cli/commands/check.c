/* The command `tidemark check`: a recording against its budget, for people and for CI systems.
 * It reads the budget, the suppressions and the baseline, and the budget room judges. The exit
 * status is the verdict. With --update the budget and the baseline are written instead of a
 * verdict. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/old_file.h"
#include "base/options.h"
#include "base/own_file.h"
#include "base/regular.h"
#include "base/strbuf.h"
#include "base/term.h"
#include "base/text.h"
#include "budget/budget.h"
#include "commands/filter_options.h"
#include "commands/known_leaks.h"
#include "commands/output.h"
#include "commands/whole_file.h"
#include "profile/profile.h"

enum { USUAL_MOST_COLUMNS = 120, EXIT_EXCEEDED = 1 };
#define USUAL_HEADROOM 0.10

struct arguments {
    const char *budget, *baseline, *tolerance, *headroom, *junit, *sarif, *filter;
    struct known_leaks suppressions;
    int format, colour;
    uint64_t width;
    bool json, update, allow_loss;
};

#define TO(field) OPTION_TO(struct arguments, field)

static int cmd_check_add_suppressions(void *target, const char *value);

static const struct option_entry entries[] = {
    OPTION_GROUP("What to check"),
    {"budget", 'b', OPTION_STRING, "FILE", "limits, as doc/BUDGET.md describes", TO(budget), false,
     NULL},
    {"baseline", 'B', OPTION_STRING, "PROFILE",
     "an earlier recording, for limits on growth; without a budget peak, live bytes and "
     "allocations "
     "may not grow by more than the tolerance",
     TO(baseline), false, NULL},
    {"tolerance", 't', OPTION_STRING, "SHARE", "of those limits (default: 5%)", TO(tolerance),
     false, NULL},
    {"suppressions", 'S', OPTION_CALL, "FILE",
     "known leaks, as LeakSanitizer or valgrind take them; may be repeated", 0, false,
     cmd_check_add_suppressions},
    {"filter", 0, OPTION_STRING, "REGEX", FILTER_HELP, TO(filter), false, NULL},
    {"allow-loss", 0, OPTION_FLAG, NULL,
     "check recordings that are not whole too, whose figures are too small", TO(allow_loss), false,
     NULL},
    {"update", 'u', OPTION_FLAG, NULL,
     "write what was measured into the budget, or a first one, and make the recording the "
     "baseline; old files are kept as .old",
     TO(update), false, NULL},
    {"headroom", 0, OPTION_STRING, "SHARE", "with --update: so much more (default: 10%)",
     TO(headroom), false, NULL},
    OPTION_GROUP("How to say it"),
    {"format", 'f', OPTION_CHOICE, "text|json|junit|sarif|github", "on stdout (default: text)",
     TO(format), false, NULL},
    {"json", 'j', OPTION_FLAG, NULL, "--format json", TO(json), false, NULL},
    {"junit", 0, OPTION_STRING, "FILE", "JUnit's XML into a file too", TO(junit), false, NULL},
    {"sarif", 0, OPTION_STRING, "FILE", "SARIF into a file too", TO(sarif), false, NULL},
    {"color", 0, OPTION_CHOICE, TERM_COLOUR_CHOICE, "colour (default: auto; NO_COLOR is respected)",
     TO(colour), true, NULL},
    {"width", 'w', OPTION_NUMBER, "COLUMNS",
     "as wide as this, 72 at least (default: the terminal, else 80)", TO(width), true, NULL},
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "check",
    .synopsis = "[options] PROFILE",
    .purpose = "Checks that a recording keeps a budget of memory, or has not grown from an earlier "
               "one. The exit status is 1 where it has not, and the call paths that have most of "
               "it are shown.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark check run.tmk --budget budget.toml --update    # once\n"
                "  tidemark check run.tmk --budget budget.toml             # ever after\n"
                "  tidemark check run.tmk --baseline main.tmk --tolerance 2% -f github\n",
};

static int cmd_check_add_suppressions(void *target, const char *value)
{
    struct arguments *arguments = target;
    return known_leaks_name(&arguments->suppressions, value);
}

/* Writes a file; an earlier one is kept as .old. 0 or an exit status. */
static int cmd_check_write_file(const char *path, const char *bytes, size_t count, bool is_private)
{
    struct whole_file file;
    int status = whole_file_open(&file, "check", path, true);
    if (status)
        return status;
    int error = fwrite(bytes, 1, count, file.out) == count && !fflush(file.out) ? 0 : -errno;
    if (!error && is_private && fchmod(fileno(file.out), S_IRUSR | S_IWUSR))
        error = -errno;
    if (!error)
        error = old_file_keep(path, NULL);
    if (error)
        status = whole_file_complain_of("check", "cannot write", path, -error);
    return whole_file_close(&file, status);
}

/* A text may take the place of an earlier one of its kind, and of nothing else: it begins the
 * same. */
static int cmd_check_earlier(const char *path, const char *text)
{
    char beginning[16];
    snprintf(beginning, sizeof beginning, "%s", text);
    return own_file_check_text(path, beginning) == -EEXIST
               ? output_complainf(
                     "check",
                     "will not replace %s: it is another kind of file; choose another name", path)
               : 0;
}

typedef int write_check(FILE *out, const struct budget_check *check);

static int cmd_check_write_format(const char *path, write_check *write,
                                  const struct budget_check *check)
{
    char *bytes = NULL;
    size_t count = 0;
    if (!path)
        return 0;
    FILE *out = open_memstream(&bytes, &count);
    int error = out ? write(out, check) : -ENOMEM;
    if (out)
        fclose(out);
    int status = error ? output_complainf("check", "cannot write %s: %s", path, strerror(-error))
                       : cmd_check_earlier(path, bytes);
    status = status ? status : cmd_check_write_file(path, bytes, count, false);
    free(bytes);
    return status;
}

/* ---- Checking ------------------------------------------------------------------------------ */

struct checking {
    const struct arguments *arguments;
    const char *file;
    struct profile *profile, *baseline;
    struct budget budget;
    bool *passes[2]; /* the filter, of the profile and of the baseline */
    struct suppressions suppressions;
    double headroom;
};

static int cmd_check_show(const struct checking *checking, const struct budget_check *check)
{
    const struct arguments *arguments = checking->arguments;
    struct style style = {term_wants_colour((enum term_colour)arguments->colour, stdout),
                          term_is_utf8(), output_columns(arguments->width, USUAL_MOST_COLUMNS)};
    static write_check *const writers[] = {NULL, budget_json, budget_junit, budget_sarif,
                                           budget_github};
    int format = arguments->json ? 1 : arguments->format;
    int error = format ? writers[format](stdout, check) : budget_text(stdout, check, &style);
    if (error && error != -EPIPE)
        return output_complainf("check", "cannot write: %s", strerror(-error));
    int status = cmd_check_write_format(arguments->junit, budget_junit, check);
    return status ? status : cmd_check_write_format(arguments->sarif, budget_sarif, check);
}

static bool cmd_check_is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return !stat(a, &of_a) && !stat(b, &of_b) && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

static int cmd_check_copy_baseline(const struct checking *checking)
{
    struct regular_file file;
    const char *to = checking->arguments->baseline;
    if (!to || cmd_check_is_same_file(checking->file, to))
        return 0;
    if (!checking->profile->complete || checking->profile->being_written)
        return output_complainf("check", "%s is no baseline: its recording did not come to its end",
                                checking->file);
    int error = regular_file_read(&file, checking->file, SIZE_MAX / 2);
    if (error)
        return output_complainf("check", "cannot read %s: %s", checking->file, strerror(-error));
    int status = cmd_check_write_file(to, file.bytes, file.count, true);
    free(file.bytes);
    if (!status)
        printf("%s is the recording now.\n", to);
    return status;
}

/* `check`: NULL where there is no budget yet. */
static int cmd_check_update_budget(const struct checking *checking,
                                   const struct budget_check *check)
{
    const char *path = checking->arguments->budget;
    struct strbuf text = STRBUF_INIT;
    size_t changed = 0;
    if (!path)
        return 0;
    if (check)
        budget_updated(&text, check, checking->headroom, &changed);
    else
        budget_first(&text, checking->profile, checking->headroom);
    int status = !check || changed ? cmd_check_write_file(path, text.data, text.length, false) : 0;
    if (!status && !check)
        printf("%s is a first budget: what was measured and %.3g %% more.\n", path,
               100 * checking->headroom);
    else if (!status)
        printf("%s: %zu limit%s raised%s.\n", path, changed, changed == 1 ? "" : "s",
               changed ? ", to what was measured and the headroom" : "");
    strbuf_release(&text);
    return status;
}

static int cmd_check_judge(struct checking *checking)
{
    const struct arguments *arguments = checking->arguments;
    struct budget_check check;
    if (budget_judge(&check, &checking->budget, checking->profile, checking->file,
                     checking->baseline, arguments->baseline, &checking->suppressions,
                     arguments->allow_loss))
        return output_complainf("check", "out of memory");
    int status;
    if (arguments->update) {
        status = cmd_check_update_budget(checking, arguments->budget ? &check : NULL);
        status = status ? status : cmd_check_copy_baseline(checking);
    } else {
        status = cmd_check_show(checking, &check);
        if (!status && (check.exceeded || check.unknown))
            status = EXIT_EXCEEDED;
    }
    budget_check_release(&check);
    return status;
}

/* ---- What is given ------------------------------------------------------------------------- */

static bool cmd_check_is_there(const char *path)
{
    return path && !access(path, F_OK);
}

static int cmd_check_read_budget(struct checking *checking)
{
    const struct arguments *arguments = checking->arguments;
    struct strbuf why = STRBUF_INIT;
    int status = 0;
    if (arguments->budget && budget_read(&checking->budget, arguments->budget, &why))
        status = output_complainf("check", "%s", why.data);
    strbuf_release(&why);
    if (!status && !arguments->budget && budget_add_usual(&checking->budget))
        status = output_complainf("check", "out of memory");
    if (!status && !arguments->baseline && !arguments->update &&
        budget_has_growth(&checking->budget))
        status = output_complainf("check", "%s limits growth: from what? Give --baseline OLD.tmk",
                                  arguments->budget);
    return status;
}

static int cmd_check_read_all_suppressions(struct checking *checking)
{
    int status = 0;
    for (size_t i = 0; i < checking->budget.suppression_count && !status; i++)
        status =
            known_leaks_read("check", &checking->suppressions, checking->budget.suppressions[i]);
    for (size_t i = 0; i < checking->arguments->suppressions.count && !status; i++)
        status = known_leaks_read("check", &checking->suppressions,
                                  checking->arguments->suppressions.files[i]);
    return status;
}

/* Warns of a baseline that may be the wrong file: of another program, or only one of the two is a
 * sample. It is compared all the same, since each build may have a name of its own. */
static void cmd_check_doubt_baseline(const struct checking *checking)
{
    const char *now = profile_get(checking->profile, PROFILE_META_PROGRAM);
    const char *then = profile_get(checking->baseline, PROFILE_META_PROGRAM);
    if (now && then && strcmp(now, then)) {
        struct strbuf names = STRBUF_INIT;
        text_add_safe_string(&names, then);
        strbuf_add_string(&names, ", and this one of ");
        text_add_safe_string(&names, now);
        output_complainf("check", "the baseline is a recording of %s", names.data);
        strbuf_release(&names);
    }
    if (!checking->profile->sample_bytes != !checking->baseline->sample_bytes)
        output_complainf(
            "check",
            "%s is a sample, and what it is compared with is not: mind that its figures are "
            "estimates",
            checking->baseline->sample_bytes ? checking->arguments->baseline : checking->file);
}

static int cmd_check_filter(struct checking *checking)
{
    const char *filter = checking->arguments->filter;
    int status = filter_paths("check", checking->profile, filter, &checking->passes[0]);
    if (!status && checking->baseline)
        status = filter_paths("check", checking->baseline, filter, &checking->passes[1]);
    checking->budget.filter = filter;
    checking->budget.passes = checking->passes[0];
    checking->budget.passes_baseline = checking->passes[1];
    return status;
}

static int cmd_check_profile(struct checking *checking)
{
    const struct arguments *arguments = checking->arguments;
    if (profile_read(&checking->profile, checking->file))
        return output_complainf("check", "%s", error_text());
    if (arguments->update && arguments->budget && !cmd_check_is_there(arguments->budget)) {
        int status = cmd_check_update_budget(checking, NULL);
        return status ? status : cmd_check_copy_baseline(checking);
    }
    if (arguments->update && !cmd_check_is_there(arguments->baseline) && !arguments->budget)
        return cmd_check_copy_baseline(checking);
    if (cmd_check_is_there(arguments->baseline) || !arguments->update)
        if (arguments->baseline && profile_read(&checking->baseline, arguments->baseline))
            return output_complainf("check", "the baseline: %s", error_text());
    if (checking->baseline)
        cmd_check_doubt_baseline(checking);
    int status = cmd_check_read_budget(checking);
    status = status ? status : cmd_check_read_all_suppressions(checking);
    status = status ? status : cmd_check_filter(checking);
    return status ? status : cmd_check_judge(checking);
}

/* 0 or -EINVAL with a sentence. */
static int cmd_check_take_share(const char *option, const char *text, double *share)
{
    bool is_share = true;
    if (text && (budget_parse_amount(text, BUDGET_UNIT_SHARE, share, &is_share) || !is_share)) {
        options_usage_error(&command, "'%s' is not right for --%s: expected a share such as 5%%",
                            text, option);
        return -EINVAL;
    }
    return 0;
}

int cmd_check(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct checking checking = {.arguments = &arguments, .headroom = USUAL_HEADROOM};
    int operand = options_parse_one(&command, argc, argv, &arguments, "profile");
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (!arguments.budget && !arguments.baseline)
        return options_usage_error(&command, "against what? Give --budget FILE or --baseline "
                                             "PROFILE");
    if (cmd_check_take_share("tolerance", arguments.tolerance, &checking.budget.tolerance) ||
        cmd_check_take_share("headroom", arguments.headroom, &checking.headroom))
        return OPTIONS_EXIT_FAILURE;
    checking.budget.has_tolerance = arguments.tolerance != NULL;
    if (!filter_is_right(&command, arguments.filter, NULL))
        return OPTIONS_EXIT_FAILURE;
    if (arguments.filter && arguments.update)
        return options_usage_error(&command, "--filter is for checking: a budget that --update "
                                             "writes is of all call paths");
    checking.file = argv[operand];
    int status = cmd_check_profile(&checking);
    budget_release(&checking.budget);
    suppressions_release(&checking.suppressions);
    free(checking.passes[0]);
    free(checking.passes[1]);
    profile_free(checking.profile);
    profile_free(checking.baseline);
    free(arguments.suppressions.files);
    return status;
}
