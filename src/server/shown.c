/* See shown.h. */
#include "server/shown.h"

#include "present/names.h"

const char *shown_name(const struct shown *shown)
{
    return shown->name ? shown->name : name_base(shown->path);
}

void shown_write(struct json *json, const struct shown *shown, size_t index, bool with_file)
{
    static const char *const kinds[] = {"profile", "job", "rank", "trace"};
    const char *file = shown->file ? shown->file : shown->path;
    json_unsigned(json, "index", index);
    json_string(json, "name", shown_name(shown));
    json_string(json, "file", with_file ? file : NULL);
    json_string(json, "kind", kinds[shown->kind]);
    if (shown->kind == SHOWN_RANK) {
        json_unsigned(json, "job", shown->job);
        json_unsigned(json, "rank_id", shown->rank_id);
    }
}
