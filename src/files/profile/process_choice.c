/* Finds the process that FILE@PID means (process_choice.h). All that could be meant is gathered
 * first, from a session's file or from a directory. Images of one process are numbered in the
 * order of their beginnings. */
#include "profile/process_choice.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "profile/profile.h"

enum { LISTED = 3 }; /* processes that a sentence names */

struct choice_image {
    char *path;
    struct session *session; /* NULL: it has a file of its own */
    size_t entry;
    uint64_t start_unix_ns;
    size_t order; /* in which it was found */
};

struct choice_search {
    char *file; /* before the '@' */
    pid_t pid;
    uint32_t number; /* 0: the last */
    struct choice_image *images;
    size_t count, room;
    struct session **sessions; /* that were read */
    size_t session_count, session_room;
    struct strbuf others; /* processes that there are, as a sentence names them */
    pid_t other_pids[LISTED];
    size_t other_count;
    bool is_beside; /* what is looked at is not FILE, but beside it */
    bool no_memory;
};

/* ---- The operand --------------------------------------------------------------------------- */

/* Digits up to `end` as a number above 0. */
static bool choice_number(const char *at, const char *end, uint32_t *number)
{
    uint64_t value = 0;
    if (at == end || end - at > 10)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    *number = (uint32_t)value;
    return value > 0 && value <= INT32_MAX;
}

static bool choice_parse(const char *operand, size_t *file_bytes, pid_t *pid, uint32_t *number)
{
    const char *mark = strrchr(operand, '@');
    uint32_t parsed;
    *number = 0;
    if (!mark || mark == operand)
        return false;
    const char *end = mark + strlen(mark), *point = strchr(mark, '.');
    if (point && !choice_number(point + 1, end, number))
        return false;
    if (!choice_number(mark + 1, point ? point : end, &parsed))
        return false;
    *pid = (pid_t)parsed;
    *file_bytes = (size_t)(mark - operand);
    return true;
}

static bool choice_ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    return length > end && !strcmp(name + length - end, suffix);
}

/* ---- A profile that is in its node's file now ---------------------------------------------- */

/* What its entry says that it was called; false: another name than the pattern's. */
static bool choice_was_called(const struct session_entry *entry, const char *pattern)
{
    char name[NAME_MAX + 1];
    const char *line = entry->is_whole ? strstr(entry->said, "\nprofile ") : NULL;
    return line && sscanf(line, "\nprofile %255[^\n]", name) == 1 &&
           (!strcmp(pattern, name) || fnmatch(pattern, name, FNM_PERIOD) == 0);
}

/* Takes the first one and counts them. */
static size_t choice_find_in_node(struct choice *choice, const char *path, const char *pattern)
{
    struct session *session;
    size_t found = 0, entry = 0;
    if (session_list(&session, path))
        return 0;
    for (size_t i = 0; i < session->count; i++)
        if (choice_was_called(&session->entries[i], pattern) && !found++)
            entry = i;
    if (found && !choice->session)
        *choice = (struct choice){.path = strdup(path), .session = session, .entry = entry};
    else
        session_free(session);
    return found;
}

/* The files of nodes in the directory of `operand`, which may be a pattern that no file is like. */
static void choice_list_nodes(glob_t *nodes, const char *operand)
{
    const char *slash = strrchr(operand, '/');
    struct stat status;
    struct strbuf pattern = STRBUF_INIT, directory = STRBUF_INIT;
    strbuf_add(&directory, operand, slash ? (size_t)(slash - operand) + 1 : 0);
    bool is_name = directory.length && stat(directory.data, &status) == 0;
    for (size_t i = 0; i < directory.length; i++) {
        if (is_name && strchr("*?[\\", directory.data[i]))
            strbuf_add_char(&pattern, '\\');
        strbuf_add_char(&pattern, directory.data[i]);
    }
    strbuf_add_string(&pattern, "*" SESSION_FILE_SUFFIX);
    if (glob(pattern.data, 0, NULL, nodes))
        nodes->gl_pathc = 0;
    strbuf_release(&directory);
    strbuf_release(&pattern);
}

/* Where the file was, a file of a node may have it: whoever knew its name finds it. The shell
 * leaves a pattern as it is if no file is like it. How many processes are meant. */
static size_t choice_find_kept(struct choice *choice, const char *operand)
{
    const char *slash = strrchr(operand, '/');
    glob_t nodes = {.gl_pathc = 0};
    size_t found = 0;
    *choice = (struct choice){.path = NULL};
    if (!choice_ends_with(operand, ".tmk"))
        return 0;
    choice_list_nodes(&nodes, operand);
    for (size_t i = 0; i < nodes.gl_pathc; i++)
        found += choice_find_in_node(choice, nodes.gl_pathv[i], slash ? slash + 1 : operand);
    globfree(&nodes);
    return found;
}

static int choice_take_kept(struct choice *choice, const char *operand, size_t found)
{
    if (found == 1)
        return 0;
    choice_release(choice);
    return error_set(-ENOENT, "%s are %zu profiles in files of nodes: choose one of them", operand,
                     found);
}

/* ---- Is it an operand of that form? -------------------------------------------------------- */

bool choice_is(const char *operand)
{
    size_t bytes;
    pid_t pid;
    uint32_t number;
    struct stat file;
    struct choice choice;
    bool has_form = choice_parse(operand, &bytes, &pid, &number);
    if ((!has_form && !choice_ends_with(operand, ".tmk")) || lstat(operand, &file) == 0 ||
        errno != ENOENT)
        return false;
    if (has_form)
        return true;
    size_t kept = choice_find_kept(&choice, operand);
    choice_release(&choice);
    return kept > 0;
}

char *choice_file(const char *operand)
{
    size_t bytes;
    pid_t pid;
    uint32_t number;
    bool is = choice_is(operand) && choice_parse(operand, &bytes, &pid, &number);
    return is ? strndup(operand, bytes) : NULL;
}

/* ---- What there is ------------------------------------------------------------------------- */

static void choice_add(struct choice_search *search, const char *path, struct session *session,
                       size_t entry, uint64_t start_unix_ns)
{
    char *copy = strdup(path);
    if (!copy ||
        !array_make_room(&search->images, &search->room, search->count, sizeof *search->images)) {
        free(copy);
        search->no_memory = true;
        return;
    }
    search->images[search->count] =
        (struct choice_image){copy, session, entry, start_unix_ns, search->count};
    search->count++;
}

static void choice_note_other(struct choice_search *search, pid_t pid, const char *program)
{
    if (search->is_beside)
        return;
    for (size_t i = 0; i < search->other_count && i < LISTED; i++)
        if (search->other_pids[i] == pid)
            return;
    if (search->other_count < LISTED)
        search->other_pids[search->other_count] = pid;
    if (search->other_count++ < LISTED)
        strbuf_addf(&search->others, "%s%d (%s)", search->other_count > 1 ? ", " : "", (int)pid,
                    program);
}

static int choice_search_session(struct choice_search *search, const char *path)
{
    struct session *session;
    int error = session_list(&session, path);
    if (error)
        return error;
    if (!array_make_room(&search->sessions, &search->session_room, search->session_count,
                         sizeof *search->sessions)) {
        session_free(session);
        return error_set(-ENOMEM, "out of memory while reading %s", path);
    }
    search->sessions[search->session_count++] = session;
    for (size_t i = 0; i < session->count; i++) {
        const struct session_row *row = &session->entries[i].row;
        if (row->pid == search->pid)
            choice_add(search, path, session, i, row->start_unix_ns);
        else
            choice_note_other(search, row->pid, row->program);
    }
    return 0;
}

static uint64_t choice_fact(const struct profile *profile, const char *key)
{
    const char *value = profile_get(profile, key);
    return value ? strtoull(value, NULL, 10) : 0;
}

/* What cannot be read has no process that could be meant. */
static void choice_search_profile(struct choice_search *search, const char *path)
{
    struct profile *profile;
    if (profile_read_meta(&profile, path))
        return;
    uint64_t pid = choice_fact(profile, PROFILE_META_PID);
    const char *program = profile_get(profile, PROFILE_META_PROGRAM);
    if (pid == (uint64_t)search->pid)
        choice_add(search, path, NULL, 0, choice_fact(profile, PROFILE_META_START));
    else if (pid)
        choice_note_other(search, (pid_t)pid, program ? program : "?");
    profile_free(profile);
}

static void choice_search_file(struct choice_search *search, const char *directory,
                               const char *name)
{
    struct strbuf path = STRBUF_INIT;
    strbuf_addf(&path, "%s/%s", directory, name);
    if (choice_ends_with(name, SESSION_FILE_SUFFIX))
        choice_search_session(search, path.data); /* one that is damaged is no help here */
    else if (choice_ends_with(name, ".tmk"))
        choice_search_profile(search, path.data);
    strbuf_release(&path);
}

/* In the order of names, so that images that began at once have the same numbers each time. */
static int choice_search_directory(struct choice_search *search, const char *directory)
{
    struct dirent **names;
    int count = scandir(directory, &names, NULL, alphasort);
    if (count < 0)
        return error_set(-errno, "cannot read %s: %s", directory, strerror(errno));
    for (int i = 0; i < count; i++) {
        choice_search_file(search, directory, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return 0;
}

static int choice_search_beside(struct choice_search *search)
{
    const char *slash = strrchr(search->file, '/');
    struct strbuf directory = STRBUF_INIT;
    if (slash)
        strbuf_add(&directory, search->file,
                   slash > search->file ? (size_t)(slash - search->file) : 1);
    else
        strbuf_add_char(&directory, '.');
    search->is_beside = true;
    int error = choice_search_directory(search, directory.data);
    strbuf_release(&directory);
    return error;
}

/* A profile's own process, and the small ones of its session. */
static int choice_search_stem(struct choice_search *search)
{
    struct strbuf session = STRBUF_INIT;
    size_t length = strlen(search->file);
    bool has_suffix = choice_ends_with(search->file, ".tmk");
    choice_search_profile(search, search->file);
    strbuf_add(&session, search->file, has_suffix ? length - 4 : length);
    strbuf_add_string(&session, SESSION_FILE_SUFFIX);
    int error = access(session.data, F_OK) ? 0 : choice_search_session(search, session.data);
    strbuf_release(&session);
    return error;
}

static int choice_search_all(struct choice_search *search)
{
    struct stat file;
    if (stat(search->file, &file))
        return error_set(-errno, "cannot open %s: %s", search->file, strerror(errno));
    if (S_ISDIR(file.st_mode))
        return choice_search_directory(search, search->file);
    int error = session_is_file(search->file) ? choice_search_session(search, search->file)
                                              : choice_search_stem(search);
    if (error || search->count)
        return error;
    return choice_search_beside(search);
}

/* ---- One of them --------------------------------------------------------------------------- */

static int choice_compare(const void *left, const void *right)
{
    const struct choice_image *a = left, *b = right;
    int order = (a->start_unix_ns > b->start_unix_ns) - (a->start_unix_ns < b->start_unix_ns);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static int choice_fail(const struct choice_search *search)
{
    if (search->no_memory)
        return error_set(-ENOMEM, "out of memory while reading %s", search->file);
    if (search->count)
        return error_set(-ENOENT,
                         "%s has %zu profile%s of process %d: choose one by a number from 1 to %zu",
                         search->file, search->count, search->count == 1 ? "" : "s",
                         (int)search->pid, search->count);
    if (!search->other_count)
        return error_set(-ENOENT, "%s has no process %d, nor any other", search->file,
                         (int)search->pid);
    return error_set(-ENOENT, "%s has no process %d, but %s%s; `tidemark report %s` lists them",
                     search->file, (int)search->pid, search->others.data,
                     search->other_count > LISTED ? " …" : "", search->file);
}

static void choice_take_note(struct choice *choice, const struct choice_search *search)
{
    struct strbuf note = STRBUF_INIT;
    if (search->number || search->count < 2)
        return;
    strbuf_addf(&note,
                "process %d was %zu programs, one after the other; this is the last, "
                "%s@%d.1 is the first",
                (int)search->pid, search->count, search->file, (int)search->pid);
    choice->note = strbuf_detach(&note);
}

static int choice_take(struct choice *choice, struct choice_search *search)
{
    size_t number = search->number ? search->number : search->count;
    if (search->no_memory || !number || number > search->count)
        return choice_fail(search);
    qsort(search->images, search->count, sizeof *search->images, choice_compare);
    struct choice_image *image = &search->images[number - 1];
    *choice =
        (struct choice){.path = image->path, .session = image->session, .entry = image->entry};
    image->path = NULL;
    for (size_t i = 0; i < search->session_count; i++)
        if (search->sessions[i] == choice->session)
            search->sessions[i] = NULL;
    choice_take_note(choice, search);
    return 0;
}

int choice_find(struct choice *choice, const char *operand)
{
    struct choice_search search = {.others = STRBUF_INIT};
    size_t file_bytes;
    *choice = (struct choice){.path = NULL};
    size_t kept = choice_find_kept(choice, operand);
    if (kept)
        return choice_take_kept(choice, operand, kept);
    if (!choice_parse(operand, &file_bytes, &search.pid, &search.number))
        return error_set(-ENOENT, "cannot open %s: %s", operand, strerror(ENOENT));
    search.file = strndup(operand, file_bytes);
    int error = search.file ? choice_search_all(&search) : error_set(-ENOMEM, "out of memory");
    if (!error)
        error = choice_take(choice, &search);
    for (size_t i = 0; i < search.count; i++)
        free(search.images[i].path);
    for (size_t i = 0; i < search.session_count; i++)
        session_free(search.sessions[i]);
    free(search.images);
    free(search.sessions);
    free(search.file);
    strbuf_release(&search.others);
    return error;
}

void choice_release(struct choice *choice)
{
    session_free(choice->session);
    free(choice->path);
    free(choice->note);
    *choice = (struct choice){.path = NULL};
}
