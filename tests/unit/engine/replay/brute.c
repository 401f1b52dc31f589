/* See brute.h. */
#include "brute.h"

#include <assert.h>
#include <string.h>

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void nothing_yet(struct call_numbers *metrics, bool know_frees)
{
    metrics->size_min = metrics->lifetime_min = UINT64_MAX;
    metrics->alloc_time = metrics->free_time = UINT64_MAX;
    metrics->sample_count = metrics->alloc_variance = metrics->live_variance =
        metrics->at_peak_variance = UINT64_MAX;
    if (!know_frees)
        metrics->freed_count = metrics->freed_bytes = metrics->freed_elsewhere_count =
            metrics->freed_lifetime_sum = UINT64_MAX;
}

void brute_init(struct brute *brute, uint64_t start, bool know_frees)
{
    memset(brute, 0, sizeof(*brute));
    brute->know_frees = know_frees;
    brute->start = brute->last = start;
    for (size_t i = 0; i < BRUTE_NODES; i++)
        nothing_yet(&brute->sites[i], know_frees);
    nothing_yet(&brute->program.total, know_frees);
    brute->levels[brute->level_count++] = (struct brute_level){start, 0, 0};
}

void brute_know_times(struct brute *brute)
{
    brute->timed = true;
    for (size_t i = 0; i < BRUTE_NODES; i++)
        brute->sites[i].alloc_time = brute->sites[i].free_time = 0;
    brute->program.total.alloc_time = brute->program.total.free_time = 0;
}

static size_t new_thread(struct brute *brute, uint32_t tid, uint64_t ticks)
{
    assert(brute->thread_count < BRUTE_THREADS);
    brute->threads[brute->thread_count].tid = tid;
    brute->threads[brute->thread_count].start_ticks = ticks;
    brute->threads[brute->thread_count].alloc_time = brute->timed ? 0 : UINT64_MAX;
    brute->threads[brute->thread_count].free_time = brute->timed ? 0 : UINT64_MAX;
    brute->threads[brute->thread_count].stack_deepest_bytes = UINT64_MAX;
    brute->threads[brute->thread_count].stack_touched_bytes = UINT64_MAX;
    return brute->thread_count++;
}

void brute_thread_begin(struct brute *brute, uint32_t tid, uint64_t ticks)
{
    assert(brute->stream_count < BRUTE_STREAMS);
    brute->streams[brute->stream_count++] = new_thread(brute, tid, ticks);
}

static struct call_numbers *site(struct brute *brute, uint32_t node)
{
    assert(node < BRUTE_NODES);
    brute->site_seen[node] = true;
    return &brute->sites[node];
}

static void look_for_peaks(struct brute *brute)
{
    struct call_numbers *total = &brute->program.total;
    bool crest = total->live_bytes > total->peak_bytes;

    for (size_t i = 0; i < BRUTE_NODES; i++) {
        struct call_numbers *metrics = &brute->sites[i];
        if (metrics->live_bytes > metrics->peak_bytes) {
            metrics->peak_bytes = metrics->live_bytes;
            metrics->peak_ticks = brute->last;
        }
        if (crest) {
            metrics->at_peak_bytes = metrics->live_bytes;
            metrics->at_peak_count = metrics->live_count;
        }
    }
    if (crest) {
        total->peak_bytes = total->at_peak_bytes = total->live_bytes;
        total->at_peak_count = total->live_count;
        total->peak_ticks = brute->last;
    }
    brute->program.live_peak_count = larger(brute->program.live_peak_count, total->live_count);
}

static void born(struct call_numbers *metrics, const struct wire_record *record, bool again)
{
    *(again ? &metrics->realloc_count : &metrics->alloc_count) += 1;
    *(again ? &metrics->realloc_bytes : &metrics->alloc_bytes) += record->size_bytes;
    metrics->zero_count += record->size_bytes == 0;
    metrics->aligned_count +=
        record->kind_address >> 56 == WIRE_ALIGNED || wire_detail_align_log2(record->detail) > 4;
    metrics->slack_bytes += wire_detail_slack(record->detail);
    metrics->live_slack_bytes += wire_detail_slack(record->detail);
    metrics->size_min = smaller(metrics->size_min, record->size_bytes);
    metrics->size_max = larger(metrics->size_max, record->size_bytes);
    metrics->live_count++;
    metrics->live_bytes += record->size_bytes;
}

static void over(struct call_numbers *metrics, const struct brute_block *block, uint64_t lifetime)
{
    metrics->free_count++;
    metrics->free_bytes += block->size;
    metrics->lifetime_min = smaller(metrics->lifetime_min, lifetime);
    metrics->lifetime_max = larger(metrics->lifetime_max, lifetime);
    metrics->lifetime_sum += lifetime;
    metrics->live_count--;
    metrics->live_bytes -= block->size;
    metrics->live_slack_bytes -= block->slack;
}

static void end_block(struct brute *brute, struct brute_block *block, uint64_t ticks)
{
    uint64_t lifetime = ticks > block->birth ? ticks - block->birth : 0;

    block->life = BRUTE_OVER;
    block->lifetime = lifetime;
    over(site(brute, block->node), block, lifetime);
    over(&brute->program.total, block, lifetime);
    brute->flows[brute->flow_count++] = (struct brute_flow){brute->last, block->size, false};
}

/* The address table: LIVE blocks, at most one per address but for `except`. */
static struct brute_block *block_at(struct brute *brute, uint64_t address,
                                    const struct brute_block *except)
{
    for (size_t i = 0; i < brute->block_count; i++)
        if (brute->blocks[i].life == BRUTE_LIVE && brute->blocks[i].address == address &&
            &brute->blocks[i] != except)
            return &brute->blocks[i];
    return NULL;
}

static struct brute_debt *debt_at(struct brute *brute, uint64_t address)
{
    for (size_t i = 0; i < brute->debt_count; i++)
        if (brute->debts[i].count && brute->debts[i].address == address)
            return &brute->debts[i];
    return NULL;
}

/* A block is at its address now. If another is there too, the older one's free was missed; of two
 * equally old ones that of the one that was there first. */
static void settle_address(struct brute *brute, struct brute_block *block)
{
    struct brute_block *other = block_at(brute, block->address, block);
    struct brute_block *older, *younger;
    struct brute_debt *debt;

    if (!other)
        return;
    older = other->birth <= block->birth ? other : block;
    younger = older == other ? block : other;
    debt = debt_at(brute, block->address);
    if (!debt) {
        debt = &brute->debts[brute->debt_count++];
        *debt = (struct brute_debt){.address = block->address};
    }
    debt->count++;
    debt->until = larger(debt->until, younger->birth);
    brute->program.replaced_blocks++;
    end_block(brute, older, younger->birth);
}

static void add_block(struct brute *brute, size_t thread, const struct wire_record *record,
                      bool again)
{
    struct brute_block *block = &brute->blocks[brute->block_count++];
    uint32_t node = wire_detail_node(record->detail);

    *block = (struct brute_block){
        .address = record->kind_address & WIRE_ADDRESS_MASK,
        .size = record->size_bytes,
        .slack = wire_detail_slack(record->detail),
        .birth = record->ticks,
        .node = node,
        .thread = thread,
        .serial = ++brute->serials[thread],
        .life = BRUTE_LIVE,
        .kind = (unsigned)(record->kind_address >> 56),
        .born = brute->last,
        .replaces = -1,
        .freer = -1,
    };
    brute->calls[thread] = (struct brute_call){BRUTE_ALLOC, node};
    born(site(brute, node), record, again);
    born(&brute->program.total, record, again);
    brute->threads[thread].alloc_count++;
    brute->threads[thread].alloc_bytes += record->size_bytes;
    brute->flows[brute->flow_count++] = (struct brute_flow){brute->last, block->size, true};
    settle_address(brute, block);
}

static void end_by_thread(struct brute *brute, size_t thread, struct brute_block *block,
                          uint64_t ticks)
{
    brute->threads[thread].free_count++;
    brute->threads[thread].free_bytes += block->size;
    block->freer = (long)thread;
    end_block(brute, block, ticks);
}

static void freed_here(struct call_numbers *metrics, size_t thread, const struct brute_block *block,
                       uint64_t ticks)
{
    metrics->freed_count++;
    metrics->freed_bytes += block->size;
    metrics->freed_elsewhere_count += block->thread != thread;
    metrics->freed_lifetime_sum += ticks > block->birth ? ticks - block->birth : 0;
}

enum { NO_PATH = -1 };

/* `node`: where from, or NO_PATH. */
static void free_by_thread(struct brute *brute, size_t thread, struct brute_block *block,
                           uint64_t ticks, int64_t node)
{
    if (brute->know_frees && node != NO_PATH) {
        freed_here(site(brute, (uint32_t)node), thread, block, ticks);
        freed_here(&brute->program.total, thread, block, ticks);
    }
    if (block->thread == thread && block->serial == brute->serials[thread]) {
        site(brute, block->node)->temporary_count++;
        brute->program.total.temporary_count++;
    }
    brute->calls[thread] = (struct brute_call){BRUTE_FREE, block->node};
    end_by_thread(brute, thread, block, ticks);
}

/* Which block a free or realloc of the address means. NULL: none, and it is counted why. */
static struct brute_block *meant(struct brute *brute, uint64_t address, uint64_t ticks)
{
    struct brute_debt *debt = debt_at(brute, address);
    struct brute_block *block = block_at(brute, address, NULL);

    if (debt && ticks < debt->until) {
        debt->count--;
        brute->program.replaced_blocks--;
        return NULL;
    }
    if (!block)
        brute->program.foreign_frees++;
    return block;
}

static void begin_realloc(struct brute *brute, size_t thread, uint64_t address, uint64_t ticks)
{
    struct brute_realloc *pending = &brute->pending[thread][brute->pending_count[thread]++];
    struct brute_block *block;

    assert(brute->pending_count[thread] <= 256);
    *pending = (struct brute_realloc){.null = address == 0, .address = address, .block = -1};
    if (!address)
        return;
    block = meant(brute, address, ticks);
    if (block) {
        block->life = BRUTE_IN_REALLOC;
        pending->block = block - brute->blocks;
    }
}

static void call_failed(struct brute *brute, size_t thread, uint32_t node)
{
    site(brute, node)->failed_count++;
    brute->program.total.failed_count++;
    brute->calls[thread] = (struct brute_call){BRUTE_ALLOC, node};
}

static void spend(struct brute *brute, size_t thread, const struct wire_record *record)
{
    struct brute_call *call = &brute->calls[thread];
    uint64_t spent = record->kind_address & WIRE_ADDRESS_MASK;

    if (!brute->timed || call->what == BRUTE_NO_CALL || spent > record->ticks) {
        brute->program.malformed_events++;
        return;
    }
    if (call->what == BRUTE_ALLOC) {
        brute->threads[thread].alloc_time += spent;
        site(brute, (uint32_t)call->node)->alloc_time += spent;
        brute->program.total.alloc_time += spent;
    } else {
        brute->threads[thread].free_time += spent;
        if (call->node >= 0) {
            site(brute, (uint32_t)call->node)->free_time += spent;
            brute->program.total.free_time += spent;
        }
    }
    call->what = BRUTE_NO_CALL;
}

static void stack(struct brute *brute, size_t thread, const struct wire_record *record)
{
    struct thread_numbers *metrics = &brute->threads[thread];
    uint64_t deepest = record->kind_address & WIRE_ADDRESS_MASK;

    if (deepest &&
        (metrics->stack_deepest_bytes == UINT64_MAX || deepest > metrics->stack_deepest_bytes)) {
        metrics->stack_deepest_bytes = deepest;
        metrics->stack_node = wire_detail_node(record->detail);
    }
    if (!metrics->seen_node)
        metrics->seen_node = wire_detail_node(record->detail);
    if (metrics->stack_touched_bytes == UINT64_MAX)
        metrics->stack_touched_bytes = 0;
    metrics->stack_touched_bytes = larger(metrics->stack_touched_bytes, record->size_bytes);
    if (!metrics->stack_touched_bytes)
        metrics->stack_touched_bytes = UINT64_MAX;
}

static void end_realloc(struct brute *brute, size_t thread, const struct wire_record *record)
{
    uint64_t address = record->kind_address & WIRE_ADDRESS_MASK;
    struct brute_realloc pending = {.address = address, .block = -1};
    struct brute_block *block = NULL;
    uint32_t node = wire_detail_node(record->detail);

    brute->calls[thread] = (struct brute_call){BRUTE_FREE, -1};
    if (brute->pending_count[thread])
        pending = brute->pending[thread][--brute->pending_count[thread]];
    if (pending.block >= 0)
        block = &brute->blocks[pending.block];
    if (record->kind_address >> 56 & WIRE_FAILED) {
        call_failed(brute, thread, node);
        if (block) {
            block->life = BRUTE_LIVE;
            settle_address(brute, block);
        }
    } else if (!address) {
        if (block)
            free_by_thread(brute, thread, block, record->ticks, node);
    } else {
        if (block)
            end_by_thread(brute, thread, block, record->ticks);
        if (!pending.null && address != pending.address) {
            site(brute, node)->realloc_moved++;
            brute->program.total.realloc_moved++;
        }
        add_block(brute, thread, record, !pending.null);
        brute->blocks[brute->block_count - 1].replaces = pending.block;
    }
}

static void start_thread(struct brute *brute, size_t stream, uint32_t tid, uint64_t ticks)
{
    size_t thread = brute->streams[stream];

    if (brute->announced[thread])
        thread = brute->streams[stream] = new_thread(brute, tid, ticks);
    brute->announced[thread] = true;
    brute->threads[thread].tid = tid;
    brute->threads[thread].start_ticks = ticks;
}

void brute_record(struct brute *brute, size_t stream, const struct wire_record *record)
{
    unsigned kind = (unsigned)(record->kind_address >> 56);
    uint64_t address = record->kind_address & WIRE_ADDRESS_MASK;
    uint32_t node = kind & WIRE_LONG ? wire_detail_node(record->detail) : 0;
    size_t thread = brute->streams[stream];
    struct brute_block *block;

    if (kind == WIRE_VOID)
        return;
    if (kind == WIRE_SPENT) {
        spend(brute, thread, record);
        return;
    }
    brute->program.events++;
    brute->program.late_events += record->ticks < brute->last;
    brute->last = larger(brute->last, record->ticks);
    switch (kind) {
    case WIRE_MALLOC:
    case WIRE_CALLOC:
    case WIRE_ALIGNED:
    case WIRE_NEW:
    case WIRE_NEW_ARRAY:
        add_block(brute, thread, record, false);
        break;
    case WIRE_MALLOC | WIRE_FAILED:
    case WIRE_CALLOC | WIRE_FAILED:
    case WIRE_ALIGNED | WIRE_FAILED:
    case WIRE_NEW | WIRE_FAILED:
    case WIRE_NEW_ARRAY | WIRE_FAILED:
    case WIRE_MMAP | WIRE_FAILED:
        call_failed(brute, thread, node);
        break;
    case WIRE_FREE:
    case WIRE_FREE_AT:
        brute->calls[thread] = (struct brute_call){BRUTE_FREE, -1};
        block = address ? meant(brute, address, record->ticks) : NULL;
        if (block)
            free_by_thread(brute, thread, block, record->ticks,
                           kind == WIRE_FREE_AT ? (int64_t)node : NO_PATH);
        break;
    case WIRE_REALLOC_BEGIN:
        begin_realloc(brute, thread, address, record->ticks);
        break;
    case WIRE_REALLOC_END:
    case WIRE_REALLOC_END | WIRE_FAILED:
        end_realloc(brute, thread, record);
        break;
    case WIRE_THREAD_START:
        start_thread(brute, stream, (uint32_t)address, record->ticks);
        break;
    case WIRE_THREAD_END:
        brute->threads[thread].end_ticks = record->ticks;
        break;
    case WIRE_LOST:
        brute->program.lost_events += address;
        break;
    case WIRE_MMAP:
        site(brute, node)->map_count++;
        site(brute, node)->map_bytes += record->size_bytes;
        brute->program.total.map_count++;
        brute->program.total.map_bytes += record->size_bytes;
        break;
    case WIRE_MUNMAP:
        brute->program.unmap_count++;
        brute->program.unmap_bytes += record->size_bytes;
        break;
    case WIRE_BRK:
        brute->program.brk_count++;
        brute->program.brk_bytes += record->size_bytes;
        break;
    case WIRE_BRK | WIRE_FAILED:
        break;
    case WIRE_STACK:
        stack(brute, thread, record);
        break;
    default:
        assert(!"a kind that the test does not make");
    }
    look_for_peaks(brute);
    brute->levels[brute->level_count++] = (struct brute_level){
        brute->last, brute->program.total.live_bytes, brute->program.total.live_count};
}

void brute_program(const struct brute *brute, struct program_numbers *out)
{
    *out = brute->program;
}

static void see(struct level_numbers *level, uint64_t value)
{
    level->min = smaller(level->min, value);
    level->max = larger(level->max, value);
}

void brute_bucket(const struct brute *brute, uint64_t from, uint64_t to, struct bucket_numbers *out)
{
    struct brute_level carried = brute->levels[0];

    memset(out, 0, sizeof(*out));
    out->requested.min = out->blocks.min = UINT64_MAX;
    for (size_t i = 0; i < brute->level_count; i++) {
        const struct brute_level *level = &brute->levels[i];
        if (level->now < from)
            carried = *level;
        if (level->now >= from && level->now <= to) {
            see(&out->requested, level->requested);
            see(&out->blocks, level->blocks);
        }
    }
    see(&out->requested, carried.requested);
    see(&out->blocks, carried.blocks);
    for (size_t i = 0; i < brute->flow_count; i++) {
        const struct brute_flow *flow = &brute->flows[i];
        if (flow->now < from || flow->now > to)
            continue;
        *(flow->alloc ? &out->alloc_count : &out->free_count) += 1;
        *(flow->alloc ? &out->alloc_bytes : &out->free_bytes) += flow->size;
    }
}
