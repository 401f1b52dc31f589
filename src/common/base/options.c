/* The parser of command lines (options.h). Each command's table is translated to getopt_long's
 * arrays. The same table is walked for --help, for completion and for "did you mean", which
 * compares edit distances. */
#include "base/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/defaults.h"
#include "base/human.h"
#include "base/strbuf.h"
#include "base/term.h"
#include "base/text.h"

enum {
    MAX_ENTRIES = 96,
    LETTER_BASE = 256, /* getopt_long's values: 256 + 2 * entry, + 1 for --no-name */
    VALUE_HELP = LETTER_BASE + 2 * MAX_ENTRIES,
    VALUE_DUMP,
    HELP_INDENT = 26,
};

struct options_parser {
    const struct options_command *command;
    struct option longs[2 * MAX_ENTRIES + 3];
    char names[MAX_ENTRIES][64]; /* "no-NAME" of switches */
    char letters[2 * MAX_ENTRIES + 8];
    size_t long_count;
};

static bool options_is_option(const struct option_entry *entry)
{
    return entry->kind != OPTION_TITLE && entry->kind != OPTION_END;
}

static bool options_takes_value(const struct option_entry *entry)
{
    return options_is_option(entry) && entry->kind != OPTION_FLAG && entry->kind != OPTION_SWITCH;
}

static void options_add_long(struct options_parser *parser, const char *name, bool value, int code)
{
    parser->longs[parser->long_count++] =
        (struct option){name, value ? required_argument : no_argument, NULL, code};
}

static void options_parser_init(struct options_parser *parser,
                                const struct options_command *command)
{
    memset(parser, 0, sizeof *parser);
    parser->command = command;
    struct strbuf letters = STRBUF_INIT;
    /* ":" makes getopt tell a missing value from an unknown option; "+" stops at operands. */
    strbuf_add_string(&letters, command->stop_at_operand ? "+:h" : ":h");
    for (size_t i = 0; command->entries[i].kind != OPTION_END; i++) {
        const struct option_entry *entry = &command->entries[i];
        if (i >= MAX_ENTRIES)
            abort();
        if (!options_is_option(entry))
            continue;
        int code = LETTER_BASE + 2 * (int)i;
        options_add_long(parser, entry->name, options_takes_value(entry), code);
        if (entry->kind == OPTION_SWITCH) {
            snprintf(parser->names[i], sizeof parser->names[i], "no-%s", entry->name);
            options_add_long(parser, parser->names[i], false, code + 1);
        }
        if (entry->letter)
            strbuf_addf(&letters, "%c%s", entry->letter, options_takes_value(entry) ? ":" : "");
    }
    parser->longs[parser->long_count++] =
        (struct option){"help", optional_argument, NULL, VALUE_HELP};
    options_add_long(parser, "dump-options", false, VALUE_DUMP);
    snprintf(parser->letters, sizeof parser->letters, "%s", letters.data);
    strbuf_release(&letters);
}

/* ---- Values -------------------------------------------------------------------------------- */

static int options_set_choice(const struct option_entry *entry, const char *value, int *out)
{
    int position = 0;
    for (const char *at = entry->argument; at; position++) {
        size_t length = strcspn(at, "|");
        if (strlen(value) == length && !strncmp(at, value, length)) {
            *out = position;
            return 0;
        }
        at = at[length] ? at + length + 1 : NULL;
    }
    return -EINVAL;
}

static int options_set_value(const struct option_entry *entry, void *target, const char *value,
                             bool on)
{
    void *field = (char *)target + entry->offset;
    switch (entry->kind) {
    case OPTION_FLAG:
    case OPTION_SWITCH:
        *(bool *)field = on;
        return 0;
    case OPTION_STRING:
        *(const char **)field = value;
        return 0;
    case OPTION_NUMBER:
        return human_parse_number(value, field);
    case OPTION_BYTES:
        return human_parse_bytes(value, field);
    case OPTION_DURATION:
        return human_parse_duration(value, field);
    case OPTION_CHOICE:
        return options_set_choice(entry, value, field);
    default:
        return entry->call(target, value);
    }
}

static const char *options_expectation(const struct option_entry *entry)
{
    switch (entry->kind) {
    case OPTION_NUMBER:
        return "a whole number";
    case OPTION_BYTES:
        return "a size such as 4096, 64K or 1.5G";
    case OPTION_DURATION:
        return "a time such as 250ms, 2s or 3min";
    case OPTION_CHOICE:
        return entry->argument;
    default:
        return entry->argument ? entry->argument : "no value";
    }
}

/* ---- Errors -------------------------------------------------------------------------------- */

/* What stands before the command's name: "tidemark ", or "" for a program of its own such as
 * tidemark-mpi. */
static const char *options_program_of(const struct options_command *command)
{
    return strncmp(command->name, "tidemark", 8) ? "tidemark " : "";
}

int options_usage_error(const struct options_command *command, const char *format, ...)
{
    struct strbuf sentence = STRBUF_INIT, safe = STRBUF_INIT;
    va_list arguments;
    va_start(arguments, format);
    strbuf_addv(&sentence, format, arguments);
    va_end(arguments);
    text_add_safe(&safe, sentence.data, sentence.length);
    const char *program = options_program_of(command);
    fprintf(stderr, "%s%s: %s\nTry '%s%s%s'.\n", program, command->name, safe.data,
            *program ? "tidemark help " : "", command->name, *program ? "" : " --help");
    strbuf_release(&sentence);
    strbuf_release(&safe);
    return OPTIONS_EXIT_FAILURE;
}

const char *options_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *nearest = NULL;
    /* one letter in three may be wrong */
    size_t length = strlen(word), best = (length + 1) / 3 + 1;
    for (size_t i = 0; i < count; i++) {
        size_t distance = text_edit_distance(word, candidates[i]);
        if (length >= 3 && !strncmp(word, candidates[i], length))
            distance = 1;
        if (distance < best && distance < strlen(candidates[i])) {
            best = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}

static void options_complain_unknown_long(const struct options_parser *parser, const char *argument)
{
    const char *candidates[2 * MAX_ENTRIES + 3];
    size_t count = 0, length = strcspn(argument, "=");
    for (size_t i = 0; i < parser->long_count; i++)
        if (parser->longs[i].val != VALUE_DUMP)
            candidates[count++] = parser->longs[i].name;
    char *word = strndup(argument + 2, length - 2);
    const char *nearest = word ? options_nearest(word, candidates, count) : NULL;
    if (nearest)
        options_usage_error(parser->command, "unknown option '--%s', did you mean '--%s'?", word,
                            nearest);
    else
        options_usage_error(parser->command, "unknown option '--%s'", word ? word : "");
    free(word);
}

static bool options_is_exact_or_prefix(const struct options_parser *parser, const char *argument,
                                       size_t *matches)
{
    size_t length = strcspn(argument, "=");
    *matches = 0;
    for (size_t i = 0; i < parser->long_count; i++) {
        if (strncmp(parser->longs[i].name, argument, length))
            continue;
        ++*matches;
        if (!parser->longs[i].name[length])
            return true;
    }
    return *matches == 1;
}

static void options_complain_unknown(const struct options_parser *parser, const char *argument)
{
    size_t matches;
    if (strncmp(argument, "--", 2))
        options_usage_error(parser->command, "unknown option '-%c'", optopt);
    else if (options_is_exact_or_prefix(parser, argument + 2, &matches))
        options_usage_error(parser->command, "option '%.*s' takes no value",
                            (int)strcspn(argument, "="), argument);
    else if (matches > 1)
        options_usage_error(parser->command, "option '%s' is short for more than one", argument);
    else
        options_complain_unknown_long(parser, argument);
}

/* ---- Help ---------------------------------------------------------------------------------- */

/* "=a|b|c", on further lines where there are many. Returns the width of the last one. */
static size_t options_add_argument(struct strbuf *out, const char *argument, size_t width,
                                   size_t columns)
{
    strbuf_add_char(out, '=');
    width++;
    for (size_t length; *argument; argument += length) {
        length = strcspn(argument, "|");
        length += argument[length] == '|';
        struct strbuf part = STRBUF_INIT;
        strbuf_add(&part, argument, length);
        if (width + text_width(part.data) > columns) {
            strbuf_add_char(out, '\n');
            strbuf_add_repeated(out, " ", HELP_INDENT);
            width = HELP_INDENT;
        }
        strbuf_add(out, part.data, part.length);
        width += text_width(part.data);
        strbuf_release(&part);
    }
    return width;
}

static void options_add_option_help(struct strbuf *out, const struct option_entry *entry,
                                    size_t columns)
{
    struct strbuf left = STRBUF_INIT;
    if (entry->letter)
        strbuf_addf(&left, "  -%c, ", entry->letter);
    else
        strbuf_add_string(&left, "      ");
    strbuf_addf(&left, "--%s%s", entry->kind == OPTION_SWITCH ? "[no-]" : "", entry->name);
    strbuf_add(out, left.data, left.length);
    size_t width = text_width(left.data);
    if (options_takes_value(entry))
        width = options_add_argument(out, entry->argument, width, columns);
    if (width + 2 > HELP_INDENT) {
        strbuf_add_char(out, '\n');
        width = 0;
    }
    strbuf_add_repeated(out, " ", HELP_INDENT - width);
    text_add_wrapped(out, entry->help, HELP_INDENT, columns);
    strbuf_add_char(out, '\n');
    strbuf_release(&left);
}

/* Does the group that begins with this title have an option to show? */
static bool options_group_is_shown(const struct option_entry *title, bool all)
{
    for (const struct option_entry *entry = title + 1; options_is_option(entry); entry++)
        if (all || !entry->rare)
            return true;
    return false;
}

static void options_add_help_of_help(struct strbuf *out, const struct option_entry *entries,
                                     bool all, size_t columns)
{
    size_t rare = 0;
    for (; entries->kind != OPTION_END; entries++)
        rare += entries->rare;
    const struct option_entry help = {
        .name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "show this text"};
    const struct option_entry more = {
        .name = "help=all", .kind = OPTION_FLAG, .help = "show the rarer options too"};
    options_add_option_help(out, &help, columns);
    if (rare && !all)
        options_add_option_help(out, &more, columns);
}

void options_help(const struct options_command *command, FILE *out, size_t columns, bool all)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "Usage: %s%s %s\n\n", options_program_of(command), command->name,
                command->synopsis);
    text_add_wrapped(&text, command->purpose, 0, columns);
    strbuf_add_char(&text, '\n');
    if (options_is_option(&command->entries[0]))
        strbuf_add_string(&text, "\nOptions:\n");
    for (const struct option_entry *entry = command->entries; entry->kind != OPTION_END; entry++) {
        if (entry->kind == OPTION_TITLE && options_group_is_shown(entry, all))
            strbuf_addf(&text, "\n%s:\n", entry->name);
        else if (options_is_option(entry) && (all || !entry->rare))
            options_add_option_help(&text, entry, columns);
    }
    options_add_help_of_help(&text, command->entries, all, columns);
    if (command->epilogue)
        strbuf_addf(&text, "\n%s", command->epilogue);
    fputs(text.data, out);
    strbuf_release(&text);
}

/* For shell completion and the man pages: letter, name, argument, help. */
static void options_dump(const struct options_command *command)
{
    for (const struct option_entry *entry = command->entries; entry->kind != OPTION_END; entry++) {
        if (!options_is_option(entry))
            continue;
        char letter[2] = {entry->letter, 0};
        printf("%s\t%s\t%s\t%s\n", letter, entry->name, entry->argument ? entry->argument : "",
               entry->help);
        if (entry->kind == OPTION_SWITCH)
            printf("\tno-%s\t\tnot: %s\n", entry->name, entry->help);
    }
    printf("h\thelp\t\tshow this text\n");
}

/* ---- Parsing ------------------------------------------------------------------------------- */

static const struct option_entry *options_entry_of(const struct options_parser *parser, int code,
                                                   bool *on)
{
    *on = true;
    if (code >= LETTER_BASE) {
        *on = (code - LETTER_BASE) % 2 == 0;
        return &parser->command->entries[(code - LETTER_BASE) / 2];
    }
    const struct option_entry *entry = parser->command->entries;
    while (entry->letter != code || !options_is_option(entry))
        entry++;
    return entry;
}

static const struct option_entry *options_entry_named(const struct options_command *command,
                                                      const char *name)
{
    for (const struct option_entry *entry = command->entries; entry->kind != OPTION_END; entry++)
        if (options_is_option(entry) && !strcmp(entry->name, name))
            return entry;
    return NULL;
}

static int options_complain_of_name(const struct options_command *command, const char *name,
                                    struct strbuf *why)
{
    const char *candidates[MAX_ENTRIES];
    size_t count = 0;
    for (const struct option_entry *entry = command->entries; entry->kind != OPTION_END; entry++)
        if (options_is_option(entry))
            candidates[count++] = entry->name;
    const char *nearest = options_nearest(name, candidates, count);
    strbuf_add_string(why, "no option '");
    text_add_safe_string(why, name);
    strbuf_addf(why, nearest ? "' for %s, did you mean '%s'?" : "' for %s", command->name, nearest);
    return -EINVAL;
}

static int options_complain_of_value(const struct option_entry *entry, struct strbuf *why)
{
    strbuf_addf(why, "%s is %s", entry->name,
                options_takes_value(entry) ? options_expectation(entry) : "true or false");
    return -EINVAL;
}

int options_set(const struct options_command *command, void *target, const char *name,
                const char *value, struct strbuf *why)
{
    const struct option_entry *entry = options_entry_named(command, name);
    if (!entry)
        return options_complain_of_name(command, name, why);
    bool is_right = options_takes_value(entry) && entry->argument &&
                    options_set_value(entry, target, value, true) == 0;
    return is_right ? 0 : options_complain_of_value(entry, why);
}

int options_switch(const struct options_command *command, void *target, const char *name, bool on,
                   struct strbuf *why)
{
    const struct option_entry *entry = options_entry_named(command, name);
    if (!entry)
        return options_complain_of_name(command, name, why);
    bool is_call = entry->kind == OPTION_CALL && !entry->argument;
    if ((options_takes_value(entry) && !is_call) || (is_call && !on))
        return options_complain_of_value(entry, why);
    return options_set_value(entry, target, NULL, on) ? -EINVAL : 0;
}

bool options_repeats(const struct options_command *command, const char *name)
{
    const struct option_entry *entry = options_entry_named(command, name);
    return entry && entry->kind == OPTION_CALL;
}

/* -1 or -2, as options_parse(). */
static int options_print_help(const struct options_command *command, const char *how)
{
    if (how && strcmp(how, "all")) {
        options_usage_error(command, "'%s' is not right for --help: expected all, or nothing", how);
        return -2;
    }
    options_help(command, stdout, term_columns(stdout), how);
    return -1;
}

static int options_take_defaults(const struct options_command *command, void *target)
{
    struct strbuf why = STRBUF_INIT;
    int error = defaults_apply(command, target, &why);
    if (error)
        fprintf(stderr, "%s%s: %s\n", options_program_of(command), command->name, why.data);
    strbuf_release(&why);
    return error ? -2 : 0;
}

static int options_take(const struct options_parser *parser, int code, void *target)
{
    bool on;
    const struct option_entry *entry = options_entry_of(parser, code, &on);
    int error = options_set_value(entry, target, optarg, on);
    if (error && entry->kind != OPTION_CALL)
        options_usage_error(parser->command,
                            error == -ERANGE ? "'%s' is out of range for --%s (%s)"
                                             : "'%s' is not right for --%s: expected %s",
                            optarg, entry->name, options_expectation(entry));
    return error ? -2 : 0;
}

int options_parse(const struct options_command *command, int argc, char **argv, void *target)
{
    struct options_parser parser;
    options_parser_init(&parser, command);
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    if (options_take_defaults(command, target))
        return -2;
    for (;;) {
        int code = getopt_long(argc, argv, parser.letters, parser.longs, NULL);
        int result = 0;
        if (code == -1)
            return optind;
        switch (code) {
        case '?':
            options_complain_unknown(&parser,
                                     optopt && optopt < LETTER_BASE ? "-" : argv[optind - 1]);
            return -2;
        case ':':
            options_usage_error(command, "option '%s' needs a value", argv[optind - 1]);
            return -2;
        case 'h':
        case VALUE_HELP:
            return options_print_help(command, code == 'h' ? NULL : optarg);
        case VALUE_DUMP:
            options_dump(command);
            return -1;
        default:
            result = options_take(&parser, code, target);
        }
        if (result)
            return result;
    }
}

int options_parse_one(const struct options_command *command, int argc, char **argv, void *target,
                      const char *what)
{
    int operand = options_parse(command, argc, argv, target);
    if (operand < 0 || operand + 1 == argc)
        return operand;
    options_usage_error(command, operand == argc ? "no %s given" : "more than one %s given", what);
    return -2;
}
