/* Secrets in command lines (redact.h). Regular expressions match the usual forms; of each match the
 * group that is the secret is replaced. A pattern that matches too much hides a harmless word; one
 * that matches too little passes a password on. So names are looked for anywhere in an option's
 * name. */
#include <regex.h>
#include <string.h>
#include "redact/redact.h"

#define REDACT_WORD "('[^']*'|\"[^\"]*\"|[^[:space:]'\"]+)"
#define REDACT_OPTION_NAMES                                                                        \
    "(pass|passwd|password|passphrase|pwd|secret|token|credentials?|api[_-]?key|access[_-]?key|"   \
    "private[_-]?key|auth|cookie)"

/* The group that is the secret. */
static const struct {
    const char *pattern;
    size_t group;
} redact_patterns[] = {
    /* --password=x, --db-password x, -token x */
    {"(^|[[:space:]'\"])--?([a-z0-9_-]*[_-])?" REDACT_OPTION_NAMES
     "([_-][a-z0-9_-]*)?(=|[[:space:]]+)" REDACT_WORD,
     6},
    /* PASSWORD=x, MYSQL_PWD=x */
    {"(^|[[:space:]'\"])([a-z0-9_]*_)?" REDACT_OPTION_NAMES "(_[a-z0-9_]*)?(=)" REDACT_WORD, 6},
    /* https://user:x@host */
    {"()()()()(://[^/@:[:space:]]*:)([^/@[:space:]]+)@", 6},
    /* Authorization: Bearer x */
    {"()()()()(bearer|basic)[[:space:]]+([a-z0-9+/=._~-]{8,})", 6},
    /* mysql -px */
    {"(^|/)(mysql|mariadb)([a-z-]*)([^|;]*)([[:space:]]-p)([^[:space:]]+)", 6},
    /* What providers' keys look like, and signed tokens. */
    {"()()()()(^|[^a-z0-9])((AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{30,}|glpat-[A-Za-z0-9_-]{"
     "20,}|"
     "xox[abpr]-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{20,}|eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}\\."
     "[A-Za-z0-9_-]*)",
     6},
};

enum { REDACT_GROUPS = 8 };

/* Replaces in `text` what one pattern finds. */
static size_t redact_one_pattern(struct strbuf *text, size_t number)
{
    struct strbuf out = STRBUF_INIT;
    regmatch_t groups[REDACT_GROUPS];
    regex_t pattern;
    size_t found = 0;
    if (regcomp(&pattern, redact_patterns[number].pattern, REG_EXTENDED | REG_ICASE))
        return 0;
    const char *at = text->data;
    while (!regexec(&pattern, at, REDACT_GROUPS, groups, at == text->data ? 0 : REG_NOTBOL)) {
        const regmatch_t *secret = &groups[redact_patterns[number].group];
        if (strncmp(at + secret->rm_so, REDACT_HIDDEN, strlen(REDACT_HIDDEN)) != 0)
            found++;
        strbuf_add(&out, at, (size_t)secret->rm_so);
        strbuf_add_string(&out, REDACT_HIDDEN);
        at += secret->rm_eo;
    }
    strbuf_add_string(&out, at);
    regfree(&pattern);
    strbuf_release(text);
    *text = out;
    return found;
}

/* The bytes of `command` that are searched: up to the last blank outside of quotes. Each search
 * takes time by the square of the text's length, and a stranger's may be of megabytes. */
static size_t redact_searched_bytes(const char *command)
{
    enum { MOST_BYTES = 32 << 10 };
    size_t end = 0, at = 0;
    char quote = 0;
    for (; command[at] && at < MOST_BYTES; at++) {
        char byte = command[at];
        if (byte == '\\' && quote != '\'' && command[at + 1])
            at++;
        else if (quote ? byte == quote : byte == '\'' || byte == '"')
            quote = quote ? 0 : byte;
        else if (!quote && byte == ' ')
            end = at + 1;
    }
    return command[at] ? end : at;
}

size_t redact_secrets(struct strbuf *out, const char *command)
{
    struct strbuf text = STRBUF_INIT;
    size_t searched = redact_searched_bytes(command), found = command[searched] != 0;
    strbuf_add(&text, command, searched);
    for (size_t i = 0; i < sizeof redact_patterns / sizeof *redact_patterns; i++)
        found += redact_one_pattern(&text, i);
    strbuf_add(out, text.data, text.length);
    if (command[searched])
        strbuf_add_string(out, REDACT_HIDDEN);
    strbuf_release(&text);
    return found;
}
