/* Containers with much more room than they use. A container that grows by doubling is at least half
 * full. One that is emptier was reserved, or emptied and kept. */
#include "insights/rule.h"

#include <stdlib.h>
#include "aggregate/path_fills.h"

#define FREE_BYTES (1 << 20)
#define FREE_SHARE 0.1 /* of what was requested then */
#define FILL_MOST  0.4

/* Of a site. */
struct room {
    uint64_t count, bytes, used;
};

static uint64_t rule_fill_free(const struct room *room)
{
    return room->bytes - room->used;
}

static void rule_fill_add_paths(struct inquiry *inquiry, struct insight *insight,
                                const struct path_fills *fills, uint32_t site)
{
    struct inquiry_top_paths top = {.count = 0};
    for (size_t i = 0; i < fills->count; i++)
        if (inquiry->site_of_node[fills->rows[i].path] == site)
            inquiry_top_paths_add(&top, fills->rows[i].path,
                                  fills->rows[i].bytes - fills->rows[i].used_bytes);
    insight_add_top(inquiry, insight, &top, INSIGHT_BYTES);
}

static void rule_fill_report(struct inquiry *inquiry, const struct path_fills *fills,
                             const struct room *rooms, const struct site *site)
{
    uint32_t number = (uint32_t)(site - inquiry->sites);
    const struct room *room = &rooms[number];
    double filled = inquiry_share_of(room->used, room->bytes);
    struct insight *insight = insight_begin(
        inquiry, rule_fill_free(room), rule_number(fills->sample->requested_bytes), INSIGHT_BYTES);
    insight_title(insight, "%s makes containers of %s that are %s filled",
                  inquiry_site_name(inquiry, site).text, human_bytes(room->bytes).text,
                  human_percent((double)room->used, (double)room->bytes).text);
    insight_add_bytes(insight, "unused_bytes", rule_fill_free(room));
    insight_add_count(insight, "containers", room->count);
    insight_add_share(insight, "filled", filled);
    insight_add_share(insight, "live_share", insight->cost);
    rule_fill_add_paths(inquiry, insight, fills, number);
    insight->advice =
        "Reserve what is going to be needed, and give back what is not: shrink_to_fit() "
        "when it has its last size, or a new container in place of clear().";
}

/* By site; NULL: out of memory. */
static struct room *rule_fill_by_site(const struct inquiry *inquiry, const struct path_fills *fills)
{
    struct room *rooms = calloc(inquiry->site_count + 1, sizeof *rooms);
    for (size_t i = 0; i < fills->count && rooms; i++) {
        const struct path_fill *row = &fills->rows[i];
        uint32_t site = inquiry->site_of_node[row->path];
        if (site == UINT32_MAX)
            continue;
        rooms[site].count += row->count;
        rooms[site].bytes += row->bytes;
        rooms[site].used += row->used_bytes;
    }
    return rooms;
}

static bool rule_fill_speaks(const struct room *room, uint64_t live)
{
    return rule_fill_free(room) >= FREE_BYTES &&
           inquiry_share_of(rule_fill_free(room), live) >= FREE_SHARE &&
           inquiry_share_of(room->used, room->bytes) < FILL_MOST;
}

bool rule_site_is_unfilled(const struct inquiry *inquiry, const struct site *site)
{
    struct path_fills fills;
    if (path_fills_init(&fills, inquiry->profile, inquiry->hidden, NULL))
        return false;
    struct room *rooms = fills.sample ? rule_fill_by_site(inquiry, &fills) : NULL;
    bool is = rooms && rule_fill_speaks(&rooms[site - inquiry->sites],
                                        rule_number(fills.sample->requested_bytes));
    free(rooms);
    path_fills_release(&fills);
    return is;
}

static void rule_fill_ask(struct inquiry *inquiry, const struct path_fills *fills)
{
    struct candidates candidates = {0};
    struct room *rooms = rule_fill_by_site(inquiry, fills);
    uint64_t live = rule_number(fills->sample->requested_bytes);
    for (size_t i = 0; i < inquiry->site_count && rooms; i++)
        if (rule_fill_speaks(&rooms[i], live))
            inquiry_candidates_add(&candidates, &inquiry->sites[i], rule_fill_free(&rooms[i]));
    for (size_t i = 0; i < candidates.count; i++)
        rule_fill_report(inquiry, fills, rooms, candidates.top[i].site);
    free(rooms);
}

void rule_fill(struct inquiry *inquiry)
{
    struct path_fills fills;
    if (path_fills_init(&fills, inquiry->profile, inquiry->hidden, NULL))
        return;
    if (!fills.sample)
        inquiry_silent(inquiry, "not recorded: how full containers are");
    else
        rule_fill_ask(inquiry, &fills);
    path_fills_release(&fills);
}
