/* The chain of pointers to a block that was asked for (doc/HELD.md): from the root to the block, a
 * line each, with where in each thing the pointer to the next lies.
 *
 *     table                                  variable of gt
 *       +16 → 72 B at 0x55d0c1a2b3c0         main                    gt.cpp:19
 */
#include "held_by/held_by.h"

#include <errno.h>
#include "base/human.h"
#include "base/text.h"
#include "model/figure_human.h"

enum { NAME_AT = 44 };

static size_t held_by_chain_rows(const struct held_by *holders, size_t *first)
{
    const struct profile *profile = holders->now.profile;
    size_t count = 0;
    *first = profile->chain_count;
    for (size_t i = 0; i < profile->chain_count; i++)
        if (profile->chains[i].sample == holders->now.sample->id) {
            *first = count ? *first : i;
            count++;
        }
    return count;
}

bool held_by_has_chain(const struct profile *profile)
{
    const struct profile_sample *sample = held_by_sample(profile);
    return sample && profile->chain_count &&
           profile->chains[profile->chain_count - 1].sample == sample->id;
}

static struct profile_holder held_by_chain_holder(const struct profile_chain *step)
{
    return (struct profile_holder){.kind = step->kind,
                                   .path = step->path,
                                   .name = step->name,
                                   .module = step->module,
                                   .thread = step->thread};
}

static size_t held_by_chain_add_offset(struct strbuf *out, const struct style *style,
                                       const struct profile_chain *from,
                                       const struct profile_chain *to)
{
    struct strbuf text = STRBUF_INIT;
    uint64_t offset, target;
    strbuf_add_string(&text, "  ");
    if (figure_get(from->pointer_offset, &offset))
        strbuf_addf(&text, "+%llu ", (unsigned long long)offset);
    strbuf_add_string(&text, style_sign(style, "→ ", "-> "));
    strbuf_addf(&text, "%s at 0x%llx", figure_human_bytes(to->bytes).text,
                (unsigned long long)figure_or(to->address, 0));
    if (figure_get(from->target_offset, &target) && target)
        strbuf_addf(&text, " +%llu", (unsigned long long)target);
    size_t used = text.length - (style_sign(style, "→ ", "-> ")[0] == '-' ? 0 : 2);
    strbuf_add_string(out, text.data);
    strbuf_add_repeated(out, " ", used + 2 < NAME_AT ? NAME_AT - used : 2);
    strbuf_release(&text);
    return used + 2 < NAME_AT ? NAME_AT : used + 2;
}

int held_by_chain_text(FILE *out, const struct held_by *holders, const struct style *style)
{
    size_t first, count = held_by_chain_rows(holders, &first);
    const struct profile_chain *steps = holders->now.profile->chains + first;
    struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < count; i++) {
        struct profile_holder holder = held_by_chain_holder(&steps[i]);
        size_t used = i ? held_by_chain_add_offset(&text, style, &steps[i - 1], &steps[i]) : 0;
        held_by_add_line(&text, style, &holders->now, &holder, used, i == 0);
    }
    int error =
        fwrite(text.data ? text.data : "", 1, text.length, out) == text.length && !fflush(out)
            ? 0
            : -errno;
    strbuf_release(&text);
    return error;
}
