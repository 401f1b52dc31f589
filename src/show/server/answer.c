/* Answers a request by its route: a file of the web bundle, a resource of a profile, a part, or the
 * list of profiles. Bodies are kept packed by gzip, and are unpacked for a client that does not
 * accept gzip. A body has an ETag, so a client that has it already gets 304. Errors are JSON, or a
 * page where a browser asks for one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/json.h"
#include "base/error.h"
#include "server/assets.h"
#include "gzip/gzip.h"
#include "server/http.h"

static const char policy[] =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; "
    "style-src 'self'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

void answer_add_headers(struct MHD_Response *response)
{
    static const struct {
        const char *name, *value;
    } headers[] = {
        {"Content-Security-Policy", policy},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Vary", "Accept-Encoding, Authorization"},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        MHD_add_response_header(response, headers[i].name, headers[i].value);
}

static enum MHD_Result answer_send_response(struct MHD_Connection *connection, unsigned status,
                                            struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    answer_add_headers(response);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- Errors -------------------------------------------------------------------------------- */

static const char *answer_title_of(unsigned status)
{
    static const struct {
        unsigned status;
        const char *title;
    } titles[] = {
        {400, "Bad Request"},         {401, "Unauthorized"},        {403, "Forbidden"},
        {404, "Not Found"},           {405, "Method Not Allowed"},  {409, "Conflict"},
        {412, "Precondition Failed"}, {413, "Content Too Large"},   {414, "URI Too Long"},
        {500, "Server Error"},        {503, "Service Unavailable"},
    };
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Error";
}

/* Was the address opened in a browser, and not fetched by a program or by a page of ours? */
static bool answer_wants_a_page(struct MHD_Connection *connection)
{
    const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");
    return accept && strstr(accept, "text/html");
}

static void answer_write_problem(FILE *stream, unsigned status, const char *detail)
{
    struct json json = json_begin(stream, false);
    json_object(&json, NULL);
    json_string(&json, "type", "about:blank");
    json_string(&json, "title", answer_title_of(status));
    json_unsigned(&json, "status", status);
    json_string(&json, "detail", detail);
    json_end(&json);
    json_finish(&json);
}

/* `allow`: the allowed methods; NULL: the answer is not about methods. */
static enum MHD_Result answer_send_sentence(struct MHD_Connection *connection, unsigned status,
                                            const char *detail, const char *allow)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return MHD_NO;
    bool as_text = answer_wants_a_page(connection);
    if (as_text)
        fprintf(stream, "tidemark serve: %s\n", detail);
    else
        answer_write_problem(stream, status, detail);
    fclose(stream);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE);
    if (response) {
        MHD_add_response_header(response, "Content-Type",
                                as_text ? "text/plain; charset=utf-8" : "application/problem+json");
        MHD_add_response_header(response, "Cache-Control", "no-store");
        if (allow)
            MHD_add_response_header(response, "Allow", allow);
    }
    return answer_send_response(connection, status, response);
}

static enum MHD_Result answer_send_problem(struct MHD_Connection *connection, unsigned status,
                                           const char *detail)
{
    return answer_send_sentence(connection, status, detail, NULL);
}

/* ---- Packed bodies ------------------------------------------------------------------------- */

/* "gzip" in Accept-Encoding, and not "gzip;q=0". */
static bool answer_accepts_gzip(struct MHD_Connection *connection)
{
    const char *at = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept-Encoding");
    while (at && *at) {
        at += strspn(at, " ,\t");
        size_t length = strcspn(at, ",");
        size_t word = strcspn(at, ";, \t");
        bool is_it = (word == 4 && !strncasecmp(at, "gzip", 4)) || (word == 1 && *at == '*');
        const char *q = word < length ? memmem(at, length, "q=", 2) : NULL;
        if (is_it)
            return !q || strtod(q + 2, NULL) > 0;
        at += length;
    }
    return false;
}

/* One tag names the bytes, with a suffix for the packed form. */
static void answer_write_tag(char text[32], uint64_t tag, bool packed)
{
    snprintf(text, 32, "\"%016llx%s\"", (unsigned long long)tag, packed ? "-gz" : "");
}

static bool answer_is_known(struct MHD_Connection *connection, uint64_t tag)
{
    const char *given = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match");
    char plain[32];
    answer_write_tag(plain, tag, false);
    plain[17] = 0; /* without the last quote, so that both forms match */
    return given && (strstr(given, plain) || !strcmp(given, "*"));
}

static void answer_add_identity(struct MHD_Response *response, uint64_t tag, bool packed,
                                uint64_t generation)
{
    char text[32];
    answer_write_tag(text, tag, packed);
    MHD_add_response_header(response, "ETag", text);
    /* The browser must not keep profiles: when the server has ended, another program may listen at
     * its port, and pages from there could read them. */
    MHD_add_response_header(response, "Cache-Control",
                            generation ? "no-store" : "private, no-cache");
    snprintf(text, sizeof text, "%llu", (unsigned long long)generation);
    if (generation)
        MHD_add_response_header(response, "Tidemark-Generation", text);
}

static enum MHD_Result answer_send_unchanged(struct MHD_Connection *connection, uint64_t tag,
                                             uint64_t generation)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    if (response)
        answer_add_identity(response, tag, answer_accepts_gzip(connection), generation);
    return answer_send_response(connection, MHD_HTTP_NOT_MODIFIED, response);
}

static struct MHD_Response *answer_unpacked(const void *packed, size_t packed_bytes, size_t limit)
{
    struct strbuf plain = STRBUF_INIT;
    if (gzip_unpack(&plain, packed, packed_bytes, limit))
        return NULL;
    size_t length = plain.length;
    return MHD_create_response_from_buffer(length, strbuf_detach(&plain), MHD_RESPMEM_MUST_FREE);
}

/* ---- Assets -------------------------------------------------------------------------------- */

static enum MHD_Result answer_send_asset(struct MHD_Connection *connection, const char *name)
{
    const struct asset *asset = asset_find(name);
    if (!asset)
        return answer_send_problem(connection, 404, "there is no such page");
    uint64_t tag = asset_tag(asset);
    if (answer_is_known(connection, tag))
        return answer_send_unchanged(connection, tag, 0);
    bool packed = answer_accepts_gzip(connection);
    size_t bytes = (size_t)(asset->end - asset->packed);
    struct MHD_Response *response =
        packed
            ? MHD_create_response_from_buffer(bytes, (void *)asset->packed, MHD_RESPMEM_PERSISTENT)
            : answer_unpacked(asset->packed, bytes, SIZE_MAX);
    if (response) {
        MHD_add_response_header(response, "Content-Type", asset_type(name));
        if (packed)
            MHD_add_response_header(response, "Content-Encoding", "gzip");
        answer_add_identity(response, tag, packed, 0);
    }
    return answer_send_response(connection, MHD_HTTP_OK, response);
}

/* ---- Resources ----------------------------------------------------------------------------- */

/* A body while it is being sent; it holds the part that it belongs to. */
struct sending {
    struct served_profile_body body;
    struct server *server;
    struct part *part; /* NULL: the body is of a whole profile */
};

static void answer_end_sending(void *context)
{
    struct sending *sending = context;
    served_profile_release(&sending->body);
    if (sending->part)
        parts_release(sending->server->parts, sending->part);
    free(sending);
}

/* The response owns the body, and gives it back when all of it was sent. */
static struct MHD_Response *answer_packed_response(const struct request *request,
                                                   struct server *server,
                                                   struct served_profile_body *body)
{
    struct sending *held = malloc(sizeof *held);
    struct MHD_Response *response = NULL;
    if (held) {
        *held = (struct sending){*body, server, request->part};
        response = MHD_create_response_from_buffer_with_free_callback_cls(
            body->packed_bytes, (void *)body->packed, answer_end_sending, held);
    }
    if (response) {
        if (request->part)
            parts_hold(server->parts, request->part);
        return response;
    }
    free(held);
    served_profile_release(body);
    return NULL;
}

static enum MHD_Result answer_send_body(struct server *server, struct MHD_Connection *connection,
                                        const struct request *request,
                                        struct served_profile_body *body)
{
    bool packed = answer_accepts_gzip(connection);
    struct served_profile_body copy = *body;
    struct MHD_Response *response;
    if (packed) {
        response = answer_packed_response(request, server, body);
    } else {
        response = answer_unpacked(body->packed, body->packed_bytes, body->bytes);
        served_profile_release(body);
    }
    if (response) {
        MHD_add_response_header(response, "Content-Type",
                                copy.type == RESOURCE_JSON ? "application/json"
                                                           : "application/vnd.tidemark.columns");
        if (packed)
            MHD_add_response_header(response, "Content-Encoding", "gzip");
        answer_add_identity(response, copy.tag, packed, copy.generation);
    }
    return answer_send_response(connection, MHD_HTTP_OK, response);
}

static enum MHD_Result answer_send_from(struct server *server, struct MHD_Connection *connection,
                                        const struct request *request,
                                        struct served_profile *served, const char *name)
{
    uint64_t tag, generation;
    if (served_profile_tag(served, name, &tag, &generation) && answer_is_known(connection, tag))
        return answer_send_unchanged(connection, tag, generation);
    struct served_profile_body body;
    struct strbuf why = STRBUF_INIT;
    int error = served_profile_get(served, name, &body, &why);
    enum MHD_Result result;
    if (error == -ENODATA)
        result = answer_send_problem(connection, 404, why.data);
    else if (error == -ENOENT)
        result = answer_send_problem(connection, 404, "a profile has no resource of that name");
    else if (error)
        result = answer_send_problem(connection, 500, strerror(-error));
    else if (answer_is_known(connection, body.tag)) {
        result = answer_send_unchanged(connection, body.tag, body.generation);
        served_profile_release(&body);
    } else {
        result = answer_send_body(server, connection, request, &body);
    }
    strbuf_release(&why);
    return result;
}

/* ---- Parts: windows of a trace, regions of a profile --------------------------------------- */

/* Called again when the part has been made. */
static enum MHD_Result answer_send_part(struct server *server, struct MHD_Connection *connection,
                                        struct request *request, const struct part_key *key,
                                        const char *name)
{
    struct strbuf why = STRBUF_INIT;
    enum MHD_Result result = MHD_YES;
    if (!request->part)
        request->part = parts_take(server->parts, key);
    if (!request->part || request->waiter.is_gone)
        return MHD_NO;
    request->waiter.connection = connection;
    switch (parts_await(server->parts, request->part, &request->waiter, &why)) {
    case PART_AWAITED:
        break;
    case PART_READY:
        if (!key->is_window) /* a region's profile may still grow */
            served_profile_refresh(part_served_profile(request->part));
        result =
            answer_send_from(server, connection, request, part_served_profile(request->part), name);
        break;
    case PART_ABSENT:
        result = answer_send_problem(connection, 404, why.data);
        break;
    case PART_FAILED:
        result = answer_send_problem(connection, 500, why.data);
        break;
    case PART_CLOSED:
        result = answer_send_problem(connection, 503, "the server is being ended");
        break;
    }
    strbuf_release(&why);
    return result;
}

/* Reads "region/N/NAME" into key->region and `*name`. False: it is no region. */
static bool answer_take_region(struct part_key *key, const char **name)
{
    uint64_t region;
    if (!route_region(*name, &region, name) || region > UINT32_MAX)
        return false;
    key->region = (size_t)region + 1;
    return true;
}

static bool answer_is_region(const char *name)
{
    return !strncmp(name, "region/", strlen("region/"));
}

static const char no_region[] = "a region is its place in `regions`, from 0 on, and behind it a "
                                "resource's name";

static bool answer_is_level(const char *name)
{
    return !strncmp(name, "of/", strlen("of/"));
}

static const char no_level[] =
    "a level of memory is mapped, all or resident, and behind it a resource's name";

static enum MHD_Result answer_send_window(struct server *server, struct MHD_Connection *connection,
                                          struct request *request,
                                          const struct served_source *shown)
{
    struct part_key key = {.of = shown, .is_window = true};
    const char *name;
    if (!route_window(request->route.name, &key.from_ns, &key.to_ns, &name))
        return answer_send_problem(connection, 404,
                                   "a window is FROM-TO, in ns, FROM not above TO, and behind it a "
                                   "resource's name");
    if (answer_is_region(name) && !answer_take_region(&key, &name))
        return answer_send_problem(connection, 404, no_region);
    if (answer_is_level(name) && !route_level(name, &key.level, &name))
        return answer_send_problem(connection, 404, no_level);
    if (!shown->trace)
        return answer_send_problem(
            connection, 404,
            "only a trace can be cut: serve the .tmt of a recording made with "
            "--trace");
    return answer_send_part(server, connection, request, &key, name);
}

static enum MHD_Result answer_send_region(struct server *server, struct MHD_Connection *connection,
                                          struct request *request, struct served_profile *served)
{
    struct part_key key = {.of = served_profile_shown(served)};
    const char *name = request->route.name;
    if (!answer_take_region(&key, &name))
        return answer_send_problem(connection, 404, no_region);
    if (key.region > served_profile_region_count(served))
        return answer_send_problem(connection, 404, "this profile has no region of that number");
    return answer_send_part(server, connection, request, &key, name);
}

static enum MHD_Result answer_send_level(struct server *server, struct MHD_Connection *connection,
                                         struct request *request, struct served_profile *served)
{
    struct part_key key = {.of = served_profile_shown(served)};
    const char *name;
    if (!route_level(request->route.name, &key.level, &name))
        return answer_send_problem(connection, 404, no_level);
    if (!served_profile_has_level(served, key.level))
        return answer_send_problem(
            connection, 404,
            key.level == MEMORY_RESIDENT
                ? "this profile does not say whose the resident memory is"
                : "this profile does not say what is mapped: it was written by a version that did "
                  "not follow mappings, or imported");
    return answer_send_part(server, connection, request, &key, name);
}

/* ---- SQL, and notes beside a profile -------------------------------------------------------- */

/* The response owns the text. */
static enum MHD_Result answer_send_text(struct MHD_Connection *connection, struct strbuf *text,
                                        const char *type, const char *tag)
{
    size_t length = text->length;
    char *bytes = strbuf_detach(text);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        length, bytes ? bytes : (void *)"", bytes ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response) {
        MHD_add_response_header(response, "Content-Type", type);
        MHD_add_response_header(response, "Cache-Control", "no-store");
        if (tag)
            MHD_add_response_header(response, "ETag", tag);
    } else {
        free(bytes);
    }
    return answer_send_response(connection, MHD_HTTP_OK, response);
}

/* Called again when the question has been answered. GET lists what can be asked. */
static enum MHD_Result answer_send_rows(struct server *server, struct MHD_Connection *connection,
                                        struct request *request, const char *path)
{
    struct strbuf rows = STRBUF_INIT, why = STRBUF_INIT;
    enum MHD_Result result = MHD_YES;
    bool is_list = !request->keeps_body;
    const char *sql = is_list ? "" : request->body.length ? request->body.data : " ";
    if (!request->question)
        request->question = questions_add(server->questions, path, sql);
    if (!request->question)
        return answer_send_problem(connection, 503, "too many questions wait for their answers");
    if (request->waiter.is_gone)
        return MHD_NO;
    request->waiter.connection = connection;
    switch (questions_await(server->questions, request->question, &request->waiter, &rows, &why)) {
    case PART_AWAITED:
        break;
    case PART_READY:
        result = answer_send_text(connection, &rows,
                                  is_list ? "text/plain; charset=utf-8" : "application/json", NULL);
        break;
    case PART_CLOSED:
        result = answer_send_problem(connection, 503, "the server is being ended");
        break;
    default:
        result = answer_send_problem(connection, 400, why.data);
    }
    strbuf_release(&rows);
    strbuf_release(&why);
    return result;
}

static unsigned answer_status_of_notes(int error)
{
    switch (error) {
    case -ESTALE:
        return 412;
    case -EEXIST:
        return 409;
    case -EINVAL:
        return 400;
    default:
        return 500;
    }
}

/* PUT has the new notes as its body. The answer is the notes as they are then. */
static enum MHD_Result answer_send_notes(struct server *server, struct MHD_Connection *connection,
                                         const struct request *request,
                                         const struct served_source *shown)
{
    struct strbuf text = STRBUF_INIT;
    char tag[NOTES_TAG];
    const char *known = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-Match");
    int error = 0;
    if (request->keeps_body && !server->has_token)
        return answer_send_problem(connection, 403,
                                   "without a token nobody knows whose notes these are: nothing is "
                                   "written (--no-token)");
    if (request->keeps_body && server->options.no_notes)
        return answer_send_problem(connection, 403,
                                   "this server writes no notes beside profiles (--no-notes)");
    if (request->keeps_body)
        error = notes_write(&server->notes, shown, &request->body, known);
    if (!error)
        error = notes_read(shown, &text, tag);
    enum MHD_Result result =
        error ? answer_send_problem(connection, answer_status_of_notes(error), error_text())
              : answer_send_text(connection, &text, "application/json", tag);
    strbuf_release(&text);
    return result;
}

/* What the profiles of a job's ranks say. They are read from now on, if they are not already. */
static enum MHD_Result answer_refuse_unread(struct MHD_Connection *connection,
                                            struct served_profile *served)
{
    struct served_profile_state state;
    struct strbuf why = STRBUF_INIT;
    served_reading_want(served_profile_shown(served)->reading);
    served_profile_state(served, &state);
    if (*state.error)
        strbuf_add_string(&why, state.error);
    else
        strbuf_addf(&why, "not read yet: %zu of %zu %s of this job's ranks are", state.done,
                    state.of, state.lists ? "entries" : "profiles");
    enum MHD_Result result = answer_send_problem(connection, 503, why.data);
    strbuf_release(&why);
    return result;
}

static void answer_write_profile(struct json *json, size_t index, struct served_profile *served)
{
    struct served_profile_state state;
    served_profile_state(served, &state);
    json_object(json, NULL);
    served_list_write(json, served_profile_shown(served), index, true);
    json_string(json, "state", state.state);
    json_unsigned(json, "generation", state.generation);
    json_string(json, "error", *state.error ? state.error : NULL);
    if (state.is_of_job) {
        json_unsigned(json, state.lists ? "listed" : "read", state.done);
        json_unsigned(json, state.lists ? "to_list" : "to_read", state.of);
    }
    json_end(json);
}

/* Has all of a job read; the answer is how far that is. */
static enum MHD_Result answer_want_whole(struct MHD_Connection *connection, size_t index,
                                         struct served_profile *served)
{
    struct strbuf text = STRBUF_INIT;
    char *bytes = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&bytes, &length);
    if (!stream)
        return MHD_NO;
    struct json json = json_begin(stream, false);
    served_reading_want(served_profile_shown(served)->reading);
    answer_write_profile(&json, index, served);
    json_finish(&json);
    fclose(stream);
    strbuf_add(&text, bytes, length);
    free(bytes);
    enum MHD_Result result = answer_send_text(connection, &text, "application/json", NULL);
    strbuf_release(&text);
    return result;
}

static enum MHD_Result answer_send_resource(struct server *server,
                                            struct MHD_Connection *connection,
                                            struct request *request)
{
    const struct route *route = &request->route;
    struct served_profile *served = server_profile(server, route->profile);
    if (!served)
        return answer_send_problem(connection, 404, "there is no profile of that number");
    if (!strncmp(route->name, "window/", strlen("window/")))
        return answer_send_window(server, connection, request, served_profile_shown(served));
    if (!strcmp(route->name, "notes"))
        return answer_send_notes(server, connection, request, served_profile_shown(served));
    if (!strcmp(route->name, "whole") && served_profile_shown(served)->reading)
        return answer_want_whole(connection, route->profile, served);
    bool is_query = !strcmp(route->name, "query");
    if (!is_query || served_profile_shown(served)->reading)
        served_profile_refresh(served);
    if ((!is_query || served_profile_shown(served)->reading) && served_profile_need(served))
        return answer_send_problem(connection, 500, error_text());
    if (served_profile_shown(served)->reading && !served_profile_has_read(served, route->name))
        return answer_refuse_unread(connection, served);
    if (is_query)
        return answer_send_rows(server, connection, request, served_profile_shown(served)->path);
    if (answer_is_region(route->name))
        return answer_send_region(server, connection, request, served);
    if (answer_is_level(route->name))
        return answer_send_level(server, connection, request, served);
    return answer_send_from(server, connection, request, served, route->name);
}

/* ---- The list of profiles ------------------------------------------------------------------ */

static enum MHD_Result answer_send_profiles(struct server *server,
                                            struct MHD_Connection *connection)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return MHD_NO;
    struct json json = json_begin(stream, false);
    json_object(&json, NULL);
    json_string(&json, "tool", "tidemark " TIDEMARK_VERSION);
    json_array(&json, "profiles");
    server_take_ranks(server);
    size_t count = server_profile_count(server);
    for (size_t i = 0; i < count; i++) {
        struct served_profile *served = server_profile(server, i);
        served_profile_refresh(served);
        answer_write_profile(&json, i, served);
    }
    json_end(&json);
    json_end(&json);
    json_finish(&json);
    fclose(stream);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE);
    if (response) {
        MHD_add_response_header(response, "Content-Type", "application/json");
        MHD_add_response_header(response, "Cache-Control", "no-store");
    }
    return answer_send_response(connection, MHD_HTTP_OK, response);
}

/* ---- The token ----------------------------------------------------------------------------- */

static enum MHD_Result answer_send_token(const struct server *server,
                                         struct MHD_Connection *connection)
{
    char text[64];
    int length = snprintf(text, sizeof text, "{\"token\":\"%s\"}\n", server->token);
    struct MHD_Response *response =
        MHD_create_response_from_buffer((size_t)length, text, MHD_RESPMEM_MUST_COPY);
    if (response) {
        MHD_add_response_header(response, "Content-Type", "application/json");
        MHD_add_response_header(response, "Cache-Control", "no-store");
    }
    return answer_send_response(connection, MHD_HTTP_OK, response);
}

/* ---- Every request ------------------------------------------------------------------------- */

static enum MHD_Result answer_refuse(struct MHD_Connection *connection, enum access access)
{
    switch (access) {
    case ACCESS_UNCLEAR:
        return answer_send_problem(connection, 400,
                                   "a request has one Host, and at most one Origin");
    case ACCESS_WRONG_HOST:
        return answer_send_problem(
            connection, 403, "the name in Host is none of this machine's; --host allows one more");
    case ACCESS_WRONG_ORIGIN:
        return answer_send_problem(connection, 403, "this was asked for by another site's page");
    case ACCESS_WRONG_TOKEN:
        return answer_send_problem(
            connection, 401,
            "the token is not that of this server: open the URL that `tidemark "
            "serve` printed");
    case ACCESS_BY_TICKET:
        return answer_send_problem(
            connection, 401,
            "a ticket lets one page in, once, and only our own user's: open the URL that "
            "`tidemark serve` printed");
    default:
        return answer_send_problem(connection, 401,
                                   "open the URL that `tidemark serve` printed: it has the token");
    }
}

static enum MHD_Result answer_send_by_route(struct server *server,
                                            struct MHD_Connection *connection,
                                            struct request *request)
{
    switch (request->route.kind) {
    case ROUTE_ASSET:
        return answer_send_asset(connection, request->route.name);
    case ROUTE_TOKEN:
        return answer_send_token(server, connection);
    case ROUTE_PROFILES:
        return answer_send_profiles(server, connection);
    case ROUTE_RESOURCE:
        return answer_send_resource(server, connection, request);
    case ROUTE_LIVE:
        if (listeners_are_full(server))
            return answer_send_problem(connection, 503, "too many pages listen already");
        return listeners_answer(server, connection, request);
    default:
        return answer_send_problem(connection, 404, "there is no such page");
    }
}

/* The allowed methods; the last one of a resource that can be written or asked takes a body. */
static const char *answer_methods_of(const struct route *route)
{
    if (route->kind == ROUTE_RESOURCE && !strcmp(route->name, "query"))
        return "GET, HEAD, POST";
    if (route->kind == ROUTE_RESOURCE && !strcmp(route->name, "notes"))
        return "GET, HEAD, PUT";
    return "GET, HEAD";
}

static bool answer_takes_body(const struct route *route, const char *method)
{
    const char *last = strrchr(answer_methods_of(route), ' ') + 1;
    return !strcmp(method, last) && strcmp(method, "HEAD");
}

/* Keeps the body of a request that may have one and is allowed, up to the longest that there may
 * be. */
static void answer_keep_body(struct request *request, const char *bytes, size_t count)
{
    bool is_sql = !strcmp(request->route.name, "query");
    size_t most = is_sql ? SERVER_SQL_BYTES : NOTES_MOST;
    if (!request->keeps_body)
        return;
    request->body_is_too_long |= request->body.length + count > most || memchr(bytes, 0, count);
    if (!request->body_is_too_long)
        strbuf_add(&request->body, bytes, count);
}

static enum MHD_Result answer_if_allowed(struct server *server, struct MHD_Connection *connection,
                                         struct request *request)
{
    enum access access = access_of(server, connection, &request->route);
    if (access == ACCESS_BY_TICKET && ticket_take(server, connection))
        access = ACCESS_GRANTED;
    if (access == ACCESS_PUBLIC)
        clients_fetch(&server->clients, request->client);
    else if (access == ACCESS_GRANTED)
        clients_serve(&server->clients, request->client);
    else
        return answer_refuse(connection, access);
    if (request->body_is_too_long)
        return answer_send_problem(connection, 413,
                                   "a statement has 64 KiB at most, notes have 1 MiB, and neither "
                                   "has a byte of 0");
    return answer_send_by_route(server, connection, request);
}

/* Called with the headers, before the body. An answer at this point would close the connection. */
static void answer_begin(const struct server *server, struct MHD_Connection *connection,
                         struct request *request, const char *method)
{
    request->begun = true;
    request->keeps_body = answer_takes_body(&request->route, method) &&
                          access_of(server, connection, &request->route) == ACCESS_GRANTED;
}

enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                       const char *method, const char *version, const char *upload_data,
                       size_t *upload_bytes, void **request_at)
{
    struct server *server = context;
    struct request *request = *request_at;
    (void)url, (void)version;
    if (!request)
        return MHD_NO;
    if (request->begun && *upload_bytes) {
        answer_keep_body(request, upload_data, *upload_bytes);
        *upload_bytes = 0;
        return MHD_YES;
    }
    if (request->route.kind == ROUTE_BAD)
        return answer_send_problem(connection, 400, "this is no target that a page of ours has");
    if (request->route.kind == ROUTE_TOO_LONG)
        return answer_send_problem(connection, 414, "the target is too long");
    if (strcmp(method, "GET") && strcmp(method, "HEAD") &&
        !answer_takes_body(&request->route, method))
        return answer_send_sentence(connection, 405, "profiles are only read",
                                    answer_methods_of(&request->route));
    if (!request->begun) {
        answer_begin(server, connection, request, method);
        return MHD_YES;
    }
    return answer_if_allowed(server, connection, request);
}
