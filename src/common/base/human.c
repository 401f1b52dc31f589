/* Formats and parses numbers with units (human.h). Formatting divides by 1024 or 1000 until the
 * number is below one step, then cuts it to three digits. Parsing reads a decimal number and looks
 * its unit up in a table. */
#include "base/human.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Three significant digits. The others are cut and not rounded, so that 1023.99 KiB never reads as
 * 1 MiB. */
static void human_three_digits(char *text, size_t size, double value)
{
    if (value < 10)
        snprintf(text, size, "%.2f", (double)(uint64_t)(value * 100 + 1e-9) / 100);
    else if (value < 100)
        snprintf(text, size, "%.1f", (double)(uint64_t)(value * 10 + 1e-9) / 10);
    else
        snprintf(text, size, "%.0f", (double)(uint64_t)(value + 1e-9));
}

static struct human human_scaled(uint64_t number, double step, const char *const *units,
                                 size_t count)
{
    double value = (double)number;
    size_t unit = 0;
    while (value >= step && unit + 1 < count) {
        value /= step;
        unit++;
    }
    char digits[16];
    human_three_digits(digits, sizeof digits, value);
    struct human out;
    snprintf(out.text, sizeof out.text, "%s %s", digits, units[unit]);
    return out;
}

struct human human_bytes(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes >= 1024)
        return human_scaled(bytes, 1024, units, sizeof units / sizeof *units);
    struct human out;
    snprintf(out.text, sizeof out.text, "%u B", (unsigned)bytes);
    return out;
}

struct human human_count(uint64_t count)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
    if (count < 10000)
        return human_exact(count);
    return human_scaled(count, 1000, units, sizeof units / sizeof *units);
}

const char *human_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

struct human human_exact(uint64_t number)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    struct human out;
    char *to = out.text;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = 0;
    return out;
}

struct human human_duration(uint64_t ns)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    struct human out;
    uint64_t seconds = ns / 1000000000u;
    if (seconds >= 3600)
        snprintf(out.text, sizeof out.text, "%llu h %02u min", (unsigned long long)(seconds / 3600),
                 (unsigned)(seconds % 3600 / 60));
    else if (seconds >= 60)
        snprintf(out.text, sizeof out.text, "%u min %02u s", (unsigned)(seconds / 60),
                 (unsigned)(seconds % 60));
    else if (ns < 1000)
        snprintf(out.text, sizeof out.text, "%u ns", (unsigned)ns);
    else
        return human_scaled(ns, 1000, units, sizeof units / sizeof *units);
    return out;
}

struct human human_percent(double part, double of)
{
    struct human out;
    double percent = of > 0 ? 100 * part / of : NAN;
    if (!isfinite(percent))
        snprintf(out.text, sizeof out.text, "-");
    else if (percent > 0 && percent < 0.05)
        snprintf(out.text, sizeof out.text, "<0.1 %%");
    else if (percent >= 99.95)
        snprintf(out.text, sizeof out.text, part < of ? "99.9 %%" : "%.0f %%", percent);
    else
        snprintf(out.text, sizeof out.text, "%.1f %%", percent);
    return out;
}

struct human human_time(int64_t unix_seconds)
{
    struct human out = {"?"};
    time_t when = (time_t)unix_seconds;
    struct tm local;
    if (localtime_r(&when, &local) &&
        !strftime(out.text, sizeof out.text, "%Y-%m-%d %H:%M:%S %z", &local))
        strcpy(out.text, "?"); /* the year has too many digits */
    return out;
}

int human_parse_number(const char *text, uint64_t *number)
{
    size_t digits = strspn(text, "0123456789");
    if (!digits || text[digits])
        return -EINVAL;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (errno)
        return -ERANGE;
    *number = value;
    return 0;
}

int human_parse_pid(const char *text, pid_t *pid)
{
    uint64_t number;
    int error = human_parse_number(text, &number);
    if (error)
        return error;
    if (!number || number > INT32_MAX)
        return -ERANGE;
    *pid = (pid_t)number;
    return 0;
}

/* strtod() also accepts what is no amount: hexadecimal numbers, "inf", "nan", signs and blanks. */
int human_parse_decimal(const char *text, const char **end, double *number)
{
    char *behind;
    bool is_hexadecimal = text[0] == '0' && (text[1] | 0x20) == 'x';
    if ((!isdigit((unsigned char)*text) && *text != '.') || is_hexadecimal)
        return -EINVAL;
    double value = strtod(text, &behind);
    *end = behind;
    if (behind == text)
        return -EINVAL;
    if (!isfinite(value))
        return -ERANGE;
    *number = value;
    return 0;
}

struct human_unit {
    const char *name;
    double factor;
};

static int human_parse_scaled(const char *text, const struct human_unit *units, uint64_t *out)
{
    const char *end;
    double value;
    int error = human_parse_decimal(text, &end, &value);
    if (error)
        return error;
    while (isspace((unsigned char)*end))
        end++;
    while (units->name && strcasecmp(units->name, end))
        units++;
    if (!units->name)
        return -EINVAL;
    value *= units->factor;
    if (value >= 18446744073709551615.0)
        return -ERANGE;
    *out = (uint64_t)(value + 0.5);
    return 0;
}

int human_parse_bytes(const char *text, uint64_t *bytes)
{
    static const struct human_unit units[] = {
        {"", 1},         {"B", 1},       {"K", 0x1p10},   {"KB", 0x1p10},  {"KiB", 0x1p10},
        {"M", 0x1p20},   {"MB", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30},   {"GB", 0x1p30},
        {"GiB", 0x1p30}, {"T", 0x1p40},  {"TB", 0x1p40},  {"TiB", 0x1p40}, {NULL, 0},
    };
    return human_parse_scaled(text, units, bytes);
}

int human_parse_duration(const char *text, uint64_t *ns)
{
    static const struct human_unit units[] = {
        {"", 1e9}, {"s", 1e9},  {"sec", 1e9},  {"ms", 1e6},  {"us", 1e3}, {"µs", 1e3},
        {"ns", 1}, {"m", 6e10}, {"min", 6e10}, {"h", 36e11}, {NULL, 0},
    };
    return human_parse_scaled(text, units, ns);
}
