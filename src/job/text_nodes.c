/* What the ranks of each node held together. */
#include <stdio.h>
#include <string.h>
#include "base/human.h"
#include "base/text.h"
#include "job/text.h"

static uint64_t tightest(const struct job_node_peak *node)
{
    return node->limit_bytes < node->machine_bytes ? node->limit_bytes : node->machine_bytes;
}

static void add_bounds(struct job_text *text, const struct job_node_peak *node)
{
    struct strbuf line = STRBUF_INIT;
    if (!strcmp(human_bytes(node->lower_bytes).text, human_bytes(node->upper_bytes).text))
        strbuf_addf(&line, "%s", human_bytes(node->upper_bytes).text);
    else
        strbuf_addf(&line, "%s %s %s", human_bytes(node->lower_bytes).text,
                    style_sign(&text->style, "–", "to"), human_bytes(node->upper_bytes).text);
    strbuf_add_string(&text->out, line.data);
    strbuf_release(&line);
}

static void add_parts(struct job_text *text, const struct job_node_peak *node)
{
    struct strbuf line = STRBUF_INIT;
    if (!node->top_count)
        return;
    for (size_t i = 0; i < node->top_count; i++) {
        strbuf_add_string(&line, i ? ", " : "");
        job_add_rank_name(&line, &text->job->summary.ranks[node->top[i]]);
        strbuf_addf(&line, " %s", human_bytes(node->top_bytes[i]).text);
    }
    if (node->ranks + node->helpers > node->top_count)
        strbuf_addf(&line, ", and %zu more", node->ranks + node->helpers - node->top_count);
    job_label(text, "  held by");
    text_add_wrapped(&text->out, line.data, JOB_LABEL, text->style.columns);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&line);
}

static void add_resident(struct job_text *text, const struct job_node_peak *node)
{
    uint64_t limit = tightest(node);
    struct strbuf line = STRBUF_INIT;
    bool is_tight = limit != JOB_UNKNOWN && (double)node->resident_bytes > 0.9 * (double)limit;
    if (node->resident_bytes == JOB_UNKNOWN)
        return;
    strbuf_addf(&line, "%s at most where looked at", human_bytes(node->resident_bytes).text);
    if (limit != JOB_UNKNOWN)
        strbuf_addf(
            &line, ", %s of %s %s", human_percent((double)node->resident_bytes, (double)limit).text,
            human_bytes(limit).text,
            limit == node->limit_bytes ? "that its control group may have" : "that the node has");
    job_label(text, "  resident");
    if (is_tight)
        style_begin(&text->out, &text->style, TONE_WARNING);
    text_add_wrapped(&text->out, line.data, JOB_LABEL, text->style.columns);
    if (is_tight)
        style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&line);
}

static void add_node(struct job_text *text, const struct job_node_peak *node, uint64_t start_ns)
{
    struct strbuf name = STRBUF_INIT;
    text_add_safe_string(&name, node->name);
    strbuf_add_string(&text->out, "  ");
    style_add(&text->out, &text->style, TONE_TITLE, name.data);
    strbuf_addf(&text->out, "  %zu rank%s", node->ranks, node->ranks == 1 ? "" : "s");
    if (node->helpers)
        strbuf_addf(&text->out, " and %zu process%s beside them", node->helpers,
                    node->helpers == 1 ? "" : "es");
    if (node->unread)
        strbuf_addf(&text->out, ", %zu not read", node->unread);
    strbuf_add_string(&text->out, ": ");
    style_begin(&text->out, &text->style, TONE_FIGURE);
    add_bounds(text, node);
    style_end(&text->out, &text->style);
    if (node->upper_bytes)
        strbuf_addf(
            &text->out, " after %s",
            human_duration(node->at_unix_ns > start_ns ? node->at_unix_ns - start_ns : 0).text);
    strbuf_add_char(&text->out, '\n');
    add_parts(text, node);
    add_resident(text, node);
    strbuf_release(&name);
}

void job_add_nodes(struct job_text *text)
{
    const struct job *job = text->job;
    struct job_course course;
    uint64_t step_ns = 0;
    if (!job->ranks)
        return;
    job_course_init(&course, &job->summary, 1);
    job_title(text, "Nodes", "the most that all ranks of a node requested at one moment");
    for (size_t i = 0; i < job->node_count; i++)
        step_ns = job->nodes[i].step_ns > step_ns ? job->nodes[i].step_ns : step_ns;
    for (size_t i = 0; i < job->node_count && i < text->options->top; i++)
        add_node(text, &job->nodes[i], course.start_unix_ns);
    if (job->node_count > text->options->top)
        strbuf_addf(&text->out, "  and %zu more\n", job->node_count - text->options->top);
    struct strbuf note = STRBUF_INIT;
    strbuf_addf(&note,
                "Bounds: each rank's extremes are known for steps of at most %s on its node's own "
                "clock, its high-water mark to the event. What is resident was sampled, and pages "
                "that ranks share are in it once for each.",
                human_duration(step_ns).text);
    job_note(text, note.data);
    strbuf_release(&note);
    job_course_release(&course);
}
