/* See triggers.h. */
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
#define RATE_LEAST_NS 250000000u  /* what a rate is worked out over */
#define RATE_MOST_NS  1000000000u

/* ---- Texts ---- */

static const struct {
    const char *name, *example;
} kinds[TRIGGER_KINDS] = {[TRIGGER_RSS] = {"rss", "rss=2G"},
                          [TRIGGER_REQUESTED] = {"requested", "requested=1G"},
                          [TRIGGER_RATE] = {"rate", "rate=1G/s"},
                          [TRIGGER_CGROUP] = {"cgroup", "cgroup=90%"},
                          [TRIGGER_OOM] = {"oom", "oom"}};

static int parse_share(const char *text, uint64_t *millionths)
{
    char *end;
    double percent = strtod(text, &end);
    if (end == text || strcmp(end, "%") != 0 || !(percent > 0) || percent > 100)
        return -EINVAL;
    *millionths = (uint64_t)(percent * (MILLION / 100.0) + 0.5);
    return *millionths ? 0 : -EINVAL;
}

static int parse_bytes(const char *text, bool rate, uint64_t *bytes)
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

static int parse_level(struct trigger *trigger, const char *level)
{
    switch (trigger->kind) {
    case TRIGGER_CGROUP:
        return level ? parse_share(level, &trigger->level) : -EINVAL;
    case TRIGGER_OOM:
        trigger->level = OOM_LEVEL;
        return level ? -EINVAL : 0;
    default:
        return level ? parse_bytes(level, trigger->kind == TRIGGER_RATE, &trigger->level) : -EINVAL;
    }
}

int trigger_parse(const char *text, struct trigger *trigger, char why[160])
{
    size_t length = strcspn(text, "=");
    const char *level = text[length] ? text + length + 1 : NULL;
    for (unsigned kind = 0; kind < TRIGGER_KINDS; kind++) {
        if (strlen(kinds[kind].name) != length || strncmp(kinds[kind].name, text, length) != 0)
            continue;
        trigger->kind = (enum trigger_kind)kind;
        if (parse_level(trigger, level) == 0)
            return 0;
        snprintf(why, 160, "'%.60s' is not right: it reads like %s", text, kinds[kind].example);
        return -EINVAL;
    }
    snprintf(why, 160, "'%.60s' is nothing to wait for: there are rss, requested, rate, cgroup and oom",
             text);
    return -EINVAL;
}

void trigger_name(const struct trigger *trigger, char name[64])
{
    const char *kind = kinds[trigger->kind].name;
    switch (trigger->kind) {
    case TRIGGER_OOM:
        snprintf(name, 64, "%s", kind);
        break;
    case TRIGGER_CGROUP:
        snprintf(name, 64, "%s=%s", kind, human_percent((double)trigger->level, MILLION).text);
        break;
    default:
        snprintf(name, 64, "%s=%s%s", kind, human_bytes(trigger->level).text,
                 trigger->kind == TRIGGER_RATE ? "/s" : "");
    }
}

/* ---- State ---- */

struct armed {
    struct trigger trigger;
    bool above;          /* it has fired, and has not been low enough since */
    uint64_t next_event; /* ns: events before that are of the same distress */
};

struct triggers {
    struct armed all[TRIGGERS_MAX];
    size_t count;
    bool wants_group, wants_rate;
    pid_t pid; /* 0: the group was given */
    /* the control group */
    struct cgroup_place place;
    bool placed, read_once, distressed;
    uint64_t next_place_ns, next_read_ns;
    uint64_t share;  /* millionths of the limit; UINT64_MAX: not known, or there is none */
    uint64_t events; /* high, max and oom so far */
    int pressure;    /* descriptor that poll() watches; -1: not allowed */
    /* the rate */
    uint64_t rate_bytes, rate_since_ns, rate; /* rate: UINT64_MAX until it is known */
};

static bool has_kind(const struct trigger *list, size_t count, enum trigger_kind kind)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == kind)
            return true;
    return false;
}

static bool wants_group(const struct trigger *list, size_t count)
{
    return has_kind(list, count, TRIGGER_CGROUP) || has_kind(list, count, TRIGGER_OOM);
}

static struct triggers *new_of(const struct trigger *list, size_t count)
{
    struct triggers *triggers = count && count <= TRIGGERS_MAX ? calloc(1, sizeof *triggers) : NULL;
    if (!triggers)
        return NULL;
    for (size_t i = 0; i < count; i++)
        triggers->all[i].trigger = list[i];
    triggers->count = count;
    triggers->wants_group = wants_group(list, count);
    triggers->wants_rate = has_kind(list, count, TRIGGER_RATE);
    triggers->share = triggers->rate = UINT64_MAX;
    triggers->pressure = -1;
    return triggers;
}

/* Tells poll() when tasks of the group have waited for memory for 150 ms within two seconds. Needs
 * no privilege since Linux 6.6, but a file of ours: the group of a user's own service. Elsewhere the
 * counters of memory.events have to do. */
static void watch_pressure(struct triggers *triggers)
{
    static const char demand[] = "some 150000 2000000";
    char path[2 * PATH_MAX + 32];
    if (triggers->pressure >= 0)
        close(triggers->pressure);
    snprintf(path, sizeof path, "%s%s/memory.pressure", triggers->place.mount, triggers->place.path);
    triggers->pressure = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (triggers->pressure >= 0 &&
        write(triggers->pressure, demand, sizeof demand) != (ssize_t)sizeof demand) {
        close(triggers->pressure);
        triggers->pressure = -1;
    }
}

static void take_place(struct triggers *triggers, const struct cgroup_place *place)
{
    bool moved = !triggers->placed || strcmp(triggers->place.path, place->path) != 0;
    if (!moved)
        return;
    triggers->place = *place;
    triggers->placed = true;
    triggers->read_once = false;
    if (place->version == 2 && triggers->pid)
        watch_pressure(triggers);
}

struct triggers *triggers_new(const struct trigger *list, size_t count, pid_t pid)
{
    struct triggers *triggers = new_of(list, count);
    if (triggers)
        triggers->pid = pid;
    return triggers;
}

struct triggers *triggers_new_in(const struct trigger *list, size_t count,
                                 const struct cgroup_place *place)
{
    struct triggers *triggers = new_of(list, count);
    if (triggers)
        take_place(triggers, place);
    return triggers;
}

void triggers_free(struct triggers *triggers)
{
    if (triggers && triggers->pressure >= 0)
        close(triggers->pressure);
    free(triggers);
}

/* ---- The control group ---- */

static uint64_t known(uint64_t value)
{
    return value == PROCESS_UNKNOWN ? 0 : value;
}

static uint64_t share_of(const struct cgroup_memory *memory)
{
    uint64_t limit = memory->limit_bytes, used = memory->limit_current_bytes;
    if (limit == PROCESS_UNKNOWN || limit >= CGROUP_UNLIMITED || !limit || used == PROCESS_UNKNOWN)
        return UINT64_MAX;
    return (uint64_t)((double)used / (double)limit * MILLION);
}

static bool is_pressed(const struct triggers *triggers)
{
    struct pollfd told = {.fd = triggers->pressure, .events = POLLPRI};
    return triggers->pressure >= 0 && poll(&told, 1, 0) == 1 && (told.revents & POLLPRI) &&
           !(told.revents & POLLERR);
}

/* Will it be full three readings from now, as it has grown since the one before? */
static bool ends_soon(uint64_t before, uint64_t share)
{
    return before != UINT64_MAX && share != UINT64_MAX && share > before && share >= MILLION / 2 &&
           share + 3 * (share - before) >= MILLION;
}

static void look_at_group(struct triggers *triggers, uint64_t now_ns)
{
    struct cgroup_place place;
    struct cgroup_memory memory;
    triggers->distressed = false;
    if (triggers->pid && now_ns >= triggers->next_place_ns) {
        triggers->next_place_ns = now_ns + RELOCATE_NS;
        if (cgroup_locate(triggers->pid, &place) == 0)
            take_place(triggers, &place);
    }
    if (!triggers->placed || cgroup_read_place(&triggers->place, &memory) < 0) {
        triggers->share = UINT64_MAX;
        return;
    }
    uint64_t events = known(memory.high_events) + known(memory.max_events) +
                      known(memory.oom_events);
    uint64_t before = triggers->share;
    triggers->share = share_of(&memory);
    triggers->distressed = (triggers->read_once && events > triggers->events) ||
                           is_pressed(triggers) || ends_soon(before, triggers->share);
    triggers->events = events;
    triggers->read_once = true;
}

static void look_at_group_if_due(struct triggers *triggers, uint64_t now_ns)
{
    if (!triggers->wants_group || now_ns < triggers->next_read_ns)
        return;
    look_at_group(triggers, now_ns);
    triggers->next_read_ns = now_ns + triggers_patience_ns(triggers);
}

uint64_t triggers_patience_ns(const struct triggers *triggers)
{
    bool alert = triggers->share != UINT64_MAX && triggers->share >= MILLION / 2;
    return alert ? ALERT_NS : RELAXED_NS;
}

const char *triggers_complaint(const struct trigger *list, size_t count, pid_t pid)
{
    struct cgroup_memory memory;
    if (!wants_group(list, count))
        return NULL;
    if (cgroup_read(pid, &memory) < 0)
        return "there is no control group with a memory controller here that can be seen: "
               "--snapshot-at=cgroup and oom cannot fire";
    if (share_of(&memory) == UINT64_MAX)
        return "its control group has no memory limit: --snapshot-at=cgroup cannot fire until it "
               "is given one, and oom only when the kernel slows it down";
    return NULL;
}

/* ---- Seeing ---- */

static void look_at_rate(struct triggers *triggers, uint64_t allocated, uint64_t now_ns)
{
    uint64_t age = now_ns - triggers->rate_since_ns;
    if (!triggers->wants_rate || allocated == UINT64_MAX)
        return;
    if (triggers->rate_since_ns && age < RATE_LEAST_NS)
        return;
    if (triggers->rate_since_ns)
        triggers->rate = (uint64_t)((double)(allocated - triggers->rate_bytes) * 1e9 / (double)age);
    if (!triggers->rate_since_ns || age >= RATE_MOST_NS) {
        triggers->rate_bytes = allocated;
        triggers->rate_since_ns = now_ns;
    }
}

static uint64_t level_now(const struct triggers *triggers, const struct trigger *trigger,
                          const struct trigger_levels *levels)
{
    switch (trigger->kind) {
    case TRIGGER_RSS:
        return levels->resident_bytes;
    case TRIGGER_REQUESTED:
        return levels->requested_bytes;
    case TRIGGER_RATE:
        return triggers->rate;
    default:
        return triggers->share;
    }
}

/* True once for each crossing. */
static bool crosses(struct armed *armed, uint64_t now)
{
    uint64_t level = armed->trigger.level;
    bool fires = now != UINT64_MAX && now >= level && !armed->above;
    if (fires)
        armed->above = true;
    else if (now != UINT64_MAX && now < level - level / 8)
        armed->above = false;
    return fires;
}

static bool is_distress(const struct triggers *triggers, struct armed *armed, uint64_t now_ns)
{
    if (armed->trigger.kind != TRIGGER_OOM || !triggers->distressed || now_ns < armed->next_event)
        return false;
    armed->next_event = now_ns + EVENT_GAP_NS;
    return true;
}

const struct trigger *triggers_see(struct triggers *triggers, const struct trigger_levels *levels,
                                   uint64_t now_ns)
{
    look_at_group_if_due(triggers, now_ns);
    look_at_rate(triggers, levels->allocated_bytes, now_ns);
    for (size_t i = 0; i < triggers->count; i++) {
        struct armed *armed = &triggers->all[i];
        bool fires = crosses(armed, level_now(triggers, &armed->trigger, levels));
        if (fires && armed->trigger.kind == TRIGGER_OOM)
            armed->next_event = now_ns + EVENT_GAP_NS;
        if (fires || is_distress(triggers, armed, now_ns))
            return &armed->trigger;
    }
    return NULL;
}
