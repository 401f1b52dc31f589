/* Writes a file without a name and gives it one when it is whole (whole_file.h). Without --force
 * that fails where a file exists. */
#include "commands/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/old_file.h"
#include "commands/output.h"
#include "base/own_file.h"

int whole_file_complain_of(const char *command, const char *what, const char *name, int error)
{
    struct strbuf sentence = STRBUF_INIT;
    strbuf_addf(&sentence, "%s %s: %s", what, name, strerror(error));
    int status = output_complain(command, sentence.data);
    strbuf_release(&sentence);
    return status;
}

static int whole_file_complain_cannot(const struct whole_file *file, int error)
{
    return whole_file_complain_of(file->command, "cannot write", file->name, error);
}

static int whole_file_complain_there(const char *command, const char *name)
{
    struct strbuf sentence = STRBUF_INIT;
    strbuf_addf(&sentence, "will not replace %s: choose another name with -o, or --force", name);
    int status = output_complain(command, sentence.data);
    strbuf_release(&sentence);
    return status;
}

/* The mode that programs usually give a file; a new one is for its owner alone until then. */
static int whole_file_set_mode(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, 0666 & ~mask);
}

static bool whole_file_is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return !stat(a, &of_a) && !stat(b, &of_b) && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

int whole_file_spare(const char *command, const char *name, const char *const *inputs, size_t count)
{
    struct strbuf sentence = STRBUF_INIT;
    for (size_t i = 0; i < count && !sentence.length; i++)
        if (whole_file_is_same_file(name, inputs[i]))
            strbuf_addf(&sentence, "will not replace %s: it is what is read; choose another name",
                        name);
    int status = sentence.length ? output_complain(command, sentence.data) : 0;
    strbuf_release(&sentence);
    return status;
}

int whole_file_spare_ours(const char *command, const char *name)
{
    struct strbuf sentence = STRBUF_INIT;
    if (!own_file_is(name))
        return 0;
    strbuf_addf(&sentence, "will not replace %s: it is a profile or a trace; choose another name",
                name);
    int status = output_complain(command, sentence.data);
    strbuf_release(&sentence);
    return status;
}

/* `out` has a descriptor of its own: closing it tells whether all was written before the file gets
 * its name. */
static int whole_file_make(struct whole_file *file)
{
    int error = new_file_open(&file->made, file->name);
    if (error)
        return error;
    int fd = whole_file_set_mode(file->made.fd) ? -1 : fcntl(file->made.fd, F_DUPFD_CLOEXEC, 3);
    file->out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file->out)
        return 0;
    error = -errno;
    if (fd >= 0)
        close(fd);
    return error;
}

int whole_file_open(struct whole_file *file, const char *command, const char *name, bool force)
{
    *file = (struct whole_file){command, name, force, NULL, {.fd = -1}, STRBUF_INIT, false};
    if (!force && !access(name, F_OK))
        return whole_file_complain_there(command, name);
    if (old_file_check(name) == -EINVAL) {
        struct strbuf sentence = STRBUF_INIT;
        strbuf_addf(&sentence, "will not replace %s: it is no regular file", name);
        int status = output_complain(command, sentence.data);
        strbuf_release(&sentence);
        return status;
    }
    int error = whole_file_make(file);
    if (!error)
        return 0;
    new_file_release(&file->made);
    return whole_file_complain_cannot(file, -error);
}

const char *whole_file_name(struct whole_file *file)
{
    if ((file->in_place = access(file->name, F_OK) != 0))
        return file->name;
    strbuf_addf(&file->temporary, "%s.XXXXXX", file->name);
    int fd = mkstemp(file->temporary.data);
    if (fd >= 0) {
        close(fd);
        unlink(file->temporary.data);
        return file->temporary.data;
    }
    whole_file_complain_cannot(file, errno);
    strbuf_reset(&file->temporary);
    return NULL;
}

static int whole_file_put_in_place(struct whole_file *file)
{
    const char *temporary = file->temporary.data;
    int fd = file->made.fd, error;
    if (file->in_place)
        return 0;
    if (file->temporary.length) {
        error = !file->force                    ? old_file_move_new(temporary, file->name)
                : rename(temporary, file->name) ? -errno
                                                : 0;
        if (error)
            unlink(temporary);
        return error;
    }
    error = file->force ? new_file_replace(&file->made, file->name)
                        : new_file_place(&file->made, file->name);
    if (!error)
        close(fd);
    return error;
}

static int whole_file_publish(struct whole_file *file)
{
    int error = whole_file_put_in_place(file);
    return error == -EEXIST ? whole_file_complain_there(file->command, file->name)
           : error          ? whole_file_complain_cannot(file, -error)
                            : 0;
}

int whole_file_close(struct whole_file *file, int status)
{
    if (fclose(file->out) && !status)
        status = whole_file_complain_cannot(file, errno);
    if (!status)
        status = whole_file_publish(file);
    else if (file->temporary.length)
        unlink(file->temporary.data);
    new_file_release(&file->made);
    if (!status)
        fprintf(stderr, "tidemark %s: wrote %s\n", file->command, file->name);
    strbuf_release(&file->temporary);
    return status;
}

void whole_file_default_name(struct strbuf *name, const char *source, const char *ending)
{
    size_t length = strlen(source);
    bool ended = length > 4 &&
                 (!strcmp(source + length - 4, ".tmk") || !strcmp(source + length - 4, ".tmt"));
    length -= ended ? 4 : 0;
    while (length > 1 && source[length - 1] == '/')
        length--;
    strbuf_add(name, source, length);
    strbuf_add_string(name, ending);
}
