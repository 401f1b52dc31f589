/* The parts of a job's text. Inside the room. */
#ifndef TIDEMARK_JOB_JOB_TEXT_H
#define TIDEMARK_JOB_JOB_TEXT_H

#include "base/strbuf.h"
#include "base/text_table.h"
#include "job/job.h"

enum { JOB_LABEL = 14 };

struct job_text {
    struct style style;
    struct strbuf out;
    const struct job *job;
    const struct job_options *options;
    struct text_row row; /* the next cell of the table */
};

/* What memory of the job's level is said to be. */
struct job_words {
    const char *marks;      /* of a rank's high-water mark */
    const char *have, *has; /* "the most that all ranks requested", "what mesh() asked for" */
};
const struct job_words *job_words(const struct job *job);

void job_label(struct job_text *text, const char *label);
void job_title(struct job_text *text, const char *title, const char *rest);
void job_note(struct job_text *text, const char *string);
/* Right-aligned. */
void job_figure(struct job_text *text, const char *figure, size_t columns);
void job_bytes(struct job_text *text, struct figure bytes, size_t columns); /* "-": unknown */
/* The headings of a table, and its rows, cell by cell. */
void job_headings(struct job_text *text, const struct text_column *columns, size_t count);
void job_row(struct job_text *text, const struct text_column *columns);
void job_cell(struct job_text *text, const char *cell);
void job_cell_bytes(struct job_text *text, struct figure bytes); /* "-": unknown */
/* The rest of a line whose first `used` columns are taken: a function and its module. */
void job_name(struct job_text *text, const char *name, const char *through, const char *module,
              size_t used);
/* "rank 7", or its file where no number is known. Safe. */
void job_add_rank_name(struct strbuf *out, const struct job_rank *rank);
/* "all ", or "61 of 64 " where ranks left nothing or cannot be read: those are in no sum. */
void job_text_add_how_many(struct strbuf *out, const struct job *job);
struct figure job_whole(double bytes);
/* The marks differ by a thousandth at most: nothing to explain. */
bool job_is_even(const struct statistics *peaks);

void job_add_why(struct job_text *text);
void job_add_heat(struct job_text *text);
void job_add_nodes(struct job_text *text);
void job_add_functions(struct job_text *text);
void job_add_libraries(struct job_text *text);

#endif
