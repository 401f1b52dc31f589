/* Fires snapshots at thresholds (triggers.h). A table has for each kind the unit of its level and
 * the direction in which its figure crosses it. A level has a hysteresis of an eighth. The control
 * group's files are read every 10 to 50 ms, and a pressure-stall descriptor is polled where that is
 * permitted. */
#include "collector/triggers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/human.h"

#define MILLION       1000000u
#define OOM_LEVEL     950000u /* millionths of the limit */
#define EVENT_GAP_NS  10000000000u
#define RELAXED_NS    50000000u
#define ALERT_NS      10000000u
#define RELOCATE_NS   1000000000u /* a process may be moved */
#define RATE_LEAST_NS 250000000u  /* the shortest time for a rate */
#define RATE_MOST_NS  1000000000u

/* ---- Texts ---- */

enum trigger_unit { UNIT_BYTES, UNIT_RATE, UNIT_CALLS, UNIT_TIME, UNIT_SHARE, UNIT_NONE };

static const struct {
    const char *name, *example;
    enum trigger_unit unit;
    bool falls; /* fires at the level or below it */
} kinds[TRIGGER_KINDS] = {
    [TRIGGER_RSS] = {"rss", "rss=2G", UNIT_BYTES, false},
    [TRIGGER_REQUESTED] = {"requested", "requested=1G", UNIT_BYTES, false},
    [TRIGGER_RATE] = {"rate", "rate=1G/s", UNIT_RATE, false},
    [TRIGGER_COUNT] = {"count", "count=10M", UNIT_CALLS, false},
    [TRIGGER_STACK] = {"stack", "stack=8M", UNIT_BYTES, false},
    [TRIGGER_TIME] = {"time", "time=30s", UNIT_TIME, false},
    [TRIGGER_FREE] = {"free", "free=10%", UNIT_BYTES, true},
    [TRIGGER_CGROUP] = {"cgroup", "cgroup=90%", UNIT_SHARE, false},
    [TRIGGER_OOM] = {"oom", "oom", UNIT_NONE, false},
};

static int trigger_parse_share(const char *text, uint64_t *millionths)
{
    const char *end;
    double percent;
    if (human_parse_decimal(text, &end, &percent) || strcmp(end, "%") != 0 || percent <= 0 ||
        percent > 100)
        return -EINVAL;
    *millionths = (uint64_t)(percent * (MILLION / 100.0) + 0.5);
    return *millionths ? 0 : -EINVAL;
}

static int trigger_parse_bytes(const char *text, bool rate, uint64_t *bytes)
{
    char copy[64];
    size_t length = strlen(text);
    if (rate && length > 2 && !strcmp(text + length - 2, "/s"))
        length -= 2;
    if (length >= sizeof copy)
        return -EINVAL;
    memcpy(copy, text, length);
    copy[length] = 0;
    int error = human_parse_bytes(copy, bytes);
    return error ? error : *bytes ? 0 : -EINVAL;
}

/* "10M": ten million. */
static int trigger_parse_calls(const char *text, uint64_t *calls)
{
    static const char suffixes[] = "kMG";
    const char *end;
    double number, times = 1;
    if (human_parse_decimal(text, &end, &number))
        return -EINVAL;
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    for (const char *at = suffix; at && at >= suffixes; at--)
        times *= 1000;
    if (*end && (!suffix || end[1]))
        return -EINVAL;
    if (!(number * times >= 1 && number * times < 1e18))
        return -EINVAL;
    *calls = (uint64_t)(number * times + 0.5);
    return 0;
}

static int trigger_parse_time(const char *text, uint64_t *ns)
{
    int error = human_parse_duration(text, ns);
    return error ? error : *ns ? 0 : -EINVAL;
}

static int trigger_parse_amount(struct trigger *trigger, const char *level)
{
    switch (kinds[trigger->kind].unit) {
    case UNIT_CALLS:
        return trigger_parse_calls(level, &trigger->level);
    case UNIT_TIME:
        return trigger_parse_time(level, &trigger->level);
    case UNIT_RATE:
        return trigger_parse_bytes(level, true, &trigger->level);
    default:
        return trigger_parse_bytes(level, false, &trigger->level);
    }
}

static int trigger_parse_level(struct trigger *trigger, const char *level)
{
    enum trigger_unit unit = kinds[trigger->kind].unit;
    trigger->is_share = unit == UNIT_SHARE ||
                        (trigger->kind == TRIGGER_FREE && level && strchr(level, '%') != NULL);
    if (unit == UNIT_NONE) {
        trigger->level = OOM_LEVEL;
        return level ? -EINVAL : 0;
    }
    if (!level)
        return -EINVAL;
    return trigger->is_share ? trigger_parse_share(level, &trigger->level)
                             : trigger_parse_amount(trigger, level);
}

int trigger_parse(const char *text, struct trigger *trigger, char why[160])
{
    size_t length = strcspn(text, "=");
    const char *level = text[length] ? text + length + 1 : NULL;
    for (unsigned kind = 0; kind < TRIGGER_KINDS; kind++) {
        if (strlen(kinds[kind].name) != length || strncmp(kinds[kind].name, text, length) != 0)
            continue;
        trigger->kind = (enum trigger_kind)kind;
        if (trigger_parse_level(trigger, level) == 0)
            return 0;
        snprintf(why, 160, "'%.60s' is not right: it reads like %s", text, kinds[kind].example);
        return -EINVAL;
    }
    snprintf(why, 160,
             "'%.60s' is nothing to wait for: there are rss, requested, rate, count, stack, time, "
             "free, cgroup and oom",
             text);
    return -EINVAL;
}

static struct human trigger_level_text(const struct trigger *trigger, enum trigger_unit unit)
{
    if (trigger->is_share)
        return human_percent((double)trigger->level, MILLION);
    return unit == UNIT_TIME    ? human_duration(trigger->level)
           : unit == UNIT_CALLS ? human_count(trigger->level)
                                : human_bytes(trigger->level);
}

void trigger_name(const struct trigger *trigger, char name[64])
{
    const char *kind = kinds[trigger->kind].name;
    enum trigger_unit unit = kinds[trigger->kind].unit;
    if (unit == UNIT_NONE)
        snprintf(name, 64, "%s", kind);
    else
        snprintf(name, 64, "%s=%s%s", kind, trigger_level_text(trigger, unit).text,
                 unit == UNIT_RATE ? "/s" : "");
}

/* ---- State ---- */

struct armed {
    struct trigger trigger;
    bool beyond;         /* it has fired, and is not armed again yet */
    uint64_t next_event; /* ns: earlier events belong to the last distress */
};

struct triggers {
    struct armed all[TRIGGERS_MAX];
    size_t count;
    bool wants_group, wants_rate;
    pid_t pid; /* 0: the group was given */
    /* the control group */
    struct cgroup_place place;
    bool placed, distressed;
    uint64_t next_place_ns, next_read_ns;
    struct figure share; /* millionths of the limit; unknown, too, where there is none */
    struct figure high_events, max_events, oom_events; /* as last read; unknown: not yet */
    int pressure; /* descriptor that poll() watches; -1: not allowed */
    /* the rate */
    uint64_t rate_since_ns;
    struct figure rate_bytes, rate;
};

static bool trigger_has_kind(const struct trigger *list, size_t count, enum trigger_kind kind)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == kind)
            return true;
    return false;
}

static bool trigger_wants_group(const struct trigger *list, size_t count)
{
    return trigger_has_kind(list, count, TRIGGER_CGROUP) ||
           trigger_has_kind(list, count, TRIGGER_OOM);
}

static void trigger_forget_events(struct triggers *triggers)
{
    triggers->high_events = triggers->max_events = triggers->oom_events = FIGURE_UNKNOWN;
}

static struct triggers *trigger_new_of(const struct trigger *list, size_t count)
{
    struct triggers *triggers = count && count <= TRIGGERS_MAX ? calloc(1, sizeof *triggers) : NULL;
    if (!triggers)
        return NULL;
    for (size_t i = 0; i < count; i++)
        triggers->all[i].trigger = list[i];
    triggers->count = count;
    triggers->wants_group = trigger_wants_group(list, count);
    triggers->wants_rate = trigger_has_kind(list, count, TRIGGER_RATE);
    triggers->share = triggers->rate = FIGURE_UNKNOWN;
    trigger_forget_events(triggers);
    triggers->pressure = -1;
    return triggers;
}

/* Opens a descriptor that poll() shows as ready when tasks of the group have waited for memory for
 * 150 ms within two seconds. Since Linux 6.6 that needs no privilege, but a file that we may write,
 * as in a user's own service. Elsewhere only the counters of memory.events are read. */
static void trigger_watch_pressure(struct triggers *triggers)
{
    static const char demand[] = "some 150000 2000000";
    char path[2 * PATH_MAX + 32];
    if (triggers->pressure >= 0)
        close(triggers->pressure);
    snprintf(path, sizeof path, "%s%s/memory.pressure", triggers->place.mount,
             triggers->place.path);
    triggers->pressure = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (triggers->pressure >= 0 &&
        write(triggers->pressure, demand, sizeof demand) != (ssize_t)sizeof demand) {
        close(triggers->pressure);
        triggers->pressure = -1;
    }
}

static void trigger_take_place(struct triggers *triggers, const struct cgroup_place *place)
{
    bool moved = !triggers->placed || strcmp(triggers->place.path, place->path) != 0;
    if (!moved)
        return;
    triggers->place = *place;
    triggers->placed = true;
    trigger_forget_events(triggers);
    if (place->version == 2 && triggers->pid)
        trigger_watch_pressure(triggers);
}

struct triggers *triggers_new(const struct trigger *list, size_t count, pid_t pid)
{
    struct triggers *triggers = trigger_new_of(list, count);
    if (triggers)
        triggers->pid = pid;
    return triggers;
}

struct triggers *triggers_new_in(const struct trigger *list, size_t count,
                                 const struct cgroup_place *place)
{
    struct triggers *triggers = trigger_new_of(list, count);
    if (triggers)
        trigger_take_place(triggers, place);
    return triggers;
}

bool triggers_want(const struct triggers *triggers, enum trigger_kind kind)
{
    for (size_t i = 0; i < triggers->count; i++)
        if (triggers->all[i].trigger.kind == kind)
            return true;
    return false;
}

void triggers_free(struct triggers *triggers)
{
    if (triggers && triggers->pressure >= 0)
        close(triggers->pressure);
    free(triggers);
}

/* ---- The control group ---- */

static struct figure trigger_share_of(const struct cgroup_memory *memory)
{
    struct figure limit = memory->limit_bytes, used = memory->limit_current_bytes;
    if (!cgroup_is_limited(limit) || figure_zero(limit) || !figure_known(used))
        return FIGURE_UNKNOWN;
    return figure_of((uint64_t)(figure_double(used) / figure_double(limit) * MILLION));
}

/* At least half of the limit is used. */
static bool trigger_is_half(struct figure share)
{
    return figure_or(share, 0) >= MILLION / 2;
}

static bool trigger_is_pressed(const struct triggers *triggers)
{
    struct pollfd told = {.fd = triggers->pressure, .events = POLLPRI};
    return triggers->pressure >= 0 && poll(&told, 1, 0) == 1 && (told.revents & POLLPRI) &&
           !(told.revents & POLLERR);
}

/* Whether the limit will be reached three readings from now, at the growth since the last
 * reading. */
static bool trigger_ends_soon(struct figure before, struct figure share)
{
    struct figure grown = figure_sub(share, before);
    return figure_positive(grown) && trigger_is_half(share) &&
           figure_or(share, 0) + 3 * figure_or(grown, 0) >= MILLION;
}

/* True if it has grown since it was last known. */
static bool trigger_take_count(struct figure *last, struct figure now)
{
    bool has_grown = figure_positive(figure_sub(now, *last));
    *last = figure_known(now) ? now : *last;
    return has_grown;
}

static bool trigger_take_events(struct triggers *triggers, const struct cgroup_memory *memory)
{
    bool slowed = trigger_take_count(&triggers->high_events, memory->high_events);
    bool full = trigger_take_count(&triggers->max_events, memory->max_events);
    bool killed = trigger_take_count(&triggers->oom_events, memory->oom_events);
    return slowed || full || killed;
}

static void trigger_look_at_group(struct triggers *triggers, uint64_t now_ns)
{
    struct cgroup_place place;
    struct cgroup_memory memory;
    triggers->distressed = false;
    if (triggers->pid && now_ns >= triggers->next_place_ns) {
        triggers->next_place_ns = now_ns + RELOCATE_NS;
        if (cgroup_locate(triggers->pid, &place) == 0)
            trigger_take_place(triggers, &place);
    }
    if (!triggers->placed || cgroup_read_place(&triggers->place, &memory) < 0) {
        triggers->share = FIGURE_UNKNOWN;
        return;
    }
    struct figure before = triggers->share;
    triggers->share = trigger_share_of(&memory);
    triggers->distressed = trigger_take_events(triggers, &memory) || trigger_is_pressed(triggers) ||
                           trigger_ends_soon(before, triggers->share);
}

static void trigger_look_at_group_if_due(struct triggers *triggers, uint64_t now_ns)
{
    if (!triggers->wants_group || now_ns < triggers->next_read_ns)
        return;
    trigger_look_at_group(triggers, now_ns);
    triggers->next_read_ns = now_ns + triggers_patience_ns(triggers);
}

uint64_t triggers_patience_ns(const struct triggers *triggers)
{
    return trigger_is_half(triggers->share) ? ALERT_NS : RELAXED_NS;
}

const char *triggers_complaint(const struct trigger *list, size_t count, pid_t pid)
{
    struct cgroup_memory memory;
    if (!trigger_wants_group(list, count))
        return NULL;
    if (cgroup_read(pid, &memory) < 0)
        return "there is no control group with a memory controller here that can be seen: "
               "--snapshot-at=cgroup and oom cannot fire";
    if (!figure_known(trigger_share_of(&memory)))
        return "its control group has no memory limit: --snapshot-at=cgroup cannot fire until it "
               "is given one, and oom only when the kernel slows it down";
    return NULL;
}

/* ---- Seeing ---- */

static struct figure trigger_rate_of(struct figure bytes, uint64_t age_ns)
{
    if (!figure_known(bytes))
        return FIGURE_UNKNOWN;
    return figure_of((uint64_t)(figure_double(bytes) * 1e9 / (double)age_ns));
}

static void trigger_look_at_rate(struct triggers *triggers, struct figure allocated,
                                 uint64_t now_ns)
{
    uint64_t age = now_ns - triggers->rate_since_ns;
    if (!triggers->wants_rate || !figure_known(allocated))
        return;
    if (triggers->rate_since_ns && age < RATE_LEAST_NS)
        return;
    if (triggers->rate_since_ns)
        triggers->rate = trigger_rate_of(figure_sub(allocated, triggers->rate_bytes), age);
    if (!triggers->rate_since_ns || age >= RATE_MOST_NS) {
        triggers->rate_bytes = allocated;
        triggers->rate_since_ns = now_ns;
    }
}

static struct figure trigger_free_now(const struct trigger *trigger,
                                      const struct trigger_levels *levels)
{
    struct figure all = levels->machine_bytes, left = levels->machine_available_bytes;
    if (!trigger->is_share)
        return left;
    if (!figure_known(all) || !figure_known(left) || figure_zero(all))
        return FIGURE_UNKNOWN;
    return figure_of((uint64_t)(figure_double(left) / figure_double(all) * MILLION));
}

static struct figure trigger_level_now(const struct triggers *triggers,
                                       const struct trigger *trigger,
                                       const struct trigger_levels *levels)
{
    switch (trigger->kind) {
    case TRIGGER_RSS:
        return levels->resident_bytes;
    case TRIGGER_REQUESTED:
        return levels->requested_bytes;
    case TRIGGER_RATE:
        return triggers->rate;
    case TRIGGER_COUNT:
        return levels->allocated_count;
    case TRIGGER_STACK:
        return levels->stack_bytes;
    case TRIGGER_TIME:
        return levels->age_ns;
    case TRIGGER_FREE:
        return trigger_free_now(trigger, levels);
    default:
        return triggers->share;
    }
}

/* True once for each crossing. */
static bool trigger_crosses(struct armed *armed, struct figure now)
{
    uint64_t level = armed->trigger.level;
    bool falls = kinds[armed->trigger.kind].falls;
    bool is_beyond = figure_known(now) && (falls ? !figure_less(figure_of(level), now)
                                                 : !figure_less(now, figure_of(level)));
    bool fires = is_beyond && !armed->beyond;
    if (fires)
        armed->beyond = true;
    else if (falls ? figure_less(figure_of(level + level / 8), now)
                   : figure_less(now, figure_of(level - level / 8)))
        armed->beyond = false;
    return fires;
}

static bool trigger_is_distress(const struct triggers *triggers, struct armed *armed,
                                uint64_t now_ns)
{
    if (armed->trigger.kind != TRIGGER_OOM || !triggers->distressed || now_ns < armed->next_event)
        return false;
    armed->next_event = now_ns + EVENT_GAP_NS;
    return true;
}

const struct trigger *triggers_see(struct triggers *triggers, const struct trigger_levels *levels,
                                   uint64_t now_ns)
{
    trigger_look_at_group_if_due(triggers, now_ns);
    trigger_look_at_rate(triggers, levels->allocated_bytes, now_ns);
    for (size_t i = 0; i < triggers->count; i++) {
        struct armed *armed = &triggers->all[i];
        bool fires = trigger_crosses(armed, trigger_level_now(triggers, &armed->trigger, levels));
        if (fires && armed->trigger.kind == TRIGGER_OOM)
            armed->next_event = now_ns + EVENT_GAP_NS;
        if (fires || trigger_is_distress(triggers, armed, now_ns))
            return &armed->trigger;
    }
    return NULL;
}
