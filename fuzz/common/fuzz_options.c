/* Any bytes as a command line: its words end with NUL; or, if they begin with "[", as a file of
 * defaults. What is taken is in the table, operands are words of the line, and choices are among
 * those that there are; what is wrong with a file is said. What is printed is for nobody
 * (-close_fd_mask=3). */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/defaults.c" /* to forget what was read before */
#include "fuzz.h"

enum { WORDS = 32 };

struct target {
    bool flag, brief, on;
    const char *name;
    uint64_t number, bytes, duration;
    int choice;
    unsigned calls;
};

static int call(void *target, const char *value)
{
    ((struct target *)target)->calls++;
    return *value == '!' ? -EINVAL : 0;
}

#define TO(field) OPTION_TO(struct target, field)
static const struct option_entry entries[] = {
    {"flag", 'f', OPTION_FLAG, NULL, "a flag", TO(flag), false, NULL},
    {"flagged", 0, OPTION_FLAG, NULL, "begins likewise", TO(brief), true, NULL},
    OPTION_GROUP("Values"),
    {"switch", 's', OPTION_SWITCH, NULL, "on or off", TO(on), false, NULL},
    {"name", 'n', OPTION_STRING, "NAME", "any text", TO(name), false, NULL},
    {"number", 'N', OPTION_NUMBER, "N", "a number", TO(number), false, NULL},
    {"bytes", 'b', OPTION_BYTES, "SIZE", "a size", TO(bytes), false, NULL},
    {"duration", 'd', OPTION_DURATION, "TIME", "a time", TO(duration), false, NULL},
    {"choice", 'c', OPTION_CHOICE, "one|two|three", "one of these", TO(choice), false, NULL},
    {"call", 0, OPTION_CALL, "VALUE", "calls", 0, false, call},
    OPTION_GROUP_END};

static const struct options_command commands[2] = {
    {.name = "fuzz", .synopsis = "[options]", .purpose = "Takes anything.", .entries = entries},
    {.name = "fuzz",
     .synopsis = "[options] PROGRAM",
     .purpose = "Takes anything up to an operand.",
     .entries = entries,
     .stop_at_operand = true,
     .epilogue = "An example.\n"}};

static int split(char *line, size_t size, char **words)
{
    int count = 1;
    words[0] = (char *)"fuzz";
    for (size_t at = 0; at < size && count < WORDS - 1; at += strlen(line + at) + 1)
        words[count++] = line + at;
    words[count] = NULL;
    return count;
}

static void parse(const struct options_command *command, const char *text, size_t size)
{
    char *words[WORDS], *line = malloc(size + 1);
    struct target target = {0};
    if (!line)
        abort();
    memcpy(line, text, size);
    line[size] = 0;
    int count = split(line, size, words);
    int operand = options_parse(command, count, words, &target);
    must(operand == -1 || operand == -2 || (operand >= 1 && operand <= count));
    must(target.choice >= 0 && target.choice < 3);
    must(!target.name || (target.name >= line && target.name <= line + size));
    for (int i = operand; i > 0 && i < count; i++)
        must(words[i] >= line && words[i] <= line + size);
    free(line);
}

static void forget(void)
{
    while (defaults_file_count) {
        free(defaults_files[--defaults_file_count].path);
        toml_release(&defaults_files[defaults_file_count].toml);
    }
}

static void configure(const uint8_t *data, size_t size)
{
    static const char *const sections[] = {"fuzz", "record"};
    struct target target = {0};
    struct strbuf why = STRBUF_INIT;
    char path[64];
    int file = memfd_create("config", MFD_CLOEXEC);
    must(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    setenv("TIDEMARK_CONFIG", path, 1);
    int error = defaults_load(sections, 2, &why);
    if (!error)
        error = defaults_apply(&commands[0], &target, &why);
    must(!error == !why.length);
    must(target.choice >= 0 && target.choice < 3);
    must(!target.name || strlen(target.name) <= size);
    strbuf_release(&why);
    forget();
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && *data == '[') {
        configure(data, size);
        return 0;
    }
    parse(&commands[0], (const char *)data, size);
    parse(&commands[1], (const char *)data, size);
    return 0;
}
