/* The queue of snapshot requests and the writing of snapshots (snapshots.h). A mutex guards a short
 * array of requests. A snapshot is a copy of the profile under the first free number. */
#include "collector/snapshots.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/memory.h"
#include "profile/profile.h"
#include "wire/wire.h"

void snapshots_init(struct snapshots *snapshots)
{
    *snapshots = (struct snapshots){.number = 0};
    pthread_mutex_init(&snapshots->lock, NULL);
}

void snapshots_release(struct snapshots *snapshots)
{
    struct snapshot_request request;
    while (snapshots_take(snapshots, &request))
        snapshot_answer(&request, NULL,
                        "the process ended before a snapshot could be taken: its "
                        "profile has everything");
    pthread_mutex_destroy(&snapshots->lock);
}

void snapshots_ask(struct snapshots *snapshots, const struct snapshot_request *request)
{
    struct snapshot_request own = *request;
    pthread_mutex_lock(&snapshots->lock);
    bool room = snapshots->waiting_count < SNAPSHOTS_WAITING;
    if (room)
        snapshots->waiting[snapshots->waiting_count++] = own;
    atomic_store(&snapshots->any, true);
    pthread_mutex_unlock(&snapshots->lock);
    if (!room)
        snapshot_answer(&own, NULL, "too many snapshots of this process are waiting to be taken");
}

bool snapshots_take(struct snapshots *snapshots, struct snapshot_request *request)
{
    if (!atomic_load(&snapshots->any))
        return false;
    pthread_mutex_lock(&snapshots->lock);
    bool found = snapshots->waiting_count > 0;
    if (found) {
        *request = snapshots->waiting[0];
        memmove(&snapshots->waiting[0], &snapshots->waiting[1],
                --snapshots->waiting_count * sizeof *request);
    }
    atomic_store(&snapshots->any, snapshots->waiting_count > 0);
    pthread_mutex_unlock(&snapshots->lock);
    return found;
}

static char *snapshots_name_of(const char *profile, unsigned number)
{
    size_t length = strlen(profile);
    bool has_suffix = length > 4 && strcmp(profile + length - 4, ".tmk") == 0;
    char *name = NULL;
    if (asprintf(&name, "%.*s.snap-%u.tmk", (int)(has_suffix ? length - 4 : length), profile,
                 number) < 0)
        memory_exhausted();
    return name;
}

/* Snapshots of an earlier recording of that name keep their files. */
int snapshots_write(struct snapshots *snapshots, struct writer *writer, const char *profile,
                    const struct snapshot_request *request, char **path)
{
    enum { TRIES = 100000 };
    struct profile_fact facts[] = {{PROFILE_META_SNAPSHOT, request->why, 0},
                                   {PROFILE_META_END, "snapshot", 0}};
    int error = -EEXIST;
    for (int tries = 0; tries < TRIES && error == -EEXIST; tries++) {
        *path = snapshots_name_of(profile, ++snapshots->number);
        if (access(*path, F_OK) == 0)
            error = -EEXIST;
        else
            error = profile_build_copy(writer, *path, facts, sizeof facts / sizeof *facts);
        if (error)
            free(*path);
    }
    if (error)
        *path = NULL;
    else
        snapshots->written++;
    return error;
}

void snapshot_answer(struct snapshot_request *request, const char *path, const char *error)
{
    char text[WIRE_ANSWER_BYTES];
    char here[PATH_MAX] = "";
    /* The asking process may have another working directory. */
    bool add_here = !error && *path != '/' && getcwd(here, sizeof here - 1) && *here == '/';
    int length =
        snprintf(text, sizeof text, "%c%s%s%s", error ? WIRE_ANSWER_ERROR : WIRE_ANSWER_PATH,
                 add_here ? here : "", add_here && here[1] ? "/" : "", error ? error : path);
    if (request->answer < 0)
        return;
    if (length >= (int)sizeof text)
        length = sizeof text - 1;
    /* The asking process may have gone. */
    if (send(request->answer, text, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        errno = 0;
    close(request->answer);
    request->answer = -1;
}
