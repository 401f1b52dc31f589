#include "base/old_file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alive.h"
#include "base/strbuf.h"

static int rename_with_suffix(const char *path, const char *suffix)
{
    struct strbuf from = STRBUF_INIT, to = STRBUF_INIT;
    strbuf_addf(&from, "%s%s", path, suffix);
    strbuf_addf(&to, "%s.old%s", path, suffix);
    int error = 0;
    if (rename(from.data, to.data))
        error = -errno;
    if (error == -ENOENT) /* a log of the last .old must not be taken for this one's */
        error = unlink(to.data) && errno != ENOENT ? -errno : 0;
    strbuf_release(&from);
    strbuf_release(&to);
    return error;
}

int old_file_keep(const char *path, const char *const *suffixes)
{
    struct stat link, target;
    if (lstat(path, &link))
        return errno == ENOENT ? 0 : -errno;
    if (!stat(path, &target) && !S_ISREG(target.st_mode))
        return -EINVAL;
    if (S_ISREG(link.st_mode) && alive_is_written(path))
        return -EBUSY;
    int error = rename_with_suffix(path, "");
    for (; suffixes && *suffixes && !error; suffixes++)
        error = rename_with_suffix(path, *suffixes);
    return error;
}
