/* Room on the disk that a profile keeps for its own end. While a program runs its trace, or
 * somebody else, may fill the disk. A profile that is being written therefore holds a file without
 * a name. A write that finds the disk full gives that file back and writes again. Where this is not
 * enough the write waits, as long as the profile's owner is patient: the disk may be full for a
 * moment only.
 *
 *      commit ──▶ reserve_hold(): a quarter of the profile, at least 1 MiB, at most a quarter of what is free
 *      write  ──▶ no space ──▶ the file goes ──▶ write ──▶ no space ──▶ wait ──▶ write …
 *
 * SQLite's writes are told apart by the thread: what it writes between reserve_begin() and
 * reserve_end() is of that profile. */
#ifndef TIDEMARK_PROFILE_RESERVE_H
#define TIDEMARK_PROFILE_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* May a write go on waiting? */
typedef bool reserve_patience(void *context);

struct reserve {
    int fd; /* of the file without a name; -1: none is held */
    uint64_t bytes;
    unsigned retries;           /* of writes that the device has failed */
    reserve_patience *patience; /* NULL: nobody waits */
    void *context;
};

void reserve_init(struct reserve *reserve);
/* For a profile of `bytes` at `path`. Where there is no room, or no way to keep it, there is none.
 */
void reserve_hold(struct reserve *reserve, const char *path, uint64_t bytes);
void reserve_give_back(struct reserve *reserve);

/* What this thread writes is for that profile; no two at once. */
void reserve_begin(struct reserve *reserve);
void reserve_end(void);

/* For writes of our own, after one has failed with `error` (an errno): is it worth another try? */
bool reserve_helps(int error);

#endif
