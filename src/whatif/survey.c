/* See survey.h. */
#include "whatif/survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void count_call(struct survey *survey, enum script_kind kind)
{
    survey->calls[kind]++;
    survey->call_count++;
}

static void see_level(struct survey *survey)
{
    if (survey->live_bytes <= survey->peak_bytes)
        return;
    survey->peak_bytes = survey->live_bytes;
    survey->peak_blocks = survey->live_blocks;
    survey->peak_call = survey->call_count;
}

static void note_start(void *context, uint32_t lane)
{
    struct survey *survey = context;

    (void)lane;
    survey->lanes++;
}

static void note_stop(void *context, uint32_t lane)
{
    (void)context, (void)lane;
}

static void begin_life(struct survey *survey, struct live_block *block)
{
    if (survey->births >= UINT32_MAX)
        survey->error = -E2BIG;
    block->site = (uint32_t)survey->births++;
    survey->live_bytes += block->size_bytes;
    survey->live_blocks++;
}

static void end_life(struct survey *survey, uint32_t lane, const struct live_block *block)
{
    survey->live_bytes -= block->size_bytes;
    survey->live_blocks--;
    if (live_block_owner(block) == lane || survey_crosses(survey, block->site))
        return;
    survey->crossing[block->site / 8] |= (unsigned char)(1u << block->site % 8);
    survey->crossing_count++;
}

static void note_birth(void *context, uint32_t lane, const struct flow_birth *birth,
                       struct live_block *block)
{
    struct survey *survey = context;

    (void)lane;
    count_call(survey, birth->kind);
    begin_life(survey, block);
    see_level(survey);
}

static void note_change(void *context, uint32_t lane, const struct flow_birth *birth,
                        const struct live_block *old, struct live_block *block)
{
    struct survey *survey = context;

    count_call(survey, birth->kind);
    end_life(survey, lane, old);
    begin_life(survey, block);
    see_level(survey);
}

static void note_end(void *context, uint32_t lane, const struct live_block *block)
{
    struct survey *survey = context;

    count_call(survey, SCRIPT_FREE);
    end_life(survey, lane, block);
}

static int asked_to_stop(void *context, uint64_t events)
{
    (void)events;
    return ((struct survey *)context)->error;
}

static uint64_t events_of(const struct trace *trace)
{
    uint64_t events = 0;

    for (size_t i = 0; i < trace_block_count(trace); i++)
        events += trace_block(trace, i)->events;
    return events;
}

int survey_take(struct survey *survey, const struct trace *trace)
{
    struct flow_sink sink = {survey, note_start, note_stop, note_birth, note_change, note_end};
    int error;

    memset(survey, 0, sizeof *survey);
    survey->lanes = 1;
    survey->crossing_room = (events_of(trace) + 8) / 8 * 8;
    survey->crossing = calloc(survey->crossing_room / 8, 1);
    if (!survey->crossing)
        return -ENOMEM;
    error = flow_walk(trace, &sink, &survey->left_out, asked_to_stop);
    survey->end_bytes = survey->live_bytes;
    return error;
}

void survey_release(struct survey *survey)
{
    free(survey->crossing);
    survey->crossing = NULL;
}
