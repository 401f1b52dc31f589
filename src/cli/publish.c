/* See publish.h. */
#include "cli/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/options.h"
#include "cli/output.h"

static int complain_of(const struct publication *publication, const char *what, int error)
{
    struct strbuf sentence = STRBUF_INIT;
    strbuf_addf(&sentence, "%s %s: %s", what, publication->name, strerror(error));
    int status = output_complain(publication->command, sentence.data);
    strbuf_release(&sentence);
    return status;
}

static int complain_that_it_is_there(const struct publication *publication)
{
    struct strbuf sentence = STRBUF_INIT;
    strbuf_addf(&sentence, "%s is there already: choose another name with -o, or --force",
                publication->name);
    int status = output_complain(publication->command, sentence.data);
    strbuf_release(&sentence);
    return status;
}

/* Puts what was written beside in its place. */
static int put_in_place(const struct publication *publication, const char *temporary)
{
    const char *name = publication->name;
    bool force = publication->force;
    if (force ? rename(temporary, name) : link(temporary, name)) {
        int error = errno;
        unlink(temporary);
        return error == EEXIST ? complain_that_it_is_there(publication)
                               : complain_of(publication, "cannot write", error);
    }
    if (!force)
        unlink(temporary);
    return 0;
}

static int write_stream(const struct publication *publication, int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    FILE *out = fchmod(fd, 0666 & ~mask) ? NULL : fdopen(fd, "w");
    if (!out) {
        int error = errno;
        close(fd);
        return complain_of(publication, "cannot write", error);
    }
    int status = publication->write(out, publication->context);
    if (fclose(out) && !status)
        status = complain_of(publication, "cannot write", errno);
    return status;
}

static int write_new_file(const struct publication *publication, int fd, const char *temporary)
{
    close(fd);
    unlink(temporary);
    return publication->write_file(temporary, publication->context);
}

static int write_beside(const struct publication *publication, struct strbuf *temporary)
{
    strbuf_addf(temporary, "%s.XXXXXX", publication->name);
    int fd = mkstemp(temporary->data);
    if (fd < 0)
        return complain_of(publication, "cannot write", errno);
    int status = publication->write ? write_stream(publication, fd)
                                    : write_new_file(publication, fd, temporary->data);
    if (status)
        unlink(temporary->data);
    else
        status = put_in_place(publication, temporary->data);
    return status;
}

int publish(const struct publication *publication)
{
    if (!strcmp(publication->name, "-") && publication->write)
        return publication->write(stdout, publication->context);
    if (!publication->force && !access(publication->name, F_OK))
        return complain_that_it_is_there(publication);
    struct strbuf temporary = STRBUF_INIT;
    int status = write_beside(publication, &temporary);
    strbuf_release(&temporary);
    if (!status)
        fprintf(stderr, "tidemark %s: wrote %s\n", publication->command, publication->name);
    return status;
}

void publish_default_name(struct strbuf *name, const char *source, const char *ending)
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
