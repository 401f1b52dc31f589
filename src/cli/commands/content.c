/* The command `tidemark content`. It reads a profile, or has one written of a process that is being
 * recorded, and shows what its pages hold. */
#include "commands/commands.h"

#include <stdio.h>
#include <string.h>
#include "base/options.h"
#include "base/term.h"
#include "commands/output.h"
#include "commands/profile_of.h"
#include "content/content.h"
#include "profile/profile.h"

enum { USUAL_MOST_COLUMNS = 120, USUAL_TOP = 10 };

struct arguments {
    int colour;
    uint64_t width, top;
    bool json, pager;
};

#define TO(field) OPTION_TO(struct arguments, field)

static const struct option_entry entries[] = {{"top", 'n', OPTION_NUMBER, "COUNT",
                                               "so many owners at most (default: 10)", TO(top),
                                               false, NULL},
                                              OUTPUT_ENTRIES(TO, "CONTENT.md"),
                                              OPTION_GROUP_END};

static const struct options_command command = {
    .name = "content",
    .synopsis = "[options] PROFILE|PID",
    .purpose = "Shows what the resident pages hold that need not be there: zeros, pages like "
               "others, pages that can be compressed; by owner and call path. Of a recording "
               "with --page-content, or of a process that is being recorded, now. What is read is "
               "not kept.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark content $(pidof server)\n"
                "  tidemark record --page-content -o run.tmk ./program\n"
                "  tidemark content run.tmk\n"
                "  tidemark content --json run.tmk | jq .copy_bytes\n",
};

static int cmd_content_show(const struct content *content, const struct arguments *arguments)
{
    struct content_options options = {
        .style = {term_wants_colour((enum term_colour)arguments->colour, stdout), term_is_utf8(),
                  output_columns(arguments->width, USUAL_MOST_COLUMNS)},
        .top = arguments->top,
    };
    struct term_pager pager = term_pager_open(arguments->pager && !arguments->json);
    int error = arguments->json ? content_json(pager.out, content)
                                : content_text(pager.out, content, &options);
    return output_close("content", &pager, error);
}

static int cmd_content_find(const struct profile *profile, const struct arguments *arguments)
{
    struct content content;
    const char *missing = content_missing(profile);
    if (missing)
        return output_complainf("content", "what the pages hold is not known: %s", missing);
    if (content_find(&content, profile))
        return output_complain("content", "out of memory");
    int status = cmd_content_show(&content, arguments);
    content_release(&content);
    return status;
}

static int cmd_content_of(const char *operand, const struct arguments *arguments)
{
    const struct wire_wish wish = {.content = 1};
    struct profile *profile;
    int status = profile_of(&profile, "content", operand, &wish);
    if (status)
        return status;
    status = cmd_content_find(profile, arguments);
    profile_free(profile);
    return status;
}

int cmd_content(int argc, char **argv)
{
    struct arguments arguments = {.pager = true, .top = USUAL_TOP};
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand + 1 != argc)
        return options_usage_error(&command, operand == argc ? "no profile and no process given"
                                                             : "more than one profile given");
    return cmd_content_of(argv[operand], &arguments);
}
