/* Reads BFM_OPTIONS: a loop over the commas, and a table of names with the kind and the address of
 * each value. In the first calls of ld.so there is no `environ` yet. Then the text comes from
 * /proc/self/environ. The text is ignored in a program with AT_SECURE. */
#include "bfm/bfm_options.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "bfm/layout.h"
#include "bfm/os.h"

struct options options = {
    .decay_ms = 1000,
    .huge_pages = true,
    .populate = true,
    .cache_bytes = (size_t)64 << 20,
};

static const char variable[] = "BFM_OPTIONS=";

enum option_kind { FLAG, NO_FLAG, MILLISECONDS, MEBIBYTES };

static const struct {
    const char *name;
    enum option_kind kind;
    void *value;
} table[] = {
    {"check", FLAG, &options.check},
    {"canary", FLAG, &options.canary},
    {"random", FLAG, &options.random},
    {"zero", FLAG, &options.zero},
    {"guard", FLAG, &options.guard},
    {"no-huge", NO_FLAG, &options.huge_pages},
    {"no-populate", NO_FLAG, &options.populate},
    {"decay", MILLISECONDS, &options.decay_ms},
    {"cache", MEBIBYTES, &options.cache_bytes},
};

enum { OPTIONS = sizeof table / sizeof *table, NAME_MOST = 32 };

static bool bfm_options_parse_number(const char *text, size_t length, uint64_t *number)
{
    uint64_t value = 0;

    if (!length || length > 9)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *number = value;
    return true;
}

static bool bfm_options_set_value(unsigned which, const char *value, size_t length)
{
    uint64_t number;

    switch (table[which].kind) {
    case FLAG:
    case NO_FLAG:
        if (value)
            return false;
        *(bool *)table[which].value = table[which].kind == FLAG;
        return true;
    case MILLISECONDS:
        if (value && length == 5 && !memcmp(value, "never", 5))
            number = DECAY_NEVER;
        else if (!value || !bfm_options_parse_number(value, length, &number))
            return false;
        *(uint64_t *)table[which].value = number;
        return true;
    case MEBIBYTES:
        if (!value || !bfm_options_parse_number(value, length, &number) || number > 1 << 20)
            return false;
        *(size_t *)table[which].value = (size_t)number << 20;
        return true;
    }
    return false;
}

static bool bfm_options_parse_one(const char *text, size_t length)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : length;

    for (unsigned i = 0; i < OPTIONS; i++)
        if (strlen(table[i].name) == name && !memcmp(table[i].name, text, name))
            return bfm_options_set_value(i, equals ? equals + 1 : NULL,
                                         equals ? length - name - 1 : 0);
    return false;
}

static void bfm_options_complain(const char *text, size_t length)
{
    char name[NAME_MOST + 1];

    length = length < NAME_MOST ? length : NAME_MOST;
    memcpy(name, text, length);
    name[length] = 0;
    os_say("BFM: BFM_OPTIONS: \"");
    os_say(name);
    os_say(
        "\" is not understood and ignored; there are check, canary, random, zero, guard, no-huge, "
        "no-populate, decay=MS|never, cache=MIB\n");
}

static void bfm_options_parse(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, ",");
        if (length && !bfm_options_parse_one(text, length))
            bfm_options_complain(text, length);
        text += length + (text[length] == ',');
    }
    /* canary, random, zero and guard work only without thread caches, as `check` does. */
    options.check |= options.canary | options.random | options.zero | options.guard;
}

/* For the first calls of ld.so, when `environ` is not set yet. */
static const char *bfm_options_find_in_proc(char *buffer, size_t bytes)
{
    int saved = errno, fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    size_t have = 0, length;
    ssize_t got;

    while (fd >= 0 && have < bytes - 1 && (got = read(fd, buffer + have, bytes - 1 - have)) > 0)
        have += (size_t)got;
    if (fd >= 0)
        close(fd);
    errno = saved;
    buffer[have] = 0;
    for (const char *entry = buffer; entry < buffer + have; entry += length + 1) {
        length = strlen(entry);
        if (!strncmp(entry, variable, sizeof variable - 1))
            return entry + sizeof variable - 1;
    }
    return NULL;
}

/* In a function of its own: only ld.so's stack is sure to have so much room. */
static __attribute__((noinline)) void bfm_options_read_proc(void)
{
    char buffer[32768];
    const char *text = bfm_options_find_in_proc(buffer, sizeof buffer);

    if (text)
        bfm_options_parse(text);
}

static void bfm_options_read_huge_always(void)
{
    char text[64];
    int saved = errno;
    int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (fd >= 0)
        close(fd);
    errno = saved;
    if (got <= 0)
        return;
    text[got] = 0;
    options.huge_always = strstr(text, "[always]");
    options.huge_pages &= !strstr(text, "[never]");
}

void bfm_options_read(void)
{
    const char *text = NULL;

    bfm_options_read_huge_always();
    if (getauxval(AT_SECURE))
        return;
    if (!environ)
        bfm_options_read_proc();
    for (char **entry = environ; entry && *entry; entry++)
        if (!strncmp(*entry, variable, sizeof variable - 1))
            text = *entry + sizeof variable - 1;
    if (text)
        bfm_options_parse(text);
}
