/* Tells whether a profile has changed since it was looked at. Device, inode, size and time of
 * the file and of its log become one number by a hash. Nothing is opened. */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/hash.h"
#include "base/strbuf.h"
#include "profile/process_choice.h"
#include "profile/profile.h"

struct signature_look {
    uint64_t device, inode, bytes, seconds, nanoseconds;
};

static bool profile_signature_look_at(const char *path, struct signature_look *look)
{
    struct stat of;
    *look = (struct signature_look){0};
    if (stat(path, &of))
        return false;
    *look = (struct signature_look){of.st_dev, of.st_ino, (uint64_t)of.st_size,
                                    (uint64_t)of.st_mtim.tv_sec, (uint64_t)of.st_mtim.tv_nsec};
    return true;
}

/* Of FILE@PID it is FILE that is looked at: a row never changes, but another image of its process
 * may come. */
static uint64_t profile_signature_of_choice(const char *operand)
{
    struct signature_look look;
    char *file = choice_file(operand);
    bool is_there = file && profile_signature_look_at(file, &look);
    free(file);
    return is_there ? hash_bytes(&look, sizeof look) | 1 : 0;
}

uint64_t profile_signature(const char *path)
{
    struct signature_look looks[2];
    struct strbuf log = STRBUF_INIT;
    if (!profile_signature_look_at(path, &looks[0]))
        return profile_signature_of_choice(path);
    strbuf_addf(&log, "%s-wal", path);
    profile_signature_look_at(log.data, &looks[1]);
    strbuf_release(&log);
    return hash_bytes(looks, sizeof looks) | 1;
}
