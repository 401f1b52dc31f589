/* Asks what ld.so will ask: is our library in the environment's LD_PRELOAD, and will the program's
 * loader look there (leaving.h)? What is counted stands in the shared header; the child of a fork
 * that has recorded nothing yet has none, and sends its count to the collector. */
#include "recorder/leaving.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "recorder/session.h"
#include "recorder/shared.h"
#include "unwind/permitted_calls.h"

/* ---- The environment ---- */

static bool leaving_list_has_us(const char *list)
{
    while (*list) {
        size_t bytes = strcspn(list, ": ");
        if (wire_is_recorder_name(list, bytes))
            return true;
        list += bytes;
        list += strspn(list, ": ");
    }
    return false;
}

/* The loader heeds the first one only. */
static bool leaving_environment_has_us(char *const *environment)
{
    static const char preload[] = "LD_PRELOAD=";
    for (; environment && *environment; environment++)
        if (strncmp(*environment, preload, sizeof preload - 1) == 0)
            return leaving_list_has_us(*environment + sizeof preload - 1);
    return false;
}

/* ---- The file ---- */

/* Then the loader ignores LD_PRELOAD. */
static bool leaving_gets_privileges(const struct stat *facts)
{
    bool user = facts->st_mode & S_ISUID && facts->st_uid != getuid();
    bool group = facts->st_mode & S_ISGID && facts->st_mode & S_IXGRP && facts->st_gid != getgid();
    return user || group;
}

/* What stands at the beginning of the file. */
union beginning {
    char text[1024];
    Elf64_Ehdr elf;
};

static bool leaving_read(const char *path, union beginning *beginning)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    long got = syscall(SYS_read, fd, beginning, sizeof *beginning);
    syscall(SYS_close, fd);
    if (got < (long)sizeof beginning->elf)
        return false;
    if (got < (long)sizeof *beginning)
        memset(beginning->text + got, 0, sizeof *beginning - (size_t)got);
    return true;
}

/* Has it a loader, and is that glibc's, for programs of our kind? */
static bool leaving_is_loadable(const union beginning *beginning)
{
    const Elf64_Ehdr *elf = &beginning->elf;
    if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0)
        return true; /* a script, whose interpreter is asked when it executes something */
    if (elf->e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        uint64_t at = elf->e_phoff + i * sizeof(Elf64_Phdr);
        Elf64_Phdr segment;
        if (at > sizeof *beginning - sizeof segment)
            return true; /* not known */
        memcpy(&segment, beginning->text + at, sizeof segment);
        if (segment.p_type == PT_INTERP)
            return segment.p_offset > sizeof *beginning - 32 ||
                   !memmem(beginning->text + segment.p_offset, 32, "ld-musl", 7);
    }
    return false;
}

static enum wire_unfollowed leaving_kind_of(const char *path)
{
    struct stat facts;
    union beginning beginning;
    if (syscall(SYS_newfstatat, AT_FDCWD, path, &facts, 0) < 0)
        return WIRE_FOLLOWED;
    if (leaving_gets_privileges(&facts))
        return WIRE_UNFOLLOWED_PRIVILEGED;
    return leaving_read(path, &beginning) && !leaving_is_loadable(&beginning)
               ? WIRE_UNFOLLOWED_UNLOADABLE
               : WIRE_FOLLOWED;
}

static const char *leaving_search_path(void)
{
    static const char variable[] = "PATH=";
    for (char **entry = environ; entry && *entry; entry++)
        if (strncmp(*entry, variable, sizeof variable - 1) == 0)
            return *entry + sizeof variable - 1;
    return "/bin:/usr/bin";
}

/* As execvp() searches; what it does not find fails there. */
static enum wire_unfollowed leaving_kind_of_found(const char *name)
{
    char path[PATH_MAX];
    size_t name_bytes = strlen(name) + 1;
    if (strchr(name, '/'))
        return leaving_kind_of(name);
    for (const char *list = leaving_search_path(); list; list = strchr(list, ':')) {
        list += *list == ':';
        size_t bytes = strcspn(list, ":");
        if (bytes + 1 + name_bytes > sizeof path)
            continue;
        memcpy(path, list, bytes);
        path[bytes] = '/';
        memcpy(path + bytes + (bytes > 0), name, name_bytes);
        if (syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0)
            return leaving_kind_of(path);
    }
    return WIRE_FOLLOWED;
}

/* ---- Counting ---- */

static void leaving_count(enum wire_unfollowed kind, int difference)
{
    struct wire_header *header = session_is_on() ? shared_header() : NULL;
    if (header)
        atomic_fetch_add_explicit(&header->unfollowed[kind], (uint32_t)difference,
                                  memory_order_relaxed);
    else
        session_say_unfollowed(kind, difference);
}

enum wire_unfollowed leaving_begin(const char *file, bool search, char *const *environment)
{
    int saved_errno = errno;
    enum wire_unfollowed kind = WIRE_FOLLOWED;
    if (!session_follows())
        return WIRE_FOLLOWED;
    if (!leaving_environment_has_us(environment))
        kind = WIRE_UNFOLLOWED_ENVIRONMENT;
    else if (file && !permitted_calls_is_forbidden(CALL_LIMITS))
        kind = search ? leaving_kind_of_found(file) : leaving_kind_of(file);
    if (kind != WIRE_FOLLOWED)
        leaving_count(kind, 1);
    errno = saved_errno;
    return kind;
}

void leaving_failed(enum wire_unfollowed kind)
{
    int saved_errno = errno;
    if (kind != WIRE_FOLLOWED)
        leaving_count(kind, -1);
    errno = saved_errno;
}
