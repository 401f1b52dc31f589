/* Writes a file under a temporary name beside its place and renames it when it is whole
 * (whole_file.h). Without --force the rename fails where a file exists. */
#include "commands/whole_file.h"

#include <errno.h>
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

/* As any program makes files: mkstemp's mode is for its owner alone. */
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

int whole_file_open(struct whole_file *file, const char *command, const char *name, bool force)
{
    *file = (struct whole_file){command, name, force, NULL, STRBUF_INIT};
    if (!force && !access(name, F_OK))
        return whole_file_complain_there(command, name);
    if (old_file_check(name) == -EINVAL) {
        struct strbuf sentence = STRBUF_INIT;
        strbuf_addf(&sentence, "will not replace %s: it is no regular file", name);
        int status = output_complain(command, sentence.data);
        strbuf_release(&sentence);
        return status;
    }
    strbuf_addf(&file->temporary, "%s.XXXXXX", name);
    int fd = mkstemp(file->temporary.data);
    file->out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!file->out || whole_file_set_mode(fd)) {
        int status = whole_file_complain_cannot(file, errno);
        if (file->out)
            return whole_file_close(file, status);
        strbuf_release(&file->temporary);
        return status;
    }
    return 0;
}

static int whole_file_publish(const struct whole_file *file)
{
    const char *temporary = file->temporary.data;
    int error = !file->force                    ? old_file_move_new(temporary, file->name)
                : rename(temporary, file->name) ? -errno
                                                : 0;
    if (error)
        unlink(temporary);
    return error == -EEXIST ? whole_file_complain_there(file->command, file->name)
           : error          ? whole_file_complain_cannot(file, -error)
                            : 0;
}

int whole_file_close(struct whole_file *file, int status)
{
    if (fclose(file->out) && !status)
        status = whole_file_complain_cannot(file, errno);
    if (status)
        unlink(file->temporary.data);
    else
        status = whole_file_publish(file);
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
