/* Writes what the ranks of each node held together: one paragraph for each node, with its peak
 * and with what the node has. Of several bounds for the node's memory the tightest one is
 * compared. */
#include <stdio.h>
#include <string.h>
#include "base/human.h"
#include "base/text.h"
#include "job/job_text.h"
#include "model/figure_human.h"

static struct figure job_text_nodes_tightest(const struct job_node_peak *node)
{
    return figure_min(node->limit_bytes, node->machine_bytes);
}

static void job_text_nodes_add_bounds(struct job_text *text, const struct job_node_peak *node)
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

static void job_text_nodes_add_parts(struct job_text *text, const struct job_node_peak *node)
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

static void job_text_nodes_add_resident(struct job_text *text, const struct job_node_peak *node)
{
    struct figure limit = job_text_nodes_tightest(node);
    struct strbuf line = STRBUF_INIT;
    double resident = figure_double(node->resident_bytes), most = figure_double(limit);
    bool is_tight = resident > 0.9 * most; /* not where one is not known */
    if (!figure_known(node->resident_bytes))
        return;
    strbuf_addf(&line, "%s at most where looked at", figure_human_bytes(node->resident_bytes).text);
    if (figure_known(limit))
        strbuf_addf(&line, ", %s of %s %s", human_percent(resident, most).text,
                    figure_human_bytes(limit).text,
                    figure_equal(limit, node->limit_bytes) ? "that its control group may have"
                                                           : "that the node has");
    job_label(text, "  resident");
    if (is_tight)
        style_begin(&text->out, &text->style, TONE_WARNING);
    text_add_wrapped(&text->out, line.data, JOB_LABEL, text->style.columns);
    if (is_tight)
        style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&line);
}

/* The machine's memory: of all that ran there, not of the job alone. */
static void job_text_nodes_add_machine(struct job_text *text, const struct job_node_peak *node,
                                       uint64_t start_ns)
{
    struct strbuf line = STRBUF_INIT;
    uint64_t at_ns;
    if (!figure_known(node->available_bytes))
        return;
    strbuf_addf(&line, "%s ", figure_human_bytes(node->available_bytes).text);
    if (figure_known(node->machine_bytes))
        strbuf_addf(&line, "of %s ", figure_human_bytes(node->machine_bytes).text);
    strbuf_add_string(&line, "available at least");
    if (figure_get(node->available_unix_ns, &at_ns) && at_ns >= start_ns)
        strbuf_addf(&line, ", after %s", human_duration(at_ns - start_ns).text);
    job_label(text, "  machine");
    text_add_wrapped(&text->out, line.data, JOB_LABEL, text->style.columns);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&line);
}

static void job_text_nodes_add(struct job_text *text, const struct job_node_peak *node,
                               uint64_t start_ns)
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
    if (job_node_is_read(node)) {
        strbuf_add_string(&text->out, ": ");
        style_begin(&text->out, &text->style, TONE_FIGURE);
        job_text_nodes_add_bounds(text, node);
        style_end(&text->out, &text->style);
    }
    if (node->is_exact)
        strbuf_add_string(&text->out, " exactly");
    if (node->upper_bytes && node->at_unix_ns)
        strbuf_addf(
            &text->out, " after %s",
            human_duration(node->at_unix_ns > start_ns ? node->at_unix_ns - start_ns : 0).text);
    strbuf_add_char(&text->out, '\n');
    job_text_nodes_add_parts(text, node);
    job_text_nodes_add_resident(text, node);
    job_text_nodes_add_machine(text, node, start_ns);
    strbuf_release(&name);
}

/* How exact the figures are. What is resident is sampled, because no event says it. */
static void job_text_nodes_add_note(struct job_text *text, uint64_t step_ns)
{
    struct strbuf note = STRBUF_INIT;
    size_t exact = 0;
    for (size_t i = 0; i < text->job->node_count; i++)
        exact += text->job->nodes[i].is_exact;
    if (exact)
        job_note(text, "Exactly: by the ranks' traces, to the event. Which functions held it then: "
                       "tidemark at DIR node-peak.");
    if (exact == text->job->node_count && text->job->level != MEMORY_RESIDENT) {
        job_note(text, "What is resident was sampled, and pages that ranks share are in it once "
                       "for each.");
        return;
    }
    strbuf_addf(&note,
                "Bounds: each rank's extremes are known for steps of at most %s on its node's own "
                "clock",
                human_duration(step_ns).text);
    if (text->job->level != MEMORY_RESIDENT)
        strbuf_add_string(&note,
                          ", its high-water mark to the event. What is resident was sampled, "
                          "and pages that ranks share are in it once for each.");
    else
        strbuf_add_string(&note, " and were sampled: between two samples there may have been more. "
                                 "Pages that ranks share are in it once for each.");
    job_note(text, note.data);
    strbuf_release(&note);
}

void job_add_nodes(struct job_text *text)
{
    const struct job *job = text->job;
    struct strbuf line = STRBUF_INIT;
    struct job_course course;
    uint64_t step_ns = 0;
    if (!job->ranks)
        return;
    job_course_init(&course, &job->summary, 1);
    strbuf_addf(&line, "the most that all ranks of a node %s at one moment", job_words(job)->have);
    job_title(text, "Nodes", line.data);
    strbuf_release(&line);
    for (size_t i = 0; i < job->node_count; i++)
        step_ns = job->nodes[i].step_ns > step_ns ? job->nodes[i].step_ns : step_ns;
    for (size_t i = 0; i < job->node_count && i < text->options->top; i++)
        job_text_nodes_add(text, &job->nodes[i], course.start_unix_ns);
    if (job->node_count > text->options->top)
        strbuf_addf(&text->out, "  and %zu more\n", job->node_count - text->options->top);
    job_text_nodes_add_note(text, step_ns);
    job_course_release(&course);
}
