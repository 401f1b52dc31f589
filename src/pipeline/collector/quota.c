/* Counters under one lock, and a condition variable for waiting threads (quota.h). The limit of
 * descriptors is read once, together with how many are open. */
#include "collector/quota.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    SPARE = 8, /* descriptors that are not counted: the C library's, those for reading names */
    COMPLETING_LEAST = 2,
    COMPLETING_MOST = 8,
    BACKLOG_MOST = 16,
    BACKLOG_BEYOND_TURNS = 6,
    URGENT_PAUSES = 1500, /* of 2 ms */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t descriptors; /* 0: not opened, no limit */
    size_t kept, used;  /* kept <= used */
    size_t completing, completing_most;
    size_t threads; /* 0: not opened, no limit */
} quota = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Turns at work are counted without a lock, because threads that take events ask for them. */
static atomic_size_t quota_working, quota_working_most; /* most 0: no limit */
static atomic_size_t quota_working_urgent; /* waiting threads that come before the others */
static atomic_size_t quota_living;

/* 16 if they cannot be counted. */
static size_t quota_open_descriptors(void)
{
    size_t count = 0;
    DIR *open = opendir("/proc/self/fd");
    if (!open)
        return 16;
    while (readdir(open))
        count++;
    closedir(open);
    return count;
}

static size_t quota_count_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > UINT32_MAX)
        return UINT32_MAX;
    size_t gone = quota_open_descriptors() + SPARE;
    return limit.rlim_cur > gone ? (size_t)limit.rlim_cur - gone : 1;
}

static size_t quota_count_turns(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < COMPLETING_LEAST)
        return COMPLETING_LEAST;
    return processors < COMPLETING_MOST ? (size_t)processors : COMPLETING_MOST;
}

/* A quarter of the limit. An image may have one thread more for a moment, for its file, so images
 * have half of the limit at most. */
static size_t quota_count_threads(void)
{
    enum { PART = 4 };
    struct rlimit limit;
    if (geteuid() == 0 || getrlimit(RLIMIT_NPROC, &limit) < 0 || limit.rlim_cur > UINT32_MAX)
        return UINT32_MAX;
    return limit.rlim_cur > PART ? (size_t)limit.rlim_cur / PART : 1;
}

void quota_open(void)
{
    pthread_mutex_lock(&quota.lock);
    quota.descriptors = quota_count_descriptors();
    quota.completing_most = quota_count_turns();
    quota.threads = quota_count_threads();
    pthread_mutex_unlock(&quota.lock);
}

/* ---- Descriptors ---- */

/* A request for more than the limit is granted when nothing else is in use. */
static bool quota_has(size_t count, size_t used, size_t most)
{
    return !quota.descriptors || !used || used + count <= most;
}

/* One newcomer at a time is always admitted. Expected ranks keep descriptors until they have ended,
 * and would otherwise wait for each other here. */
bool quota_admit(void)
{
    pthread_mutex_lock(&quota.lock);
    bool has = quota.used == quota.kept ||
               quota_has(QUOTA_NEWCOMER, quota.used, quota.descriptors / 4 * 3);
    if (has)
        quota.used += QUOTA_NEWCOMER;
    pthread_mutex_unlock(&quota.lock);
    return has;
}

bool quota_keep(size_t count)
{
    pthread_mutex_lock(&quota.lock);
    bool has = !quota.descriptors || (quota.kept + count <= quota.descriptors / 2 &&
                                      quota.used + count <= quota.descriptors);
    if (has) {
        quota.kept += count;
        quota.used += count;
    }
    pthread_mutex_unlock(&quota.lock);
    return has;
}

void quota_release(size_t count)
{
    pthread_mutex_lock(&quota.lock);
    quota.kept -= count;
    quota.used -= count;
    pthread_cond_broadcast(&quota.changed);
    pthread_mutex_unlock(&quota.lock);
}

bool quota_take_unless(size_t count, const atomic_bool *lent)
{
    pthread_mutex_lock(&quota.lock);
    while (!(lent && atomic_load(lent)) &&
           !quota_has(count, quota.used - quota.kept, quota.descriptors - quota.kept))
        pthread_cond_wait(&quota.changed, &quota.lock);
    bool takes = !(lent && atomic_load(lent));
    if (takes)
        quota.used += count;
    pthread_mutex_unlock(&quota.lock);
    return takes;
}

void quota_lend(atomic_bool *lent)
{
    pthread_mutex_lock(&quota.lock);
    atomic_store(lent, true);
    pthread_cond_broadcast(&quota.changed);
    pthread_mutex_unlock(&quota.lock);
}

void quota_take(size_t count)
{
    quota_take_unless(count, NULL);
}

void quota_give(size_t count)
{
    pthread_mutex_lock(&quota.lock);
    quota.used -= count;
    pthread_cond_broadcast(&quota.changed);
    pthread_mutex_unlock(&quota.lock);
}

/* ---- Threads ---- */

size_t quota_images(size_t threads)
{
    pthread_mutex_lock(&quota.lock);
    size_t most = quota.threads ? quota.threads / threads : UINT32_MAX;
    pthread_mutex_unlock(&quota.lock);
    return most ? most : 1;
}

/* ---- Turns ---- */

size_t quota_backlog(void)
{
    pthread_mutex_lock(&quota.lock);
    size_t turns = quota.completing_most;
    pthread_mutex_unlock(&quota.lock);
    return turns && turns + BACKLOG_BEYOND_TURNS < BACKLOG_MOST ? turns + BACKLOG_BEYOND_TURNS
                                                                : BACKLOG_MOST;
}

void quota_bound_work(void)
{
    atomic_store(&quota_working_most, quota_count_turns());
}

static bool quota_try_work_as(bool is_urgent)
{
    size_t most = atomic_load(&quota_working_most), now = atomic_load(&quota_working);
    if (!most) {
        atomic_fetch_add(&quota_working, 1);
        return true;
    }
    while (now < most && (is_urgent || !atomic_load(&quota_working_urgent)))
        if (atomic_compare_exchange_weak(&quota_working, &now, now + 1))
            return true;
    return false;
}

bool quota_try_work(void)
{
    return quota_try_work_as(false);
}

void quota_begin_work(void (*meanwhile)(void *context), void *context)
{
    const struct timespec pause = {0, 2000000};
    if (quota_try_work_as(true))
        return;
    bool has = false;
    atomic_fetch_add(&quota_working_urgent, 1);
    for (int i = 0; i < URGENT_PAUSES && !has; i++) {
        meanwhile(context);
        nanosleep(&pause, NULL);
        has = quota_try_work_as(true);
    }
    if (!has)
        atomic_fetch_add(&quota_working, 1);
    atomic_fetch_sub(&quota_working_urgent, 1);
}

void quota_end_work(void)
{
    atomic_fetch_sub(&quota_working, 1);
}

void quota_begin_life(void)
{
    atomic_fetch_add(&quota_living, 1);
}

void quota_end_life(void)
{
    atomic_fetch_sub(&quota_living, 1);
}

unsigned quota_crowd(void)
{
    size_t turns = atomic_load(&quota_working_most);
    size_t crowd = turns ? atomic_load(&quota_living) / turns : 1;
    return crowd > 1 ? (unsigned)crowd : 1;
}

void quota_begin_completion(void)
{
    pthread_mutex_lock(&quota.lock);
    while (quota.completing_most && quota.completing >= quota.completing_most)
        pthread_cond_wait(&quota.changed, &quota.lock);
    quota.completing++;
    pthread_mutex_unlock(&quota.lock);
}

void quota_end_completion(void)
{
    pthread_mutex_lock(&quota.lock);
    quota.completing--;
    pthread_cond_broadcast(&quota.changed);
    pthread_mutex_unlock(&quota.lock);
}
