/* Finds and makes unpacked copies of debug files (unpacked_copy.h). A copy has the bytes of its
 * original at the same places, except for packed sections, whose places are holes. Their unpacked
 * contents are behind the rest. guarded_open.h does not check calls of openat(). */
#include "symbols/unpacked_copy.h"

#include <dirent.h>
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/now.h"
#include "base/strbuf.h"
#include "base/trust.h"

/* Below the first size, unpacking takes no time; above the second, a copy takes too much disk. */
#define UNPACKED_LEAST_BYTES (1u << 20)
#define UNPACKED_MOST_BYTES  (256u << 20)
#define COPIES_MOST_BYTES    (512u << 20)
#define NEW_COPY             ".new-"
#define DIGITS               "0123456789"
#define HEX_DIGITS           DIGITS "abcdef"

enum { ID_LEAST = 8, ID_MOST = 32, NAME_ROOM = 2 * ID_MOST + 40, PLACE_BYTES = 64 };

struct wanted_copy {
    char name[NAME_ROOM];
    const struct stat *original;
    Elf *elf;          /* the same */
    uint64_t unpacked; /* bytes of the sections that are packed in the original */
    uint64_t length;   /* of a whole copy */
};

/* ---- The directory ------------------------------------------------------------------------- */

static const char *unpacked_copy_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value == '/' ? value : NULL;
}

/* Nothing is written into another user's home (sudo sometimes keeps HOME). */
static bool unpacked_copy_is_our_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

/* The path of the copies. Each directory from the first `base` bytes on must be ours, because
 * another user could put a link there. Directories behind `there` bytes are made if missing. */
struct copies_path {
    struct strbuf text;
    size_t base, there;
    bool is_shared; /* it lies where everybody may write: a link there may be another user's */
};

/* False: a directory is not ours, or cannot be made. ~/.cache itself is not made. */
static bool unpacked_copy_make_directories(const struct copies_path *copies)
{
    char *path = copies->text.data;
    for (char *slash = path + copies->base; slash && *slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool is_ours = unpacked_copy_is_our_directory(path);
        *slash = '/';
        char *next = strchr(slash + 1, '/');
        if (next)
            *next = '\0';
        bool may_make = strlen(path) > copies->there;
        bool is_there =
            is_ours && ((may_make && mkdir(path, 0700) == 0) || access(path, F_OK) == 0);
        if (next)
            *next = '/';
        if (!is_there)
            return false;
    }
    return true;
}

/* False: there is none, or the user wants none. */
static bool unpacked_copy_own_path(struct copies_path *copies)
{
    struct strbuf *path = &copies->text;
    const char *named = getenv("TIDEMARK_CACHE");
    const char *caches = unpacked_copy_variable("XDG_CACHE_HOME"),
               *home = unpacked_copy_variable("HOME");
    if (named || !(caches || home)) {
        strbuf_add_string(path, named ? named : "");
        copies->base = copies->there = path->length;
    } else if (caches) {
        copies->base = copies->there = strlen(caches);
        strbuf_addf(path, "%s/tidemark", caches);
    } else {
        copies->base = strlen(home);
        copies->there = copies->base + strlen("/.cache");
        strbuf_addf(path, "%s/.cache/tidemark", home);
    }
    return *path->data == '/';
}

/* A container's root has no ~/.cache, and a service has no home. */
static bool unpacked_copy_shared_path(struct copies_path *copies)
{
    if (getenv("TIDEMARK_CACHE"))
        return false;
    copies->is_shared = true;
    strbuf_addf(&copies->text, "/var/tmp/tidemark-cache-%u", (unsigned)geteuid());
    return mkdir(copies->text.data, 0700) == 0 || errno == EEXIST;
}

static int unpacked_copy_open_path(const struct copies_path *copies)
{
    struct stat status;
    int fd = openat(AT_FDCWD, copies->text.data,
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC | (copies->is_shared ? O_NOFOLLOW : 0));
    if (fd < 0 || (fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
                   !(status.st_mode & (S_IWGRP | S_IWOTH))))
        return fd;
    close(fd);
    return -1;
}

static int unpacked_copy_open_directory(void)
{
    struct copies_path own = {.text = STRBUF_INIT}, shared = {.text = STRBUF_INIT};
    int fd = -1;
    if (unpacked_copy_own_path(&own) && unpacked_copy_make_directories(&own))
        fd = unpacked_copy_open_path(&own);
    if (fd < 0 && unpacked_copy_shared_path(&shared))
        fd = unpacked_copy_open_path(&shared);
    strbuf_release(&own.text);
    strbuf_release(&shared.text);
    return fd;
}

/* ---- Copies that are there ----------------------------------------------------------------- */

/* An older copy may have lost bytes when the machine lost power. */
static bool unpacked_copy_is_of_this_boot(const struct stat *status)
{
    enum { SLACK_S = 5 };
    time_t now_s = (time_t)(now_ns(CLOCK_REALTIME) / 1000000000u);
    time_t boot_s = now_s - (time_t)(now_ns(CLOCK_BOOTTIME) / 1000000000u);
    return status->st_mtime > boot_s + SLACK_S && status->st_mtime <= now_s + SLACK_S;
}

static bool unpacked_copy_is_after(const struct stat *copy, const struct stat *original)
{
    return copy->st_mtim.tv_sec > original->st_ctim.tv_sec ||
           (copy->st_mtim.tv_sec == original->st_ctim.tv_sec &&
            copy->st_mtim.tv_nsec > original->st_ctim.tv_nsec);
}

/* Whole, only ours, and made from the present original: two files may have one build-id. */
static bool unpacked_copy_is_good(const struct stat *copy, const struct wanted_copy *wanted)
{
    return S_ISREG(copy->st_mode) && (uint64_t)copy->st_size == wanted->length &&
           copy->st_uid == geteuid() && !(copy->st_mode & (S_IWGRP | S_IWOTH)) &&
           unpacked_copy_is_of_this_boot(copy) && unpacked_copy_is_after(copy, wanted->original);
}

static bool unpacked_copy_has_head(int fd, const struct wanted_copy *wanted)
{
    char head[sizeof(Elf64_Ehdr)];
    size_t length;
    const char *original = elf_rawfile(wanted->elf, &length);
    return original && length >= sizeof head && pread(fd, head, sizeof head, 0) == sizeof head &&
           memcmp(head, original, sizeof head) == 0;
}

static int unpacked_copy_open(int directory, const struct wanted_copy *wanted)
{
    struct stat status;
    int fd = openat(directory, wanted->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || (fstat(fd, &status) == 0 && unpacked_copy_is_good(&status, wanted) &&
                   unpacked_copy_has_head(fd, wanted)))
        return fd;
    close(fd);
    return -1;
}

/* The user may name a directory in which other files are: those are not ours to count or remove. */
static bool unpacked_copy_is_named_so(const char *name)
{
    size_t digits = strspn(name, HEX_DIGITS);
    const char *bytes = name + digits + 1;
    return digits >= 2 * ID_LEAST && digits <= 2 * ID_MOST && name[digits] == '-' &&
           strlen(name) < NAME_ROOM && *bytes != '.' &&
           !strcmp(bytes + strspn(bytes, DIGITS), ".debug");
}

static bool unpacked_copy_is_draft(const char *name)
{
    return strlen(name) < NAME_ROOM && strncmp(name, NEW_COPY, strlen(NEW_COPY)) == 0 &&
           unpacked_copy_is_named_so(name + strlen(NEW_COPY));
}

/* A copy of an earlier boot, or a draft of a process that was killed. */
static bool unpacked_copy_is_waste(const struct stat *status, const char *name)
{
    enum { DRAFT_S = 60 };
    time_t now_s = (time_t)(now_ns(CLOCK_REALTIME) / 1000000000u);
    return !unpacked_copy_is_of_this_boot(status) ||
           (unpacked_copy_is_draft(name) && status->st_mtime < now_s - DRAFT_S);
}

/* Removes waste. Returns the bytes of the other copies, and the name of the one that was read
 * longest ago. */
static uint64_t unpacked_copy_sum(DIR *files, char oldest[NAME_ROOM])
{
    uint64_t sum = 0;
    struct timespec oldest_time = {0};
    struct stat status;
    *oldest = '\0';
    rewinddir(files);
    for (const struct dirent *entry; (entry = readdir(files));) {
        const char *name = entry->d_name;
        if ((!unpacked_copy_is_named_so(name) && !unpacked_copy_is_draft(name)) ||
            fstatat(dirfd(files), name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(status.st_mode))
            continue;
        if (unpacked_copy_is_waste(&status, name) && unlinkat(dirfd(files), name, 0) == 0)
            continue;
        sum += (uint64_t)status.st_blocks * 512;
        if (*oldest && (status.st_atim.tv_sec > oldest_time.tv_sec ||
                        (status.st_atim.tv_sec == oldest_time.tv_sec &&
                         status.st_atim.tv_nsec >= oldest_time.tv_nsec)))
            continue;
        strcpy(oldest, name);
        oldest_time = status.st_atim;
    }
    return sum;
}

static bool unpacked_copy_make_room(int directory, uint64_t bytes)
{
    char oldest[NAME_ROOM];
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = fd < 0 ? NULL : fdopendir(fd);
    if (!files && fd >= 0)
        close(fd);
    bool has_room = false, may_remove = files != NULL;
    while (!has_room && may_remove) {
        has_room = unpacked_copy_sum(files, oldest) + bytes <= COPIES_MOST_BYTES;
        may_remove = has_room || (*oldest && unlinkat(directory, oldest, 0) == 0);
    }
    if (files)
        closedir(files);
    return has_room;
}

/* ---- Making one ---------------------------------------------------------------------------- */

struct copy_unpacking {
    Elf *elf;
    const uint8_t *bytes; /* of the original */
    size_t length;
    Elf64_Ehdr header;
    Elf64_Shdr *sections; /* of the copy */
    size_t section_count;
    uint64_t end; /* bytes of the copy so far */
    int fd;       /* of the copy */
};

static bool unpacked_copy_put(const struct copy_unpacking *unpacking, const void *bytes,
                              size_t count, uint64_t at)
{
    for (size_t done = 0; done < count;) {
        ssize_t put =
            pwrite(unpacking->fd, (const uint8_t *)bytes + done, count - done, (off_t)(at + done));
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

static bool unpacked_copy_put_range(const struct copy_unpacking *unpacking, uint64_t at,
                                    uint64_t count)
{
    return at <= unpacking->length && count <= unpacking->length - at &&
           unpacked_copy_put(unpacking, unpacking->bytes + at, count, at);
}

static bool unpacked_copy_read_head(struct copy_unpacking *unpacking)
{
    Elf64_Ehdr *header = &unpacking->header;
    unpacking->bytes = (const uint8_t *)elf_rawfile(unpacking->elf, &unpacking->length);
    if (!unpacking->bytes || unpacking->length < sizeof *header)
        return false;
    memcpy(header, unpacking->bytes, sizeof *header);
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_shentsize != sizeof(Elf64_Shdr) || header->e_phentsize > sizeof(Elf64_Phdr) ||
        elf_getshdrnum(unpacking->elf, &unpacking->section_count) != 0)
        return false;
    size_t count = unpacking->section_count, bytes = count * sizeof(Elf64_Shdr);
    if (count == 0 || header->e_shoff > unpacking->length ||
        count > (unpacking->length - header->e_shoff) / sizeof(Elf64_Shdr))
        return false;
    unpacking->sections = malloc(bytes);
    if (unpacking->sections)
        memcpy(unpacking->sections, unpacking->bytes + header->e_shoff, bytes);
    unpacking->end = unpacking->length;
    return unpacking->sections != NULL;
}

static uint64_t unpacked_copy_place(uint64_t end)
{
    return (end + PLACE_BYTES - 1) & ~(uint64_t)(PLACE_BYTES - 1);
}

/* elf_compress() of this program checks first whether it may unpack (unpack_limit.h). */
static bool unpacked_copy_put_unpacked(struct copy_unpacking *unpacking, Elf_Scn *section)
{
    Elf64_Shdr *header = &unpacking->sections[elf_ndxscn(section)];
    GElf_Shdr unpacked;
    const Elf_Data *data = elf_compress(section, 0, 0) < 0 ? NULL : elf_rawdata(section, NULL);
    uint64_t at = unpacked_copy_place(unpacking->end);
    if (!data || !data->d_buf || !gelf_getshdr(section, &unpacked) ||
        !unpacked_copy_put(unpacking, data->d_buf, data->d_size, at))
        return false;
    header->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
    header->sh_offset = at;
    header->sh_size = data->d_size;
    header->sh_addralign = unpacked.sh_addralign;
    unpacking->end = at + data->d_size;
    return true;
}

static bool unpacked_copy_put_sections(struct copy_unpacking *unpacking)
{
    bool is_good = true;
    for (Elf_Scn *section = NULL; is_good && (section = elf_nextscn(unpacking->elf, section));) {
        const Elf64_Shdr *header = &unpacking->sections[elf_ndxscn(section)];
        if (header->sh_flags & SHF_COMPRESSED)
            is_good = unpacked_copy_put_unpacked(unpacking, section);
        else if (header->sh_type != SHT_NOBITS)
            is_good = unpacked_copy_put_range(unpacking, header->sh_offset, header->sh_size);
    }
    return is_good;
}

static bool unpacked_copy_write(struct copy_unpacking *unpacking)
{
    const Elf64_Ehdr *header = &unpacking->header;
    return unpacked_copy_read_head(unpacking) &&
           unpacked_copy_put_range(unpacking, 0, sizeof *header) &&
           unpacked_copy_put_range(unpacking, header->e_phoff,
                                   (uint64_t)header->e_phnum * header->e_phentsize) &&
           unpacked_copy_put_sections(unpacking) &&
           unpacked_copy_put(unpacking, unpacking->sections,
                             unpacking->section_count * sizeof(Elf64_Shdr), header->e_shoff) &&
           ftruncate(unpacking->fd, (off_t)unpacking->end) == 0;
}

/* Another process may have removed our draft as waste, and begun its own. */
static bool unpacked_copy_is_our_draft(int directory, const char *draft, int fd)
{
    struct stat ours, named;
    return fstat(fd, &ours) == 0 && fstatat(directory, draft, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

/* Makes a copy. Returns its descriptor, or -1, also if another process is making it. The copy gets
 * its name when it is whole. */
static int unpacked_copy_make(int directory, const struct wanted_copy *wanted)
{
    char draft[NAME_ROOM + sizeof NEW_COPY];
    struct copy_unpacking unpacking = {.elf = wanted->elf};
    snprintf(draft, sizeof draft, NEW_COPY "%s", wanted->name);
    unpacking.fd =
        openat(directory, draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (unpacking.fd < 0)
        return -1;
    bool is_good = unpacked_copy_write(&unpacking);
    bool is_ours = unpacked_copy_is_our_draft(directory, draft, unpacking.fd);
    free(unpacking.sections);
    if (is_good && is_ours && renameat(directory, draft, directory, wanted->name) == 0)
        return unpacking.fd;
    if (is_ours)
        unlinkat(directory, draft, 0);
    close(unpacking.fd);
    return -1;
}

/* ---- From outside -------------------------------------------------------------------------- */

/* libdw looks for split files (.dwo, .dwp) beside the file whose descriptor it has, and would look
 * beside the copy. Units with split files use .debug_addr, which clang also makes without them. */
static bool unpacked_copy_may_be_split(Elf *elf)
{
    size_t names;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return true;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && strcmp(name, ".debug_addr") == 0)
            return true;
    }
    return false;
}

/* Measures the copy by the sections' heads. False: it is too large for a copy, or too small. */
static bool unpacked_copy_measure(struct wanted_copy *wanted)
{
    wanted->length = (uint64_t)wanted->original->st_size;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(wanted->elf, section));) {
        GElf_Shdr header;
        GElf_Chdr unpacked;
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_COMPRESSED) ||
            !gelf_getchdr(section, &unpacked))
            continue;
        if (unpacked.ch_size > UNPACKED_MOST_BYTES)
            return false;
        wanted->unpacked += unpacked.ch_size;
        wanted->length = unpacked_copy_place(wanted->length) + unpacked.ch_size;
    }
    return wanted->unpacked >= UNPACKED_LEAST_BYTES && wanted->unpacked <= UNPACKED_MOST_BYTES;
}

static bool unpacked_copy_name(char name[NAME_ROOM], Elf *elf, uint64_t file_bytes)
{
    const void *found;
    ssize_t length = dwelf_elf_gnu_build_id(elf, &found);
    if (length < ID_LEAST || length > ID_MOST)
        return false;
    int at = 0;
    for (ssize_t i = 0; i < length; i++)
        at += sprintf(name + at, "%02x", ((const uint8_t *)found)[i]);
    sprintf(name + at, "-%llu.debug", (unsigned long long)file_bytes);
    return true;
}

static int unpacked_copy_of(Elf *elf, const struct stat *original)
{
    struct wanted_copy wanted = {.original = original, .elf = elf};
    if (!unpacked_copy_measure(&wanted) || unpacked_copy_may_be_split(elf) ||
        !unpacked_copy_name(wanted.name, elf, (uint64_t)original->st_size))
        return -1;
    int directory = unpacked_copy_open_directory();
    if (directory < 0)
        return -1;
    int copy = unpacked_copy_open(directory, &wanted);
    if (copy < 0 && unpacked_copy_make_room(directory, wanted.length))
        copy = unpacked_copy_make(directory, &wanted);
    close(directory);
    return copy;
}

int unpacked_copy_instead(int fd)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || !trust_holds_strictly(&status))
        return fd;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    int copy = elf && elf_kind(elf) == ELF_K_ELF ? unpacked_copy_of(elf, &status) : -1;
    elf_end(elf);
    if (copy < 0)
        return fd;
    close(fd);
    return copy;
}
