/* Writes one entry of the JSON list of what is served (served_list.h): a profile, a job, a rank or
 * a trace, with its number and its name. The whole path is written only where it may be shown. */
#include "server/served_list.h"

#include "format/names.h"

const char *served_list_name(const struct served_source *shown)
{
    return shown->name ? shown->name : name_base(shown->path);
}

void served_list_write(struct json *json, const struct served_source *shown, size_t index,
                       bool with_file)
{
    static const char *const kinds[] = {"profile", "job", "rank", "trace"};
    const char *file = shown->file ? shown->file : shown->path;
    json_unsigned(json, "index", index);
    json_string(json, "name", served_list_name(shown));
    json_string(json, "file", with_file ? file : NULL);
    json_string(json, "kind", kinds[shown->kind]);
    if (shown->kind == SHOWN_RANK) {
        json_unsigned(json, "job", shown->job);
        json_unsigned(json, "rank_id", shown->rank_id);
    }
}
