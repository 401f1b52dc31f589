/* Reads the limits of a budget's file. A table of keys gives each metric its unit; amounts are
 * parsed by their unit. An error names the entry that it is about. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/regular.h"
#include "base/array.h"
#include "budget/budget.h"
#include "budget/limit_measure.h"
#include "base/toml.h"

#define USUAL_TOLERANCE 0.05

static const struct {
    const char *name;
    enum budget_unit unit;
} table[BUDGET_METRICS] = {
    [BUDGET_PEAK] = {"peak", BUDGET_UNIT_BYTES},
    [BUDGET_LIVE] = {"live", BUDGET_UNIT_BYTES},
    [BUDGET_LIVE_BLOCKS] = {"live_blocks", BUDGET_UNIT_COUNT},
    [BUDGET_ALLOCATIONS] = {"allocations", BUDGET_UNIT_COUNT},
    [BUDGET_BYTES] = {"bytes", BUDGET_UNIT_BYTES},
    [BUDGET_RATE] = {"rate", BUDGET_UNIT_RATE},
    [BUDGET_TEMPORARY] = {"temporary", BUDGET_UNIT_COUNT},
    [BUDGET_REALLOCATIONS] = {"reallocations", BUDGET_UNIT_COUNT},
    [BUDGET_LARGEST] = {"largest", BUDGET_UNIT_BYTES},
    [BUDGET_RESIDENT] = {"resident", BUDGET_UNIT_BYTES},
    [BUDGET_MAPPED] = {"mapped", BUDGET_UNIT_BYTES},
    [BUDGET_MAPPED_LIVE] = {"mapped_live", BUDGET_UNIT_BYTES},
    [BUDGET_ALL] = {"all", BUDGET_UNIT_BYTES},
    [BUDGET_LOST] = {"lost", BUDGET_UNIT_BYTES},
    [BUDGET_LOST_BLOCKS] = {"lost_blocks", BUDGET_UNIT_COUNT},
};

const char *budget_metric_name(enum budget_metric metric)
{
    return table[metric].name;
}

enum budget_unit budget_metric_unit(enum budget_metric metric)
{
    return table[metric].unit;
}

/* ---- Amounts ------------------------------------------------------------------------------- */

/* A number without a sign, a multiplier of thousands and, of rates, "/s". */
static int limits_parse_count(const char *text, bool rate, double *amount)
{
    const char *end;
    if (!isdigit((unsigned char)*text) || human_parse_decimal(text, &end, amount))
        return -EINVAL;
    *amount *= *end == 'k' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1;
    end += *end && strchr("kMG", *end);
    if (rate && !strcmp(end, "/s"))
        end += 2;
    return *end || !isfinite(*amount) ? -EINVAL : 0;
}

static int limits_parse_share(char *text, double *share)
{
    const char *end;
    text[strlen(text) - 1] = 0;
    if (!isdigit((unsigned char)*text) || human_parse_decimal(text, &end, share))
        return -EINVAL;
    *share /= 100;
    return *end ? -EINVAL : 0;
}

int budget_parse_amount(const char *text, enum budget_unit unit, double *amount, bool *is_share)
{
    char plain[64];
    size_t length = 0;
    for (; *text; text++)
        if (*text != ' ' && length + 1 < sizeof plain)
            plain[length++] = *text;
        else if (*text != ' ')
            return -EINVAL;
    plain[length] = 0;
    *is_share = length && plain[length - 1] == '%';
    if (*is_share)
        return limits_parse_share(plain, amount);
    uint64_t bytes;
    if (unit != BUDGET_UNIT_BYTES)
        return limits_parse_count(plain, unit == BUDGET_UNIT_RATE, amount);
    int error = human_parse_bytes(plain, &bytes);
    *amount = (double)bytes;
    return error;
}

void budget_add_amount(struct strbuf *out, enum budget_unit unit, double amount)
{
    uint64_t whole = amount < 0x1p63 ? (uint64_t)(amount + 0.5) : 1ull << 63;
    if (isnan(amount))
        strbuf_add_string(out, "not known");
    else if (unit == BUDGET_UNIT_BYTES)
        strbuf_add_string(out, human_bytes(whole).text);
    else if (unit == BUDGET_UNIT_SHARE)
        strbuf_addf(out, "%.3g %%", 100 * amount);
    else
        strbuf_addf(out, "%s%s", human_count(whole).text, unit == BUDGET_UNIT_RATE ? "/s" : "");
}

void budget_add_limit(struct strbuf *out, const struct budget_limit *limit, bool utf8)
{
    enum budget_unit unit = limit->is_share ? BUDGET_UNIT_SHARE : table[limit->metric].unit;
    strbuf_add_string(out, table[limit->metric].name);
    if (limit->scope != BUDGET_PROGRAM)
        strbuf_addf(out, " of %s%s %s", limit->exclusive ? "only " : "",
                    budget_scope_name(limit->scope), limit->pattern);
    strbuf_add_string(out, limit->is_growth ? utf8 ? " grown by ≤ " : " grown by <= "
                           : utf8           ? " ≤ "
                                            : " <= ");
    budget_add_amount(out, unit, limit->most);
}

/* ---- Entries ------------------------------------------------------------------------------- */

struct limits_reading {
    struct budget *budget;
    const struct toml_entry *entry;
    struct strbuf *why;
};

__attribute__((format(printf, 2, 3))) static int limits_refuse(const struct limits_reading *reading,
                                                               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    strbuf_addf(reading->why, "%s:%u: ", reading->budget->path, reading->entry->line);
    strbuf_addv(reading->why, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

static char *limits_keep(struct budget *budget, const char *string)
{
    if (!array_make_room(&budget->strings, &budget->string_room, budget->string_count,
                         sizeof *budget->strings))
        return NULL;
    return budget->strings[budget->string_count++] = strdup(string);
}

static struct budget_limit *limits_new_limit(struct budget *budget)
{
    if (!array_make_room(&budget->limits, &budget->capacity, budget->count, sizeof *budget->limits))
        return NULL;
    struct budget_limit *limit = &budget->limits[budget->count++];
    *limit = (struct budget_limit){0};
    return limit;
}

static int limits_read_amount(const struct limits_reading *reading, struct budget_limit *limit)
{
    const struct toml_entry *entry = reading->entry;
    if (entry->type == TOML_INTEGER || entry->type == TOML_FLOAT) {
        limit->most = entry->number;
        if (table[limit->metric].unit != BUDGET_UNIT_RATE && entry->number != floor(entry->number))
            return limits_refuse(
                reading, "a number is whole; \"1.5 MiB\", and shares, \"5%%\", are strings");
        return entry->number < 0 ? limits_refuse(reading, "a limit is not below 0") : 0;
    }
    if (entry->type == TOML_BOOLEAN && entry->boolean && limit->is_growth) {
        limit->most = NAN; /* the tolerance, when all is read */
        limit->is_share = true;
        return 0;
    }
    if (entry->type != TOML_STRING)
        return limits_refuse(reading, "an amount was expected: 1000, \"64 MiB\", \"5%%\"");
    if (budget_parse_amount(entry->string, table[limit->metric].unit, &limit->most,
                            &limit->is_share))
        return limits_refuse(reading, "'%.40s' is no amount for %s: expected %s", entry->string,
                             table[limit->metric].name,
                             table[limit->metric].unit == BUDGET_UNIT_BYTES  ? "\"64 MiB\""
                             : table[limit->metric].unit == BUDGET_UNIT_RATE ? "\"10k/s\""
                                                                             : "1000 or \"10k\"");
    if (limit->is_share && !limit->is_growth && limit->metric != BUDGET_TEMPORARY)
        return limits_refuse(reading, "of what? Only temporary, and growth, may be a share");
    return 0;
}

/* Looks at resident memory find blocks by call path alone, not by region. Mappings have no regions
 * either. */
static int limits_check_region(const struct limits_reading *reading,
                               const struct budget_limit *limit)
{
    if (limit->scope == BUDGET_REGION && limit->metric == BUDGET_RESIDENT)
        return limits_refuse(reading,
                             "what is resident is not known by region: limit peak or live of it");
    if (limit->scope == BUDGET_REGION && budget_is_of_mappings(limit->metric))
        return limits_refuse(reading,
                             "what is mapped is not known by region: limit peak or live of it");
    return 0;
}

/* `at`: the key that names the metric. */
static int limits_read(const struct limits_reading *reading, enum budget_scope scope,
                       const char *pattern, size_t at)
{
    const struct toml_entry *entry = reading->entry;
    const char *name = entry->keys[at];
    int metric = 0;
    while (metric < BUDGET_METRICS && strcmp(table[metric].name, name))
        metric++;
    if (metric == BUDGET_METRICS)
        return limits_refuse(
            reading,
            "'%.40s' cannot be limited: expected peak, live, live_blocks, allocations, "
            "bytes, rate, temporary, reallocations, largest, resident, mapped, mapped_live, all, "
            "lost or lost_blocks",
            name);
    const char *kind = at + 1 < entry->key_count ? entry->keys[at + 1] : "max";
    bool growth = !strcmp(kind, "growth");
    if (at + 2 < entry->key_count || (!growth && strcmp(kind, "max")))
        return limits_refuse(reading, "'%.40s' is none: a limit has max and growth", kind);
    struct budget_limit *limit = limits_new_limit(reading->budget);
    if (!limit)
        return -ENOMEM;
    *limit = (struct budget_limit){.scope = scope,
                                   .metric = (enum budget_metric)metric,
                                   .is_growth = growth,
                                   .line = entry->line,
                                   .offset = entry->offset,
                                   .length = entry->length};
    if (pattern && !(limit->pattern = limits_keep(reading->budget, pattern)))
        return -ENOMEM;
    int error = limits_check_region(reading, limit);
    return error ? error : limits_read_amount(reading, limit);
}

static int limits_read_exclusive(const struct limits_reading *reading, enum budget_scope scope)
{
    if (scope == BUDGET_REGION)
        return limits_refuse(reading,
                             "exclusive is of functions, files and libraries, not of regions");
    return reading->entry->type == TOML_BOOLEAN
               ? 0
               : limits_refuse(reading, "exclusive is true or false");
}

static int limits_read_suppressions(const struct limits_reading *reading)
{
    struct budget *budget = reading->budget;
    const char *slash = strrchr(budget->path, '/');
    struct strbuf path = STRBUF_INIT;
    if (reading->entry->type != TOML_STRING || reading->entry->key_count != 2)
        return limits_refuse(reading, "suppressions is an array of file names");
    if (*reading->entry->string != '/' && slash)
        strbuf_add(&path, budget->path, (size_t)(slash + 1 - budget->path));
    strbuf_add_string(&path, reading->entry->string);
    char *file = NULL;
    if (array_make_room(&budget->suppressions, &budget->suppression_room, budget->suppression_count,
                        sizeof *budget->suppressions))
        file = limits_keep(budget, path.data);
    strbuf_release(&path);
    if (!file)
        return -ENOMEM;
    budget->suppressions[budget->suppression_count++] = file;
    return 0;
}

/* A tolerance of the command line goes before the file's. */
static int limits_read_tolerance(const struct limits_reading *reading)
{
    bool is_share = false;
    double tolerance;
    if (reading->entry->type != TOML_STRING || reading->entry->key_count != 1 ||
        budget_parse_amount(reading->entry->string, BUDGET_UNIT_SHARE, &tolerance, &is_share) ||
        !is_share)
        return limits_refuse(reading, "tolerance is a share such as \"5%%\"");
    if (!reading->budget->has_tolerance)
        reading->budget->tolerance = tolerance;
    reading->budget->has_tolerance = true;
    return 0;
}

static int limits_read_entry(const struct limits_reading *reading)
{
    const struct toml_entry *entry = reading->entry;
    const char *first = entry->keys[0];
    if (!strcmp(first, "tolerance"))
        return limits_read_tolerance(reading);
    if (!strcmp(first, "suppressions"))
        return limits_read_suppressions(reading);
    for (int scope = 0; scope < BUDGET_SCOPES; scope++) {
        size_t at = scope == BUDGET_PROGRAM ? 1 : 2;
        if (strcmp(first, budget_scope_name((enum budget_scope)scope)))
            continue;
        if (entry->key_count <= at)
            return limits_refuse(reading,
                                 at == 1                  ? "limits are expected in [program]"
                                 : scope == BUDGET_REGION ? "a name is expected: [%s.\"name\"]"
                                                          : "a pattern is expected: [%s.\"name*\"]",
                                 first);
        const char *pattern = at == 2 ? entry->keys[1] : NULL;
        if (pattern && !strcmp(entry->keys[at], "exclusive") && entry->key_count == at + 1)
            return limits_read_exclusive(reading, (enum budget_scope)scope);
        return limits_read(reading, (enum budget_scope)scope, pattern, at);
    }
    return limits_refuse(reading,
                         "'%.40s' is unknown: expected program, function, file, library, "
                         "region, tolerance or suppressions",
                         first);
}

/* exclusive = true is about all limits of its table. */
static void limits_spread_exclusive(struct budget *budget, const struct toml_entry *entry)
{
    if (entry->key_count != 3 || strcmp(entry->keys[2], "exclusive") || !entry->boolean)
        return;
    for (size_t i = 0; i < budget->count; i++) {
        struct budget_limit *limit = &budget->limits[i];
        if (limit->pattern && !strcmp(limit->pattern, entry->keys[1]) &&
            !strcmp(budget_scope_name(limit->scope), entry->keys[0]))
            limit->exclusive = true;
    }
}

/* ---- Files --------------------------------------------------------------------------------- */

static double limits_tolerance_of(const struct budget *budget)
{
    return budget->has_tolerance ? budget->tolerance : USUAL_TOLERANCE;
}

static int limits_read_text(struct budget *budget, struct strbuf *why)
{
    struct toml toml;
    int error = toml_parse(&toml, budget->text, budget->text_bytes);
    if (error == -EINVAL)
        strbuf_addf(why, "%s: %s", budget->path, toml.error);
    for (size_t i = 0; i < toml.count && !error; i++)
        error = limits_read_entry(&(struct limits_reading){budget, &toml.entries[i], why});
    for (size_t i = 0; i < toml.count && !error; i++)
        limits_spread_exclusive(budget, &toml.entries[i]);
    for (size_t i = 0; i < budget->count; i++)
        if (isnan(budget->limits[i].most))
            budget->limits[i].most = limits_tolerance_of(budget);
    if (!error && !budget->count) {
        strbuf_addf(why, "%s: there is no limit in it", budget->path);
        error = -EINVAL;
    }
    toml_release(&toml);
    return error;
}

int budget_read(struct budget *budget, const char *path, struct strbuf *why)
{
    struct regular_file file;
    int error = regular_file_read(&file, path, TOML_BYTES_MAX);
    if (error) {
        strbuf_addf(why, "cannot read the budget %s: %s", path,
                    error == -EINVAL ? "it is no regular file" : strerror(-error));
        return error;
    }
    budget->path = strdup(path);
    budget->text = file.bytes;
    budget->text_bytes = file.count;
    error = budget->path ? limits_read_text(budget, why) : -ENOMEM;
    if (error == -ENOMEM)
        strbuf_add_string(why, "out of memory");
    return error;
}

void budget_release(struct budget *budget)
{
    for (size_t i = 0; i < budget->string_count; i++)
        free(budget->strings[i]);
    free(budget->strings);
    free(budget->suppressions);
    free(budget->limits);
    free(budget->path);
    free(budget->text);
    *budget = (struct budget){0};
}

int budget_add_usual(struct budget *budget)
{
    static const enum budget_metric usual[] = {BUDGET_PEAK, BUDGET_LIVE, BUDGET_ALLOCATIONS};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        struct budget_limit *limit = limits_new_limit(budget);
        if (!limit)
            return -ENOMEM;
        limit->metric = usual[i];
        limit->is_growth = limit->is_share = true;
        limit->most = limits_tolerance_of(budget);
    }
    return 0;
}

bool budget_has_growth(const struct budget *budget)
{
    for (size_t i = 0; i < budget->count; i++)
        if (budget->limits[i].is_growth)
            return true;
    return false;
}
