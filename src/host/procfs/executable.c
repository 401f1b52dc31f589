/* Decides whether a program can be recorded (executable.h). It searches PATH as execvp does,
 * follows "#!" lines up to four scripts deep, and classifies the ELF file at the end by
 * elf_sniff(). */
#include "procfs/executable.h"
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "procfs/elf_sniff.h"

/* What there is instead, from outside. */
#define STATIC "; its memory by kind and file, while it runs, is what tidemark maps PID shows"

#define MAX_SCRIPT_DEPTH 4    /* as the kernel */
#define SHEBANG_BYTES    256u /* BINPRM_BUF_SIZE */

__attribute__((format(printf, 3, 4))) static void
executable_conclude(struct program *program, enum program_kind kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    program->kind = kind;
    vsnprintf(program->detail, sizeof program->detail, format, arguments);
    va_end(arguments);
}

/* ---- Finding it ---------------------------------------------------------------------------- */

/* 0 if execve() would get to reading the file; else -errno. */
static int executable_can_execute(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    if (!S_ISREG(status.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0)
        return -EACCES;
    return 0;
}

/* Like execvp(): an empty element is the current directory, a file that may not be executed does
 * not end the search, but is the answer if nothing better follows. */
static int executable_search(const char *name, const char *path_variable, char found[PATH_MAX])
{
    char fallback[256] = "/bin:/usr/bin", candidate[PATH_MAX];
    int best = -ENOENT;
    if (!path_variable) {
        confstr(_CS_PATH, fallback, sizeof fallback);
        path_variable = fallback;
    }
    for (const char *at = path_variable;; at++) {
        size_t length = strcspn(at, ":");
        int needed =
            snprintf(candidate, PATH_MAX, "%.*s%s%s", (int)length, at, length ? "/" : "./", name);
        int error = needed < PATH_MAX ? executable_can_execute(candidate) : -ENAMETOOLONG;
        if (error == 0 || ((error == -EACCES || error == -EISDIR) && best == -ENOENT)) {
            strcpy(found, candidate);
            best = error;
        }
        at += length;
        if (error == 0 || !*at)
            return best;
    }
}

static int executable_find(const char *name, const char *path_variable, char found[PATH_MAX])
{
    if (!*name || strlen(name) >= PATH_MAX)
        return -ENOENT;
    if (!strchr(name, '/'))
        return executable_search(name, path_variable, found);
    int error = executable_can_execute(name);
    if (error != -ENOENT && error != -ENOTDIR)
        strcpy(found, name);
    return error;
}

/* ---- Looking into it ----------------------------------------------------------------------- */

/* If the file gives the user additional rights, the loader runs in secure mode and drops LD_PRELOAD
 * (ld.so(8), capabilities(7)). Root gets no new ones from capabilities. */
static const char *executable_privilege_of(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return NULL;
    if ((status.st_mode & S_ISUID) && status.st_uid != geteuid())
        return "setuid";
    if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getegid())
        return "setgid";
    if (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
        return "given file capabilities";
    return NULL;
}

static void executable_classify_elf(struct program *program, const char *path, int fd,
                                    const struct elf_sniff *elf)
{
    const char *privilege = executable_privilege_of(fd);
    if (elf->foreign)
        executable_conclude(program, PROGRAM_FOREIGN,
                            "%s is a %sprogram for another machine than this one", path,
                            elf->bits == 32   ? "32-bit "
                            : elf->bits == 64 ? "64-bit "
                                              : "");
    else if (!elf->valid)
        executable_conclude(program, PROGRAM_BROKEN, "%s is an ELF file but not a whole program",
                            path);
    else if (privilege)
        executable_conclude(program, PROGRAM_PRIVILEGED,
                            "%s is %s, so the loader ignores LD_PRELOAD", path, privilege);
    else if (!*elf->interpreter && elf->position_independent && elf->dynamic)
        executable_conclude(program, PROGRAM_STATIC_PIE,
                            "%s is statically linked (static-pie) and loads no libraries" STATIC,
                            path);
    else if (!*elf->interpreter)
        executable_conclude(program, PROGRAM_STATIC,
                            "%s is statically linked and loads no libraries" STATIC, path);
    else if (access(elf->interpreter, F_OK) != 0)
        executable_conclude(program, PROGRAM_NO_INTERPRETER,
                            "%s needs the loader %s, which is not there", path, elf->interpreter);
    else if (*elf->sanitizer)
        executable_conclude(program, PROGRAM_SANITIZED, "%s is built with a sanitizer (%s)", path,
                            elf->sanitizer);
    else
        executable_conclude(program, PROGRAM_DYNAMIC, "%s is a dynamically linked program", path);
}

/* The interpreter of a script into `interpreter`. A file that is neither ELF nor begins with "#!"
 * is run by the shell: the kernel refuses it and execvp() does that. */
static bool executable_read_shebang(int fd, char interpreter[SHEBANG_BYTES])
{
    char line[SHEBANG_BYTES] = "";
    ssize_t got = pread(fd, line, sizeof line - 1, 0);
    if (got < 2 || line[0] != '#' || line[1] != '!') {
        strcpy(interpreter, "/bin/sh");
        return true;
    }
    char *start = line + 2 + strspn(line + 2, " \t");
    start[strcspn(start, " \t\r\n")] = '\0';
    strcpy(interpreter, start);
    return *start != '\0';
}

static void executable_look_into(struct program *program, const char *path, int depth);

static void executable_classify_script(struct program *program, const char *path, int fd, int depth)
{
    char interpreter[SHEBANG_BYTES];
    program->script = true;
    if (!executable_read_shebang(fd, interpreter)) {
        executable_conclude(program, PROGRAM_NO_INTERPRETER,
                            "%s is a script that names no interpreter", path);
        return;
    }
    strcpy(program->interpreter, interpreter);
    if (depth >= MAX_SCRIPT_DEPTH)
        executable_conclude(program, PROGRAM_TOO_DEEP, "%s is run by more than %d scripts in a row",
                            program->path, MAX_SCRIPT_DEPTH);
    else if (executable_can_execute(interpreter) != 0)
        executable_conclude(program, PROGRAM_NO_INTERPRETER,
                            "%s is a script for %s, which is not there or cannot be run", path,
                            interpreter);
    else
        executable_look_into(program, interpreter, depth + 1);
}

static void executable_look_into(struct program *program, const char *path, int depth)
{
    struct elf_sniff elf;
    struct stat status;
    int fd = regular_file_open(path, &status);
    if (fd < 0) {
        executable_conclude(program, PROGRAM_NOT_EXECUTABLE, "%s cannot be read: %s", path,
                            strerror(-fd));
        return;
    }
    elf_sniff(&elf, fd);
    if (elf.is_elf)
        executable_classify_elf(program, path, fd, &elf);
    else
        executable_classify_script(program, path, fd, depth);
    close(fd);
}

void executable_classify(struct program *program, const char *name, const char *path_variable)
{
    *program = (struct program){0};
    int error = executable_find(name, path_variable, program->path);
    if (error == -EISDIR)
        executable_conclude(program, PROGRAM_DIRECTORY, "%s is a directory", program->path);
    else if (error == -EACCES)
        executable_conclude(program, PROGRAM_NOT_EXECUTABLE, "%s may not be executed",
                            *program->path ? program->path : name);
    else if (error)
        executable_conclude(program, PROGRAM_NOT_FOUND, "%s: no such program%s",
                            *name ? name : "''", strchr(name, '/') ? "" : " in PATH");
    else
        executable_look_into(program, program->path, 0);
}
