/* One object file and what belongs to it, opened through libdwfl: the file, its separate debug file
 * (by build-id, debug link, or debuginfod if the user has set DEBUGINFOD_URLS), its alternate (dwz)
 * file, its symbol tables.
 *
 * All images share one libdwfl session, since each session has a debuginfod client with two sockets
 * of its own; and files are mapped here, since libdwfl would keep each one's descriptor. So an
 * image costs a descriptor only if it has a separate debug file, and a program with a thousand
 * libraries can be named within the usual limit of 1024.
 *
 * "Address" here and in the other headers is as in the ELF file. */
#ifndef TIDEMARK_SYMBOLS_OBJECT_FILE_H
#define TIDEMARK_SYMBOLS_OBJECT_FILE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/guarded_open.h"
#include "symbols/symbols.h"

struct object_file_session {
    const char *root; /* the caller's */
    uid_t owner;      /* of that root; without one, the effective user */
    Dwfl *dwfl;
    char *debug_path; /* where libdwfl looks for debug files */
    Dwfl_Callbacks callbacks;
};

/* The session must not move, because libdwfl keeps the address of its callbacks. */
bool object_file_session_begin(struct object_file_session *session, const char *root);
void object_file_session_end(struct object_file_session *session);

struct object_file {
    Dwfl_Module *module; /* the session's */
    Elf *elf;
    GElf_Addr bias; /* address for libdwfl - address */
    void *bytes;    /* the file, mapped */
    size_t length;
    uid_t owner; /* of the file; its debug files may be this user's */
};

struct object_file_id {
    const uint8_t *bytes;
    size_t length; /* 0: not known, any file will do */
};

/* SYMBOLS_NONE, SYMBOLS_CHANGED, or SYMBOLS_EXPORTS if it could be opened (its contents are not
 * read yet). A file that is gone or changed is replaced by its debug file, if one is installed
 * under the recorded build-id. */
enum symbols_quality object_file_open(struct object_file *image,
                                      struct object_file_session *session, const char *path,
                                      struct object_file_id id);

/* The code around an address: of the section that it lies in. False: the file has none there. */
struct object_file_code {
    const uint8_t *bytes;
    uint64_t start;
    size_t length;
};
bool object_file_find_code(const struct object_file *image, uint64_t address,
                           struct object_file_code *code);

/* Limits what libdw opens for this image until guarded_open_restore(): its debug file, split files,
 * and the alternate one. They must belong to the image's owner, to root or to us, and must not lie
 * in a folder that others may write into. Opening never waits. Packed files are read from their
 * unpacked copies. */
struct guarded_open object_file_guard(const struct object_file *image);

/* Call it after the end of the session, which reads from the image's memory. */
void object_file_release(struct object_file *image);

#endif
