/* Writes what `tidemark ps` and `tidemark maps` found as JSON and CSV (doc/PS-JSON.md). One table
 * of fields serves both formats. What the kernel does not tell is null, or an empty cell. */
#include "system_memory/show.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/text.h"
#include "model/figure_json.h"

static const struct processes_data_field {
    const char *name;
    size_t offset;
} fields[] = {
    {"pss_bytes", offsetof(struct smaps_bytes, pss)},
    {"uss_bytes", offsetof(struct smaps_bytes, uss)},
    {"rss_bytes", offsetof(struct smaps_bytes, rss)},
    {"shared_bytes", offsetof(struct smaps_bytes, shared)},
    {"anonymous_bytes", offsetof(struct smaps_bytes, anonymous)},
    {"swap_bytes", offsetof(struct smaps_bytes, swap)},
    {"swap_pss_bytes", offsetof(struct smaps_bytes, swap_pss)},
    {"huge_bytes", offsetof(struct smaps_bytes, huge)},
    {"hugetlb_bytes", offsetof(struct smaps_bytes, hugetlb)},
    {"locked_bytes", offsetof(struct smaps_bytes, locked)},
    {"size_bytes", offsetof(struct smaps_bytes, size)},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static struct figure processes_data_value_of(const struct smaps_bytes *bytes, size_t field)
{
    return *(const struct figure *)((const char *)bytes + fields[field].offset);
}

void show_json_bytes(struct json *json, const struct smaps_bytes *bytes)
{
    for (size_t i = 0; i < FIELDS; i++)
        json_figure(json, fields[i].name, processes_data_value_of(bytes, i));
}

static void processes_data_csv_number(FILE *out, struct figure value)
{
    uint64_t number;
    fputc(',', out);
    if (figure_get(value, &number))
        fprintf(out, "%" PRIu64, number);
}

void show_csv_text(FILE *out, const char *text)
{
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, text);
    fputc('"', out);
    for (const char *at = safe.data; *at; at++) {
        if (*at == '"')
            fputc('"', out);
        fputc(*at, out);
    }
    fputc('"', out);
    strbuf_release(&safe);
}

void show_csv_head(FILE *out)
{
    for (size_t i = 0; i < FIELDS; i++)
        fprintf(out, ",%s", fields[i].name);
    fputc('\n', out);
}

void show_csv_bytes(FILE *out, const struct smaps_bytes *bytes)
{
    for (size_t i = 0; i < FIELDS; i++)
        processes_data_csv_number(out, processes_data_value_of(bytes, i));
    fputc('\n', out);
}

/* ---- The system's memory ---------------------------------------------------------------- */

const char *show_by_name(enum system_memory_by by)
{
    static const char *const names[] = {"process", "name", "user", "cgroup", "mapping", "library"};
    return names[by];
}

static size_t processes_data_rows_shown(const struct system_memory_table *table,
                                        const struct show_options *options)
{
    return options->top && options->top < table->count ? (size_t)options->top : table->count;
}

static void processes_data_add_identity(struct json *json,
                                        const struct system_memory_process *process)
{
    char user[64];
    system_memory_user_name(process->status.uid, user, sizeof user);
    json_signed(json, "pid", process->status.pid);
    json_signed(json, "parent_pid", process->status.parent);
    if (process->status.inner_pid)
        json_signed(json, "inner_pid", process->status.inner_pid);
    else
        json_null(json, "inner_pid");
    json_string(json, "user", user);
    json_string(json, "name", process->status.name);
    json_string(json, "command", process->command);
    json_string(json, "cgroup", process->cgroup);
}

static void processes_data_add_row(struct json *json, const struct system_memory_row *row,
                                   enum system_memory_by by, bool is_tree)
{
    json_object(json, NULL);
    if (by == SYSTEM_MEMORY_BY_PROCESS) {
        processes_data_add_identity(json, row->process);
        if (is_tree) {
            json_unsigned(json, "depth", row->depth);
            json_figure(json, "tree_pss_bytes", row->with_all);
        }
    } else {
        json_string(json, show_by_name(by), row->name);
        json_unsigned(json, "processes", row->processes);
    }
    if (row->mappings)
        json_unsigned(json, "mappings", row->mappings);
    show_json_bytes(json, &row->bytes);
    json_end(json);
}

static void processes_data_add_balance(struct json *json, const struct system_memory *system)
{
    struct system_memory_balance balance;
    if (!system_memory_balance(system, &balance)) {
        json_null(json, "machine");
        return;
    }
    json_object(json, "machine");
    json_unsigned(json, "total_bytes", balance.total);
    json_figure(json, "available_bytes", balance.available);
    json_unsigned(json, "processes_bytes", balance.processes);
    json_unsigned(json, "anonymous_elsewhere_bytes", balance.anonymous_elsewhere);
    json_unsigned(json, "unmapped_shared_memory_bytes", balance.shared_memory);
    json_unsigned(json, "unmapped_page_cache_bytes", balance.page_cache);
    json_unsigned(json, "kernel_bytes", balance.kernel);
    json_unsigned(json, "huge_pool_bytes", balance.huge_pool);
    json_unsigned(json, "free_bytes", balance.free);
    json_signed(json, "rest_bytes", balance.rest);
    json_unsigned(json, "kernel_reclaimable_bytes", balance.kernel_reclaimable);
    json_figure(json, "swap_total_bytes", balance.swap_total);
    json_figure(json, "swap_used_bytes", balance.swap_used);
    json_figure(json, "swap_processes_bytes", balance.swap_processes);
    json_end(json);
}

static void processes_data_add_unread(struct json *json, const struct system_memory *system)
{
    json_array(json, "unreadable");
    for (size_t i = 0; i < system->count; i++) {
        const struct system_memory_process *process = &system->processes[i];
        if (process->state != SYSTEM_MEMORY_FORBIDDEN)
            continue;
        json_object(json, NULL);
        processes_data_add_identity(json, process);
        show_json_bytes(json, &process->bytes);
        json_end(json);
    }
    json_end(json);
    json_unsigned(json, "kernel_threads", system->state_counts[SYSTEM_MEMORY_KERNEL]);
    json_unsigned(json, "zombies", system->state_counts[SYSTEM_MEMORY_ZOMBIE]);
    json_unsigned(json, "ended_meanwhile", system->state_counts[SYSTEM_MEMORY_GONE]);
    json_bool(json, "processes_hidden", system->hides_processes);
}

int show_system_memory_json(FILE *out, const struct system_memory *system,
                            const struct system_memory_table *table,
                            const struct show_options *options)
{
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-ps");
    json_unsigned(&json, "version", 1);
    json_string(&json, "by", show_by_name(table->by));
    json_array(&json, "rows");
    for (size_t i = 0; i < processes_data_rows_shown(table, options); i++)
        processes_data_add_row(&json, &table->rows[i], table->by, table->is_tree);
    json_end(&json);
    json_object(&json, "total");
    json_unsigned(&json, "rows", table->count);
    json_unsigned(&json, "processes", table->total.processes);
    show_json_bytes(&json, &table->total.bytes);
    json_end(&json);
    processes_data_add_balance(&json, system);
    processes_data_add_unread(&json, system);
    json_end(&json);
    return json_finish(&json);
}

void show_system_memory_csv(FILE *out, const struct system_memory_table *table,
                            const struct show_options *options)
{
    bool by_process = table->by == SYSTEM_MEMORY_BY_PROCESS;
    if (by_process)
        fputs("pid,parent_pid,user,name,command,cgroup", out);
    else
        fprintf(out, "%s,processes,mappings", show_by_name(table->by));
    show_csv_head(out);
    for (size_t i = 0; i < processes_data_rows_shown(table, options); i++) {
        const struct system_memory_row *row = &table->rows[i];
        const struct system_memory_process *process = row->process;
        char user[64];
        if (by_process) {
            system_memory_user_name(process->status.uid, user, sizeof user);
            fprintf(out, "%d,%d,", (int)process->status.pid, (int)process->status.parent);
            show_csv_text(out, user);
            fputc(',', out);
            show_csv_text(out, process->status.name);
            fputc(',', out);
            show_csv_text(out, process->command ? process->command : "");
            fputc(',', out);
            show_csv_text(out, process->cgroup ? process->cgroup : "");
        } else {
            show_csv_text(out, row->name);
            fprintf(out, ",%" PRIu64 ",", row->processes);
            if (row->mappings)
                fprintf(out, "%" PRIu64, row->mappings);
        }
        show_csv_bytes(out, &row->bytes);
    }
}

/* ---- Mappings ------------------------------------------------------------------------------ */

static void processes_data_mode_of(const struct smaps_mapping *mapping, char mode[5])
{
    mode[0] = mapping->readable ? 'r' : '-';
    mode[1] = mapping->writable ? 'w' : '-';
    mode[2] = mapping->executable ? 'x' : '-';
    mode[3] = mapping->shared ? 's' : 'p';
    mode[4] = '\0';
}

static void processes_data_add_group(struct json *json, const struct maps_group *group,
                                     const char *key)
{
    json_string(json, key, group->name);
    json_unsigned(json, "mappings", group->mappings);
    show_json_bytes(json, &group->bytes);
}

static void processes_data_add_mapping(struct json *json, const struct smaps_mapping *mapping)
{
    char mode[5];
    processes_data_mode_of(mapping, mode);
    json_object(json, NULL);
    json_unsigned(json, "start", mapping->start);
    json_unsigned(json, "end", mapping->end);
    json_unsigned(json, "offset_bytes", mapping->offset_bytes);
    json_string(json, "mode", mode);
    json_string(json, "kind", smaps_kind_name(mapping->kind));
    json_bool(json, "kind_guessed", mapping->guessed);
    json_string(json, "path", mapping->path);
    json_bool(json, "deleted", mapping->deleted);
    show_json_bytes(json, &mapping->bytes);
    json_end(json);
}

static void processes_data_add_kind(struct json *json, const struct maps *maps,
                                    const struct maps_group *kind)
{
    json_object(json, NULL);
    processes_data_add_group(json, kind, "kind");
    json_bool(json, "kind_guessed", kind->guessed);
    json_array(json, "files");
    for (size_t i = kind->first; i < kind->first + kind->count; i++) {
        json_object(json, NULL);
        processes_data_add_group(json, &maps->files[i], "path");
        json_bool(json, "deleted", maps->files[i].deleted);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

int show_maps_json(FILE *out, const struct maps *maps)
{
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-maps");
    json_unsigned(&json, "version", 1);
    json_signed(&json, "pid", maps->status.pid);
    json_string(&json, "name", maps->status.name);
    json_string(&json, "command", maps->command);
    json_object(&json, "total");
    json_unsigned(&json, "mappings", maps->total.mappings);
    show_json_bytes(&json, &maps->total.bytes);
    json_end(&json);
    json_array(&json, "kinds");
    for (size_t i = 0; i < maps->kind_count; i++)
        processes_data_add_kind(&json, maps, &maps->kinds[i]);
    json_end(&json);
    if (maps->lists_all) {
        json_array(&json, "mappings");
        for (size_t i = 0; i < maps->smaps.count; i++)
            processes_data_add_mapping(&json, &maps->smaps.mappings[maps->order[i]]);
        json_end(&json);
    }
    json_end(&json);
    return json_finish(&json);
}

static void processes_data_csv_all(FILE *out, const struct maps *maps)
{
    fputs("start,end,mode,kind,path", out);
    show_csv_head(out);
    for (size_t i = 0; i < maps->smaps.count; i++) {
        const struct smaps_mapping *mapping = &maps->smaps.mappings[maps->order[i]];
        char mode[5];
        processes_data_mode_of(mapping, mode);
        fprintf(out, "0x%" PRIx64 ",0x%" PRIx64 ",%s,%s,", mapping->start, mapping->end, mode,
                smaps_kind_name(mapping->kind));
        show_csv_text(out, mapping->path);
        show_csv_bytes(out, &mapping->bytes);
    }
}

void show_maps_csv(FILE *out, const struct maps *maps)
{
    if (maps->lists_all) {
        processes_data_csv_all(out, maps);
        return;
    }
    fputs("kind,path,mappings", out);
    show_csv_head(out);
    for (size_t i = 0; i < maps->kind_count; i++) {
        const struct maps_group *kind = &maps->kinds[i];
        for (size_t j = kind->first; j < kind->first + kind->count; j++) {
            fprintf(out, "%s,", kind->name);
            show_csv_text(out, maps->files[j].name);
            fprintf(out, ",%" PRIu64, maps->files[j].mappings);
            show_csv_bytes(out, &maps->files[j].bytes);
        }
    }
}
