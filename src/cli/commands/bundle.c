/* tidemark bundle: what it takes to record where nothing is installed, in one directory: this
 * program with the libraries and the loader that it runs with now, and the recorder, which needs
 * nothing but the program's own C library. */
#include "commands/commands.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/human.h"
#include "base/options.h"
#include "base/regular.h"
#include "base/strbuf.h"
#include "commands/launch.h"

/* The program that starts the real one in a bundle (src/cli/bundle/bundle_launcher.c). */
__asm__(".section .rodata\n.balign 16\nbundle_launcher:\n.incbin \"" TIDEMARK_LAUNCHER "\"\n"
        "bundle_launcher_end:\n.previous\n");
extern const unsigned char bundle_launcher[], bundle_launcher_end[];

struct bundle_options {
    bool quiet;
};

static const struct option_entry entries[] = {{"quiet", 'q', OPTION_FLAG, NULL, "say nothing",
                                               OPTION_TO(struct bundle_options, quiet), false,
                                               NULL},
                                              OPTION_GROUP_END};

static const struct options_command command = {
    .name = "bundle",
    .synopsis = "[options] DIR",
    .purpose =
        "Makes a directory with all that it takes to record in a container or a chroot where "
        "nothing "
        "is installed: DIR/bin/tidemark and the recorder, with the libraries that tidemark needs. "
        "It works wherever it is put or mounted. DIR must not exist, or be empty.",
    .entries = entries,
    .epilogue = "Example:\n"
                "  tidemark bundle tm\n"
                "  docker run -v $PWD/tm:/tm:ro -v $PWD:/out image \\\n"
                "      /tm/bin/tidemark record -o /out/service.tmk /usr/bin/service\n",
};

struct bundle {
    const char *directory;
    unsigned files;
    uint64_t bytes;
    bool failed;
};

static void cmd_bundle_fail(struct bundle *bundle, const char *path)
{
    if (!bundle->failed)
        fprintf(stderr, "tidemark bundle: cannot write %s: %s\n", path, strerror(errno));
    bundle->failed = true;
}

static void cmd_bundle_make_directory(struct bundle *bundle, const char *name)
{
    struct strbuf path = STRBUF_INIT;
    strbuf_addf(&path, "%s/%s", bundle->directory, name);
    if (!bundle->failed && mkdir(path.data, 0755) < 0)
        cmd_bundle_fail(bundle, path.data);
    strbuf_release(&path);
}

static int cmd_bundle_create(struct bundle *bundle, struct strbuf *path, const char *name)
{
    strbuf_addf(path, "%s/%s", bundle->directory, name);
    int fd = bundle->failed
                 ? -1
                 : open(path->data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755);
    if (fd < 0)
        cmd_bundle_fail(bundle, path->data);
    return fd;
}

static void cmd_bundle_add_bytes(struct bundle *bundle, const char *name,
                                 const unsigned char *bytes, size_t count)
{
    struct strbuf path = STRBUF_INIT;
    int fd = cmd_bundle_create(bundle, &path, name);
    if (fd >= 0 && write(fd, bytes, count) != (ssize_t)count)
        cmd_bundle_fail(bundle, path.data);
    if (fd >= 0 && close(fd) < 0)
        cmd_bundle_fail(bundle, path.data);
    bundle->files++;
    bundle->bytes += count;
    strbuf_release(&path);
}

static bool cmd_bundle_copy(int from, int to, uint64_t *bytes)
{
    ssize_t copied;
    do {
        copied = sendfile(to, from, NULL, 1 << 24);
        *bytes += copied > 0 ? (uint64_t)copied : 0;
    } while (copied > 0 || (copied < 0 && errno == EINTR));
    return copied == 0;
}

static void cmd_bundle_add_file(struct bundle *bundle, const char *name, const char *from)
{
    struct strbuf path = STRBUF_INIT;
    struct stat status;
    int in = bundle->failed ? -1 : regular_file_open(from, &status);
    if (in < 0)
        cmd_bundle_fail(bundle, from);
    int out = cmd_bundle_create(bundle, &path, name);
    if (out >= 0 && !cmd_bundle_copy(in, out, &bundle->bytes))
        cmd_bundle_fail(bundle, path.data);
    if (out >= 0 && close(out) < 0)
        cmd_bundle_fail(bundle, path.data);
    if (in >= 0)
        close(in);
    bundle->files++;
    strbuf_release(&path);
}

/* The loader is in that list too, as any library; it goes beside the program. */
static int cmd_bundle_add_library(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct bundle *bundle = context;
    char name[PATH_MAX];
    const char *base = basename(info->dlpi_name);
    (void)bytes;
    if (info->dlpi_name[0] != '/')
        return 0; /* this program; what the kernel has mapped */
    if (strncmp(base, "ld-", 3) == 0)
        snprintf(name, sizeof name, "bin/ld.so");
    else
        snprintf(name, sizeof name, "lib/tidemark/%s", base);
    cmd_bundle_add_file(bundle, name, info->dlpi_name);
    return 0;
}

static void cmd_bundle_fill(struct bundle *bundle, const char *self, const char *library)
{
    static const char *const directories[] = {"bin", "lib", "lib/tidemark"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        cmd_bundle_make_directory(bundle, directories[i]);
    cmd_bundle_add_bytes(bundle, "bin/tidemark", bundle_launcher,
                         (size_t)(bundle_launcher_end - bundle_launcher));
    cmd_bundle_add_file(bundle, "bin/tidemark.bin", self);
    cmd_bundle_add_file(bundle, "lib/libtidemark.so", library);
    if (!bundle->failed)
        dl_iterate_phdr(cmd_bundle_add_library, bundle);
}

/* False, with errno: it is no directory, cannot be read, or has entries (ENOTEMPTY). */
static bool cmd_bundle_is_empty(const char *directory)
{
    DIR *listing = opendir(directory);
    struct dirent *entry = NULL;
    if (!listing)
        return false;
    while ((entry = readdir(listing)) &&
           (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")))
        ;
    closedir(listing);
    errno = ENOTEMPTY;
    return !entry;
}

/* Nothing is replaced: an existing directory must be empty. It may be a mount point. */
static bool cmd_bundle_take_directory(const char *directory)
{
    if (mkdir(directory, 0755) == 0 || (errno == EEXIST && cmd_bundle_is_empty(directory)))
        return true;
    fprintf(stderr, "tidemark bundle: cannot make %s: %s\n", directory,
            errno == ENOTEMPTY || errno == ENOTDIR ? "it is there and not an empty directory"
                                                   : strerror(errno));
    return false;
}

int cmd_bundle(int argc, char **argv)
{
    struct bundle_options options = {0};
    char self[PATH_MAX], library[PATH_MAX];
    int operand = options_parse_one(&command, argc, argv, &options, "directory");
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (!launch_own_path(self) || launch_is_bundled(self)) {
        fprintf(stderr, "tidemark bundle: this tidemark is a bundle itself: copy its directory\n");
        return OPTIONS_EXIT_FAILURE;
    }
    if (!launch_find_library("bundle", "libtidemark.so", library) ||
        !cmd_bundle_take_directory(argv[operand]))
        return OPTIONS_EXIT_FAILURE;
    struct bundle bundle = {.directory = argv[operand]};
    cmd_bundle_fill(&bundle, self, library);
    if (bundle.failed)
        return OPTIONS_EXIT_FAILURE;
    if (!options.quiet)
        printf("%s: %u files, %s; %s/bin/tidemark record PROGRAM, wherever it is mounted\n",
               argv[operand], bundle.files, human_bytes(bundle.bytes).text, argv[operand]);
    return 0;
}
