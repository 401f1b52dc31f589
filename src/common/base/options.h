/* One table for each command serves getopt_long, --help, the man page's synopsis and shell
 * completion. Values are stored in a structure of the command's own, by offset.
 *
 *     struct record_options { bool quiet; const char *output; uint64_t ring_bytes; int on_full; };
 *     static const struct option_entry entries[] = {
 *         OPTION_GROUP("Output"),
 *         {"output", 'o', OPTION_STRING, "FILE", "write the profile to FILE",
 *          OPTION_TO(struct record_options, output)},
 *         {"on-full", 0, OPTION_CHOICE, "wait|drop", "when a ring is full",
 *          OPTION_TO(struct record_options, on_full)},
 *         OPTION_GROUP_END };
 *     static const struct options_command command = {
 *         "record", "[options] [--] PROGRAM [ARGS…]", "Records …", entries, .stop_at_operand =
 * true};
 *
 * Every command also has --help (-h), --help=all (shows the rare options too) and --dump-options
 * (for completion: tab-separated, one option a line). Long options may be shortened as getopt_long
 * allows. The user's defaults of the command (defaults.h) are set before argv is parsed. */
#ifndef TIDEMARK_BASE_OPTIONS_H
#define TIDEMARK_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/strbuf.h"

/* the status of our own failures, usage included, as with env, timeout and chroot */
#define OPTIONS_EXIT_FAILURE 125

enum option_kind {
    OPTION_END = 0,
    OPTION_TITLE,    /* not an option: a heading in --help (name is the heading) */
    OPTION_FLAG,     /* bool; --name sets */
    OPTION_SWITCH,   /* bool; --name sets, --no-name clears */
    OPTION_STRING,   /* const char *, pointing into argv */
    OPTION_NUMBER,   /* uint64_t */
    OPTION_BYTES,    /* uint64_t, "64M" */
    OPTION_DURATION, /* uint64_t ns, "2s" */
    OPTION_CHOICE,   /* int: position of the value in `argument`, which reads "a|b|c" */
    OPTION_CALL,     /* call(target, value) returns 0, or prints a sentence and returns -errno */
};

struct option_entry {
    const char *name;
    char letter; /* 0: none */
    enum option_kind kind;
    const char *argument; /* its name in --help; "a|b|c" for a choice; NULL for flags */
    const char *help;     /* lower case, no full stop, the default at the end: "(default: 10)" */
    size_t offset;        /* of the value in the target; OPTION_TO(). 0 of OPTION_CALL, whose `call`
                           * has the whole target */
    bool rare;            /* shown by --help=all only, because --help has to fit on a screen */
    int (*call)(void *target, const char *value);
};

#define OPTION_TO(type, field) offsetof(type, field)
#define OPTION_GROUP(title)                                                                        \
    {                                                                                              \
        .name = (title), .kind = OPTION_TITLE                                                      \
    }
#define OPTION_GROUP_END                                                                           \
    {                                                                                              \
        .kind = OPTION_END                                                                         \
    }

struct options_command {
    const char *name;     /* "record" */
    const char *synopsis; /* what follows "tidemark record " */
    const char *purpose;  /* a paragraph; the first sentence is used alone in lists */
    const struct option_entry *entries;
    bool stop_at_operand; /* options end at the first operand, as for env and nice */
    const char *epilogue; /* examples; may be NULL */
};

/* Parses argv[1…]; argv[0] is ignored. Returns the index of the first operand (≤ argc), or
 *   -1   help was printed: exit with 0
 *   -2   a sentence says on stderr what is wrong: exit with OPTIONS_EXIT_FAILURE. */
int options_parse(const struct options_command *command, int argc, char **argv, void *target);
#define OPTIONS_EXIT_STATUS(result) ((result) == -1 ? 0 : OPTIONS_EXIT_FAILURE)
/* The same for a command of exactly one operand, which sentences call `what` ("profile"). No
 * operand or several give -2 with a sentence. */
int options_parse_one(const struct options_command *command, int argc, char **argv, void *target,
                      const char *what);

/* Sets the option with this long name. 0, or -EINVAL with a sentence in `why`, which stays empty if
 * an OPTION_CALL has printed one. */
int options_set(const struct options_command *command, void *target, const char *name,
                const char *value, struct strbuf *why);
/* The same for an option without a value. `on` may be false for OPTION_SWITCH and OPTION_FLAG
 * only. */
int options_switch(const struct options_command *command, void *target, const char *name, bool on,
                   struct strbuf *why);
/* May the option be given several times? */
bool options_repeats(const struct options_command *command, const char *name);

void options_help(const struct options_command *command, FILE *out, size_t columns, bool all);
/* Prints "tidemark record: SENTENCE" and how to get help on stderr. Returns
 * OPTIONS_EXIT_FAILURE. */
int options_usage_error(const struct options_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The candidate nearest to `word` (few edits, or `word` is its beginning); NULL if none is near. */
const char *options_nearest(const char *word, const char *const *candidates, size_t count);

#endif
