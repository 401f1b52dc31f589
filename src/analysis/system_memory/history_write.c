/* Writes a line of history for each look at the machine (doc/PS-JSON.md, "History"). Rows are
 * compared with those of the look before by their keys. A row whose figures are the same is not
 * written again. */
#include "system_memory/row_marks.h"

#include "base/json.h"
#include "base/memory.h"
#include "model/figure_json.h"
#include "system_memory/show.h"

static void history_write_add_figures(struct json *json,
                                      const struct figure figures[SYSTEM_HISTORY_FIGURES])
{
    for (size_t i = 0; i < SYSTEM_HISTORY_FIGURES; i++)
        json_figure(json, history_members[i], figures[i]);
}

static bool history_write_is_same(const struct row_mark *a, const struct row_mark *b)
{
    for (size_t i = 0; i < SYSTEM_HISTORY_FIGURES; i++)
        if (!figure_equal(a->figures[i], b->figures[i]))
            return false;
    return true;
}

static void history_write_add_row(struct json *json, const struct row_mark *mark, bool is_new,
                                  bool by_process)
{
    json_object(json, NULL);
    json_string(json, "key", mark->key);
    if (is_new && by_process) {
        json_signed(json, "pid", mark->row->process->status.pid);
        json_string(json, "name", mark->row->process->status.name);
        json_string(json, "command", mark->row->process->command);
    }
    history_write_add_figures(json, mark->figures);
    json_end(json);
}

static void history_write_add_rows(struct json *json, const struct row_marks *before,
                                   const struct row_marks *now, bool by_process)
{
    json_array(json, "rows");
    for (size_t i = 0; i < now->count; i++) {
        const struct row_mark *mark = &now->items[i],
                              *old = before ? row_marks_find(before, mark->key) : NULL;
        if (!old || !history_write_is_same(old, mark))
            history_write_add_row(json, mark, !old, by_process);
    }
    json_end(json);
    json_array(json, "gone");
    for (size_t i = 0; before && i < before->count; i++)
        if (!row_marks_find(now, before->items[i].key))
            json_string(json, NULL, before->items[i].key);
    json_end(json);
}

int row_marks_write(FILE *out, const struct system_memory *system,
                    const struct system_memory_table *table, const struct row_marks *before,
                    const struct row_marks *now, uint64_t time_unix_ns)
{
    struct json json = json_begin(out, false);
    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-ps-history");
    json_unsigned(&json, "version", 1);
    json_unsigned(&json, "time_unix_ns", time_unix_ns);
    json_string(&json, "by", show_by_name(table->by));
    json_bool(&json, "whole", !before);
    history_write_add_rows(&json, before, now, table->by == SYSTEM_MEMORY_BY_PROCESS);
    json_object(&json, "total");
    json_unsigned(&json, "processes", table->total.processes);
    history_write_add_figures(&json, now->total);
    json_end(&json);
    json_object(&json, "machine");
    json_figure(&json, "total_bytes", system->machine.total);
    json_figure(&json, "available_bytes", system->machine.available);
    json_end(&json);
    json_unsigned(&json, "unreadable", system->state_counts[SYSTEM_MEMORY_FORBIDDEN]);
    json_end(&json);
    return json_finish(&json);
}
