/* Writes the overview of many processes as JSON (doc REPORT-JSON.md): programs with their sums
 * first, then each process. Processes whose profile could not be read are listed with the
 * reason. */
#include "base/json.h"
#include "model/figure_json.h"
#include "programs/programs.h"
#include "report/report.h"

/* The known part of sums that are not wholly known. */
static void report_programs_write_known(struct json *json, const struct programs_program *program)
{
    json_object(json, "at_least");
    json_figure(json, "sum_bytes", program->alloc_bytes.known);
    json_figure(json, "allocations", program->alloc_count.known);
    json_figure(json, "duration_ns", program->duration_ns.known);
    json_end(json);
    json_object(json, "known_processes");
    json_unsigned(json, "peak_bytes", program->known_peaks);
    json_unsigned(json, "sum_bytes", program->alloc_bytes.processes);
    json_unsigned(json, "allocations", program->alloc_count.processes);
    json_unsigned(json, "duration_ns", program->duration_ns.processes);
    json_end(json);
}

static void report_programs_write_sums(struct json *json, const struct programs_program *program,
                                       const struct programs *programs)
{
    json_unsigned(json, "processes", program->processes);
    json_figure(json, "peak_bytes", program->peak_bytes);
    json_figure(json, "resident_peak_bytes", program->resident_peak_bytes);
    json_figure(json, "sum_bytes", program->alloc_bytes.all);
    json_figure(json, "allocations", program->alloc_count.all);
    json_figure(json, "duration_ns", program->duration_ns.all);
    report_programs_write_known(json, program);
    json_unsigned(json, "failed", program->failed);
    json_unsigned(json, "lossy", program->lossy);
    json_string(json, "largest",
                program->processes ? programs->processes[program->largest].profile : NULL);
}

static void report_programs_write_programs(struct json *json, const struct programs *programs)
{
    json_array(json, "programs");
    for (size_t i = 0; i < programs->program_count; i++) {
        json_object(json, NULL);
        json_string(json, "program", programs->programs[i].name);
        report_programs_write_sums(json, &programs->programs[i], programs);
        json_end(json);
    }
    json_end(json);
}

static const char *report_programs_state(const struct programs_process *process)
{
    return process->being_written ? "recording" : process->cut_short ? "cut short" : "complete";
}

/* Writes null for 0, which is no process: the pid is not known. */
static void report_programs_write_pid(struct json *json, const char *key, uint64_t pid)
{
    if (pid)
        json_unsigned(json, key, pid);
    else
        json_null(json, key);
}

static void report_programs_write_process(struct json *json, const struct programs_process *process)
{
    json_object(json, NULL);
    json_string(json, "profile", process->profile);
    json_string(json, "program", process->program);
    json_string(json, "command", process->command);
    report_programs_write_pid(json, "pid", process->pid);
    report_programs_write_pid(json, "parent_pid", process->parent);
    json_unsigned(json, "start_unix_ns", process->start_unix_ns);
    json_figure(json, "duration_ns", process->duration_ns);
    json_figure(json, "peak_bytes", process->peak_bytes);
    json_figure(json, "resident_peak_bytes", process->resident_peak_bytes);
    json_figure(json, "sum_bytes", process->alloc_bytes);
    json_figure(json, "allocations", process->alloc_count);
    json_string(json, "state", report_programs_state(process));
    json_string(json, "end", process->end);
    json_figure(json, "end_status", process->end_status);
    json_bool(json, "lossy", process->lossy);
    json_bool(json, "row", process->is_row);
    json_end(json);
}

static void report_programs_write_unread(struct json *json, const struct programs *programs)
{
    json_array(json, "unread");
    for (size_t i = 0; i < programs->unread_count; i++) {
        json_object(json, NULL);
        json_string(json, "file", programs->unread[i].path);
        json_string(json, "why", programs->unread[i].why);
        json_end(json);
    }
    json_end(json);
}

int report_programs_json(FILE *out, const struct programs *programs)
{
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-programs");
    json_unsigned(&json, "version", 1);
    json_string(&json, "path", programs->path);
    report_programs_write_sums(&json, &programs->all, programs);
    json_unsigned(&json, "rows", programs->rows);
    json_unsigned(&json, "snapshots", programs->snapshots);
    json_unsigned(&json, "derived", programs->derived);
    json_unsigned(&json, "beside", programs->beside);
    report_programs_write_unread(&json, programs);
    report_programs_write_programs(&json, programs);
    json_array(&json, "profiles");
    for (size_t i = 0; i < programs->process_count; i++)
        report_programs_write_process(&json, &programs->processes[i]);
    json_end(&json);
    json_end(&json);
    return json_finish(&json);
}
