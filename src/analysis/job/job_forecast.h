/* What a program would need with more ranks: the laws of its marks and functions, their forecasts,
 * and from how many ranks on a rank's memory does not suffice. Inside the room. */
#ifndef TIDEMARK_JOB_JOB_FORECAST_H
#define TIDEMARK_JOB_JOB_FORECAST_H

#include "base/json.h"
#include "job/job_text.h"

/* `scaled`: functions over `jobs`, which are in the order of their sizes. */
void job_add_forecast(struct job_text *text, struct job *const *jobs, size_t count,
                      const struct job_scaled *scaled, size_t scaled_count);
/* "laws" of the jobs' marks, and what is asked of them. */
void job_forecast_write_marks(struct json *json, struct job *const *jobs, size_t count,
                              const struct job_scaled *scaled, size_t scaled_count,
                              const struct job_options *options);
/* "law" of one function. */
void job_forecast_write_function(struct json *json, struct job *const *jobs, size_t count,
                                 const struct job_scaled *scaled,
                                 const struct job_options *options);

#endif
