/* Memory for reading (allowance.h). The limit is the data that the process has already
 * (/proc/self/statm) plus the allowance, which MemAvailable bounds. When the last reader ends, the
 * limit becomes what it was before. */
#include "base/allowance.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/human.h"
#include "base/text.h"

/* Reading a profile of a million call paths takes 90 times its packed size. Real files are rarely
 * packed better than 100 to 1; files made to do harm are packed 1000 to 1 and better. */
#define ALLOWANCE_LEAST (256ull << 20)
#define ALLOWANCE_TIMES 500

static pthread_mutex_t allowance_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned allowance_readers;
static bool allowance_is_set; /* the limit is ours now */
static struct rlimit allowance_before;
static uint64_t allowance_bytes;
static char allowance_name[160];

/* A number out of a file of /proc: the one behind `key`, and of the numbers there the one with the
 * index `field`. 0: the file cannot be read, or it has none. */
static uint64_t allowance_number(const char *path, const char *key, unsigned field)
{
    char text[2048];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got < 0 ? 0 : got] = 0;
    const char *at = strstr(text, key);
    at = at ? at + strlen(key) : "";
    for (; field && *at; field--)
        at += strcspn(at, " ") + 1;
    return strtoull(at, NULL, 10);
}

static uint64_t allowance_data_now(void)
{
    return allowance_number("/proc/self/statm", "", 5) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* False: TIDEMARK_READ_MEMORY is not set, or is no size. */
static bool allowance_asked(uint64_t *asked)
{
    const char *variable = getenv("TIDEMARK_READ_MEMORY");
    return variable && *variable && !human_parse_bytes(variable, asked);
}

uint64_t allowance_least(void)
{
    uint64_t asked;
    return allowance_asked(&asked) ? asked : ALLOWANCE_LEAST;
}

uint64_t allowance_most(void)
{
    uint64_t free_bytes = allowance_number("/proc/meminfo", "MemAvailable:", 0) << 10;
    return free_bytes ? free_bytes - free_bytes / 8 : UINT64_MAX;
}

static uint64_t allowance_of(uint64_t bytes)
{
    uint64_t asked, most = allowance_most();
    if (allowance_asked(&asked))
        return asked;
    uint64_t share = bytes < UINT64_MAX / 2 / ALLOWANCE_TIMES
                         ? ALLOWANCE_LEAST + ALLOWANCE_TIMES * bytes
                         : UINT64_MAX / 2;
    return share < most ? share : most;
}

static void allowance_remember(const char *name, uint64_t bytes)
{
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, name);
    snprintf(allowance_name, sizeof allowance_name, "%s", safe.data);
    strbuf_release(&safe);
    allowance_bytes = bytes;
}

void allowance_begin(const char *name, uint64_t bytes)
{
    struct rlimit limit;
    uint64_t now = allowance_data_now();
    pthread_mutex_lock(&allowance_lock);
    uint64_t share = allowance_of(bytes);
    if (!allowance_readers++)
        allowance_is_set = getrlimit(RLIMIT_DATA, &allowance_before) == 0 && now;
    allowance_remember(name, share);
    if (allowance_is_set && getrlimit(RLIMIT_DATA, &limit) == 0) {
        uint64_t from = allowance_readers > 1 ? limit.rlim_cur : now;
        uint64_t most = from < UINT64_MAX - share ? from + share : RLIM_INFINITY;
        limit.rlim_cur = most < allowance_before.rlim_cur ? most : allowance_before.rlim_cur;
        setrlimit(RLIMIT_DATA, &limit);
    }
    pthread_mutex_unlock(&allowance_lock);
}

void allowance_begin_file(const char *path)
{
    struct stat status;
    allowance_begin(
        path, stat(path, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0);
}

void allowance_end(void)
{
    pthread_mutex_lock(&allowance_lock);
    if (!--allowance_readers && allowance_is_set) {
        setrlimit(RLIMIT_DATA, &allowance_before);
        allowance_is_set = false;
    }
    pthread_mutex_unlock(&allowance_lock);
}

const char *allowance_sentence(void)
{
    static char sentence[400];
    if (!allowance_readers)
        return NULL;
    snprintf(
        sentence, sizeof sentence,
        "reading %s needs more than the %s that a file of its size may take: it is damaged, or "
        "made to take all memory (TIDEMARK_READ_MEMORY=BYTES allows more)",
        allowance_name, human_bytes(allowance_bytes).text);
    return sentence;
}

int allowance_explain(int error)
{
    pthread_mutex_lock(&allowance_lock);
    const char *sentence = error == -ENOMEM ? allowance_sentence() : NULL;
    if (sentence)
        error_set(error, "%s", sentence);
    pthread_mutex_unlock(&allowance_lock);
    return error;
}
