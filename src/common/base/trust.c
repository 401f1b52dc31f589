/* Judges a file by its owner and mode (trust.h). Access control lists need no test of their own: a
 * file that has one shows its mask, which limits all its entries, as the group bits of the mode. */
#include "base/trust.h"

#include <unistd.h>

static bool trust_is_known(uid_t user, uid_t owner)
{
    return user == 0 || user == geteuid() || user == owner;
}

bool trust_holds(const struct stat *status, uid_t owner)
{
    return trust_is_known(status->st_uid, owner) && !(status->st_mode & S_IWOTH);
}

bool trust_holds_strictly(const struct stat *status)
{
    bool is_shared =
        status->st_mode & S_IWGRP && status->st_gid != 0 && (gid_t)status->st_uid != status->st_gid;
    return trust_holds(status, geteuid()) && !is_shared;
}
