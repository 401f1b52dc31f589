/* Reads the configuration files and applies them to a command's options (defaults.h). Each file is
 * parsed once into a list of TOML entries. Entries are applied in the order of the files, so a
 * later file overrides an earlier one. */
#include "base/defaults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/regular.h"
#include "base/text.h"
#include "base/toml.h"

enum { FILES_MAX = 16 };

struct file {
    char *path;
    struct toml toml;
};

static struct file defaults_files[FILES_MAX];
static size_t defaults_file_count;

/* ---- Files --------------------------------------------------------------------------------- */

static void defaults_say(struct strbuf *why, const char *path, const char *sentence)
{
    text_add_safe_string(why, path);
    strbuf_addf(why, ": %s", sentence);
}

/* "FILE:LINE: " */
static void defaults_say_where(struct strbuf *why, const struct file *file,
                               const struct toml_entry *entry)
{
    text_add_safe_string(why, file->path);
    strbuf_addf(why, ":%u: ", entry->line);
}

/* Takes the path: keeps it if there is such a file, else frees it. */
static int defaults_read_file(char *path, struct strbuf *why)
{
    struct regular_file text;
    struct file *file = &defaults_files[defaults_file_count];
    int error = defaults_file_count < FILES_MAX
                    ? regular_file_read_trusted(&text, path, TOML_BYTES_MAX)
                    : -E2BIG;
    if (error) {
        /* A file behind a directory that is closed to us counts as missing too: after setpriv, HOME
         * is the directory of another user. */
        bool is_there =
            error != -ENOENT && error != -ENOTDIR && !(error == -EACCES && access(path, F_OK));
        if (is_there)
            defaults_say(why, path,
                         error == -EINVAL  ? "it is no regular file"
                         : error == -EFBIG ? "it is too large for a file of options"
                         : error == -EPERM ? "others could write it, so it is not followed: make "
                                             "it yours or root's, chmod go-w, or set "
                                             "TIDEMARK_CONFIG= for none"
                                           : strerror(-error));
        free(path);
        return is_there ? -EINVAL : 0;
    }
    *file = (struct file){.path = path};
    error = toml_parse(&file->toml, text.bytes, text.count);
    free(text.bytes);
    if (!error) {
        defaults_file_count++;
        return 0;
    }
    defaults_say(why, path, error == -ENOMEM ? strerror(ENOMEM) : file->toml.error);
    toml_release(&file->toml);
    free(path);
    return error;
}

/* -EINVAL with a sentence if the file is wrong; 0 also if there is none. */
static int defaults_read_in_directory(const char *directory, size_t length, struct strbuf *why)
{
    struct strbuf path = STRBUF_INIT;
    if (!length || *directory != '/') /* the XDG specification: relative paths are to be ignored */
        return 0;
    strbuf_add(&path, directory, length);
    strbuf_add_string(&path, "/tidemark/config.toml");
    return defaults_read_file(strbuf_detach(&path), why);
}

/* The first directory in the list counts most, so its file is read last. */
static int defaults_read_system(const char *list, struct strbuf *why)
{
    for (size_t end = strlen(list);;) {
        size_t start = end;
        while (start && list[start - 1] != ':')
            start--;
        int error = defaults_read_in_directory(list + start, end - start, why);
        if (error || !start)
            return error;
        end = start - 1;
    }
}

static const char *defaults_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int defaults_read_user(struct strbuf *why)
{
    const char *directory = defaults_variable("XDG_CONFIG_HOME"), *home = defaults_variable("HOME");
    if (directory)
        return defaults_read_in_directory(directory, strlen(directory), why);
    if (!home)
        return 0;
    struct strbuf usual = STRBUF_INIT;
    strbuf_addf(&usual, "%s/.config", home);
    int error = defaults_read_in_directory(usual.data, usual.length, why);
    strbuf_release(&usual);
    return error;
}

static int defaults_read_named(const char *path, struct strbuf *why)
{
    size_t before = defaults_file_count;
    int error = *path ? defaults_read_file(strdup(path), why) : 0;
    if (!error && *path && defaults_file_count == before) {
        defaults_say(why, path, "no such file; TIDEMARK_CONFIG names it");
        error = -EINVAL;
    }
    return error;
}

static int defaults_check_section(const struct file *file, const struct toml_entry *entry,
                                  const char *const *commands, size_t count, struct strbuf *why)
{
    struct strbuf safe = STRBUF_INIT;
    for (size_t i = 0; entry->key_count > 1 && i < count; i++)
        if (!strcmp(entry->keys[0], commands[i]))
            return 0;
    defaults_say_where(why, file, entry);
    text_add_safe_string(&safe, entry->keys[0]);
    const char *nearest = options_nearest(entry->keys[0], commands, count);
    if (entry->key_count < 2)
        strbuf_addf(why, "'%s' stands in no section: write [record], say, above it", safe.data);
    else if (nearest)
        strbuf_addf(why, "no command '%s', did you mean [%s]?", safe.data, nearest);
    else
        strbuf_addf(why, "no command '%s': sections are called as commands are", safe.data);
    strbuf_release(&safe);
    return -EINVAL;
}

int defaults_load(const char *const *commands, size_t count, struct strbuf *why)
{
    const char *named = getenv("TIDEMARK_CONFIG"), *list = defaults_variable("XDG_CONFIG_DIRS");
    int error = named ? defaults_read_named(named, why)
                      : defaults_read_system(list ? list : "/etc/xdg", why);
    if (!error && !named)
        error = defaults_read_user(why);
    for (size_t i = 0; !error && i < defaults_file_count; i++)
        for (size_t j = 0; !error && j < defaults_files[i].toml.count; j++)
            error = defaults_check_section(&defaults_files[i], &defaults_files[i].toml.entries[j],
                                           commands, count, why);
    return error;
}

const char *defaults_file(size_t number)
{
    return number < defaults_file_count ? defaults_files[number].path : NULL;
}

/* ---- Options ------------------------------------------------------------------------------- */

/* The value as it would stand on the command line. The entry owns the text. */
static char *defaults_as_text(struct toml_entry *entry)
{
    struct strbuf text = STRBUF_INIT;
    if (entry->type == TOML_STRING)
        return entry->string;
    if (entry->type == TOML_INTEGER)
        strbuf_addf(&text, "%lld", (long long)entry->integer);
    else
        strbuf_addf(&text, "%.15g", entry->number);
    free(entry->string);
    return entry->string = strbuf_detach(&text);
}

static int defaults_set(const struct options_command *command, void *target,
                        struct toml_entry *entry, struct strbuf *why)
{
    /* an element of an array has its index as a third key */
    bool is_single = entry->key_count == 2;
    if (entry->key_count > 3 || (!is_single && !options_repeats(command, entry->keys[1]))) {
        strbuf_addf(why, "one value is expected");
        return -EINVAL;
    }
    if (entry->type == TOML_BOOLEAN)
        return options_switch(command, target, entry->keys[1], entry->boolean, why);
    return options_set(command, target, entry->keys[1], defaults_as_text(entry), why);
}

int defaults_apply(const struct options_command *command, void *target, struct strbuf *why)
{
    for (size_t i = 0; i < defaults_file_count; i++)
        for (size_t j = 0; j < defaults_files[i].toml.count; j++) {
            struct toml_entry *entry = &defaults_files[i].toml.entries[j];
            struct strbuf what = STRBUF_INIT;
            int error = strcmp(entry->keys[0], command->name)
                            ? 0
                            : defaults_set(command, target, entry, &what);
            if (error) {
                defaults_say_where(why, &defaults_files[i], entry);
                strbuf_addf(why, "%s", what.length ? what.data : "this is not right");
            }
            strbuf_release(&what);
            if (error)
                return error;
        }
    return 0;
}
