/* Reads files of suppressions: a regular file of at most 4 MiB, and a sentence for each thing that
 * can be wrong with one. */
#include "commands/known_leaks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/regular.h"
#include "base/strbuf.h"
#include "commands/output.h"

enum { KNOWN_LEAKS_BYTES_MAX = 4 << 20 };

int known_leaks_name(struct known_leaks *known, const char *file)
{
    if (!array_make_room(&known->files, &known->room, known->count, sizeof *known->files))
        return -ENOMEM;
    known->files[known->count++] = file;
    return 0;
}

int known_leaks_read(const char *command, struct suppressions *suppressions, const char *path)
{
    struct regular_file file;
    struct strbuf why = STRBUF_INIT;
    int error = regular_file_read(&file, path, KNOWN_LEAKS_BYTES_MAX);
    if (error)
        return output_complainf(command, "cannot read the suppressions %s: %s", path,
                                error == -EINVAL ? "it is no regular file" : strerror(-error));
    error = suppressions_add(suppressions, file.bytes, file.count, &why);
    free(file.bytes);
    int status = error == -ENOMEM ? output_complainf(command, "out of memory")
                 : error          ? output_complainf(command, "%s: %s", path, why.data)
                                  : 0;
    strbuf_release(&why);
    return status;
}
