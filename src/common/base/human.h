/* Numbers as people read them: three significant digits and a unit.
 *
 * Bytes are binary with their IEC names (KiB = 1024 B), as free, top, ulimit and cgroup limits
 * count them; counts are decimal (12.3 M = 12,300,000). Digits are cut, so that no text names a
 * larger number than the real one.
 *
 *     printf("%s\n", human_bytes(1331691520).text);    "1.24 GiB"
 *
 * The text lives as long as the full expression (C11 6.2.4p8), or as the struct kept of it. */
#ifndef TIDEMARK_BASE_HUMAN_H
#define TIDEMARK_BASE_HUMAN_H

#include <stdint.h>
#include <sys/types.h>

struct human {
    char text[32];
};

struct human human_bytes(uint64_t bytes);  /* "512 B", "1.24 GiB" */
struct human human_count(uint64_t count);  /* "9,999", "12.3 k", "1.20 M" */
struct human human_exact(uint64_t number); /* "12,345,678" */
struct human human_duration(uint64_t ns);  /* "950 ns", "1.20 ms", "12.3 s", "2 min 05 s" */
struct human human_percent(double part,
                           double of);         /* "12.3 %", "<0.1 %", "100 %"; "-" if of is 0 */
struct human human_time(int64_t unix_seconds); /* "2026-11-21 05:07:13 +0000", local time */

/* The ending of a noun behind `count`: "" or "s", as in "1 block", "2 blocks". Static. */
const char *human_plural(uint64_t count);

/* "4096": digits only; decimal, also with a leading 0. Returns 0, -EINVAL or -ERANGE. */
int human_parse_number(const char *text, uint64_t *number);
/* The same, of a process. Returns as above, -ERANGE also for 0. */
int human_parse_pid(const char *text, pid_t *pid);
/* "1.5", with any text behind it: *end is where that begins. Never below 0. Returns as above. */
int human_parse_decimal(const char *text, const char **end, double *number);
/* "64M", "1.5G", "4096", "2MiB" (binary) → bytes. Returns as above. */
int human_parse_bytes(const char *text, uint64_t *bytes);
/* "250ms", "2s", "1.5", "10us", "3min" (plain numbers are seconds) → ns. Returns as above. */
int human_parse_duration(const char *text, uint64_t *ns);

#endif
