/* Any bytes as a budget, judged: limits of a golden profile, which is its own baseline. Refused
 * with a sentence, or verdicts that every format can show. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "budget/budget.h"
#include "fuzz.h"

static struct profile *golden(void)
{
    static struct profile *profile;
    if (!profile)
        must(profile_read(&profile, GOLDEN_DIR "/profile-v2-details.tmk") == 0);
    return profile;
}

static void show(const struct budget_check *check)
{
    static const struct style style;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    must(out != NULL);
    must(budget_text(out, check, &style) == 0 && budget_json(out, check) == 0);
    must(budget_junit(out, check) == 0 && budget_sarif(out, check) == 0);
    must(budget_github(out, check) == 0);
    fclose(out);
    free(text);
}

static void update(const struct budget_check *check)
{
    struct strbuf text = STRBUF_INIT;
    size_t changed = 0;
    budget_updated(&text, check, 0.1, &changed);
    must(changed <= check->count && text.length >= 1);
    strbuf_release(&text);
}

static void judge(struct budget *budget)
{
    struct budget_check check;
    must(budget_judge(&check, budget, golden(), "a", golden(), "b", NULL, true) == 0);
    must(check.count == budget->count && check.exceeded + check.unknown <= check.count);
    for (size_t i = 0; i < check.count; i++)
        must(check.verdicts[i].state != BUDGET_UNKNOWN || check.verdicts[i].why);
    show(&check);
    update(&check);
    budget_check_release(&check);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct budget budget = {0};
    struct strbuf why = STRBUF_INIT;
    char path[64];
    int file = memfd_create("budget", MFD_CLOEXEC);
    must(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (budget_read(&budget, path, &why) == 0)
        judge(&budget);
    else
        must(why.length > 0);
    budget_release(&budget);
    strbuf_release(&why);
    close(file);
    return 0;
}
