/* The first pass over a trace for what-if (survey.h). It counts calls and levels as a sink of
 * flow_walk(). A bitmap by number of birth marks the blocks that are freed by another lane. */
#include "whatif/survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void survey_count_call(struct survey *survey, enum stream_kind kind)
{
    survey->calls[kind]++;
    survey->call_count++;
}

static void survey_see_level(struct survey *survey)
{
    if (survey->live_bytes <= survey->peak_bytes)
        return;
    survey->peak_bytes = survey->live_bytes;
    survey->peak_blocks = survey->live_blocks;
    survey->peak_call = survey->call_count;
}

static void survey_note_start(void *context, uint32_t lane)
{
    struct survey *survey = context;

    (void)lane;
    survey->lanes++;
}

static void survey_note_stop(void *context, uint32_t lane)
{
    (void)context, (void)lane;
}

static void survey_begin_life(struct survey *survey, struct live_block *block)
{
    if (survey->births >= UINT32_MAX)
        survey->error = -E2BIG;
    block->site = (uint32_t)survey->births++;
    survey->live_bytes += block->size_bytes;
    survey->live_blocks++;
}

static void survey_end_life(struct survey *survey, uint32_t lane, const struct live_block *block)
{
    survey->live_bytes -= block->size_bytes;
    survey->live_blocks--;
    if (live_block_owner(block) == lane || survey_crosses(survey, block->site))
        return;
    survey->crossing[block->site / 8] |= (unsigned char)(1u << block->site % 8);
    survey->crossing_count++;
}

static void survey_note_birth(void *context, uint32_t lane, const struct flow_birth *birth,
                              struct live_block *block)
{
    struct survey *survey = context;

    (void)lane;
    survey_count_call(survey, birth->kind);
    survey_begin_life(survey, block);
    survey_see_level(survey);
}

static void survey_note_change(void *context, uint32_t lane, const struct flow_birth *birth,
                               const struct live_block *old, struct live_block *block)
{
    struct survey *survey = context;

    survey_count_call(survey, birth->kind);
    survey_end_life(survey, lane, old);
    survey_begin_life(survey, block);
    survey_see_level(survey);
}

static void survey_note_end(void *context, uint32_t lane, const struct live_block *block)
{
    struct survey *survey = context;

    survey_count_call(survey, STREAM_FREE);
    survey_end_life(survey, lane, block);
}

static int survey_asked_to_stop(void *context, uint64_t events)
{
    (void)events;
    return ((struct survey *)context)->error;
}

static uint64_t survey_events_of(const struct trace *trace)
{
    uint64_t events = 0;

    for (size_t i = 0; i < trace_block_count(trace); i++)
        events += trace_block(trace, i)->events;
    return events;
}

int survey_take(struct survey *survey, const struct trace *trace)
{
    struct flow_sink sink = {
        survey,         survey_note_start, survey_note_stop, survey_note_birth, survey_note_change,
        survey_note_end};
    int error;

    memset(survey, 0, sizeof *survey);
    survey->lanes = 1;
    survey->crossing_room = (survey_events_of(trace) + 8) / 8 * 8;
    survey->crossing = calloc(survey->crossing_room / 8, 1);
    if (!survey->crossing)
        return -ENOMEM;
    error = flow_walk(trace, &sink, &survey->left_out, survey_asked_to_stop);
    survey->end_bytes = survey->live_bytes;
    return error;
}

void survey_release(struct survey *survey)
{
    free(survey->crossing);
    survey->crossing = NULL;
}
