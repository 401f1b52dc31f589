/* Writes the single page (single_file.h): the web bundle's index.html, in which the files that it
 * refers to stand in the place of the references:
 *
 *   <html> …                          data-tidemark="file"
 *   <meta charset="utf-8">            and behind it the policy
 *   <link … href="app.css">           the style itself
 *   <script … src="app.js"></script>  the data, then the script itself
 *
 * Written as a stream, one profile in memory at a time. */
#include "server/single_file.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "format/names.h"
#include "server/assets.h"
#include "gzip/gzip.h"
#include "server/resources.h"
#include "server/sha256.h"

/* Of large blocks; level 6 takes four times as long for 2 % less (decision 531). */
enum { FAST_FROM = 256 << 10, FAST_LEVEL = 4, SMALL_LEVEL = 6 };

static const char page_name[] = "index.html", script_name[] = "app.js", style_name[] = "app.css";
static const char later_name[] = "code.js";

/* ---- Bytes as text ------------------------------------------------------------------------- */

static void single_file_add_base64(struct strbuf *out, const void *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *at = bytes;
    char *text = strbuf_extend(out, (count + 2) / 3 * 4);
    for (; count; at += 3) {
        size_t part = count < 3 ? count : 3;
        uint32_t word =
            (uint32_t)at[0] << 16 | (part > 1 ? (uint32_t)at[1] << 8 : 0) | (part > 2 ? at[2] : 0);
        *text++ = digits[word >> 18];
        *text++ = digits[word >> 12 & 63];
        *text++ = part > 1 ? digits[word >> 6 & 63] : '=';
        *text++ = part > 2 ? digits[word & 63] : '=';
        count -= part;
    }
}

/* Replaces each `what`, in any case, by `by`. */
static void single_file_replace_all(struct strbuf *text, const char *what, const char *by)
{
    struct strbuf out = STRBUF_INIT;
    const char *at = text->data;
    for (const char *found; (found = strcasestr(at, what)); at = found + strlen(what)) {
        strbuf_add(&out, at, (size_t)(found - at));
        strbuf_add_string(&out, by);
    }
    strbuf_add_string(&out, at);
    strbuf_release(text);
    *text = out;
}

/* ---- Blocks of data ------------------------------------------------------------------------ */

static int single_file_write_block(FILE *out, const char *kind, const char *name, const char *type,
                                   const void *packed, size_t count)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "<script type=\"application/tidemark\" data-%s=\"%s\" data-type=\"%s\">",
                kind, name, type);
    single_file_add_base64(&text, packed, count);
    strbuf_add_string(&text, "</script>\n");
    fwrite(text.data, 1, text.length, out);
    strbuf_release(&text);
    return ferror(out) ? -(errno ? errno : EIO) : 0;
}

struct single_file_writing {
    FILE *out;
    const struct resources *resources;
    const char *prefix;       /* of names */
    struct strbuf *from_disk; /* as in struct html_options */
    int error;
};

static void single_file_write_resource(void *context, const char *name)
{
    struct single_file_writing *writing = context;
    struct strbuf plain = STRBUF_INIT, packed = STRBUF_INIT, full = STRBUF_INIT, why = STRBUF_INIT;
    enum resource_type type;
    if (writing->error)
        return;
    strbuf_addf(&full, "%s%s", writing->prefix, name);
    writing->error = resources_make(writing->resources, name, &plain, &type, &why);
    if (!writing->error)
        writing->error = gzip_pack(&packed, plain.data, plain.length,
                                   plain.length > FAST_FROM ? FAST_LEVEL : SMALL_LEVEL);
    if (!writing->error)
        writing->error = single_file_write_block(writing->out, "name", full.data,
                                                 type == RESOURCE_JSON ? "json" : "columns",
                                                 packed.data, packed.length);
    strbuf_release(&plain);
    strbuf_release(&packed);
    strbuf_release(&full);
    strbuf_release(&why);
}

/* Does the name look like a source file's? The page will be passed on, and a stranger's profile may
 * call any file a source. */
static bool single_file_is_named_like_source(const char *name)
{
    static const char *const endings[] = {
        ".c",   ".h",   ".cc",  ".cpp", ".cxx", ".hh", ".hpp",  ".hxx", ".c++", ".h++", ".inl",
        ".ipp", ".tcc", ".tpp", ".inc", ".def", ".cu", ".cuh",  ".m",   ".mm",  ".f",   ".for",
        ".f77", ".f90", ".f95", ".f03", ".f08", ".rs", ".py",   ".pyx", ".go",  ".d",   ".zig",
        ".s",   ".asm", ".y",   ".l",   ".ll",  ".yy", ".java", ".js",  ".ts",  ".pl",  ".jl"};
    const char *ending = strrchr(name_base(name), '.');
    for (size_t i = 0; ending && i < sizeof endings / sizeof *endings; i++)
        if (!strcasecmp(ending, endings[i]))
            return true;
    return false;
}

static const char *single_file_name(const struct resources *resources, size_t file)
{
    return resources->files.spellings[resources->files.first[file]].name;
}

static void single_file_write_source(struct single_file_writing *writing, size_t file)
{
    char name[32];
    const char *path = single_file_name(writing->resources, file);
    enum source_origin origin = resources_text_origin(writing->resources, (uint32_t)file,
                                                      single_file_is_named_like_source(path));
    snprintf(name, sizeof name, "source/%zu", file);
    if (origin != SOURCE_ORIGIN_NONE)
        single_file_write_resource(writing, name);
    if (origin == SOURCE_ORIGIN_DISK) {
        text_add_safe_string(writing->from_disk, path);
        strbuf_add_char(writing->from_disk, '\n');
    }
}

/* Writes the program's own source files: those with a frame that is no library's. */
static void single_file_write_sources(struct single_file_writing *writing)
{
    const struct resources *resources = writing->resources;
    const struct profile *profile = resources->profile;
    bool *wanted = calloc(resources->files.count + 1, 1);
    for (size_t i = 0; wanted && i < profile->line_count; i++) {
        uint32_t file = resources->hidden[i]
                            ? UINT32_MAX
                            : source_files_find(&resources->files, profile->lines[i].file);
        if (file != UINT32_MAX)
            wanted[file] = true;
    }
    for (size_t i = 0; wanted && i < resources->files.count; i++) {
        if (wanted[i])
            single_file_write_source(writing, i);
    }
    writing->error = wanted ? writing->error : -ENOMEM;
    free(wanted);
}

/* ---- Profiles, their regions and levels
 * ------------------------------------------------------------ */

/* The page cannot ask a server for a region: it holds all of them where they are small beside the
 * whole (1,000 call paths are some 30 KB). */
enum { REGIONS_HELD = 32, REGION_SITES_HELD = 20000 };

/* A map of the heap takes up to 7 bytes a cell. With more than 32,768 cells (128 MiB of pages) it
 * is left out. */
enum { HEAP_CELLS_HELD = 32768 };

static bool single_file_holds_regions(const struct profile *profile)
{
    return profile->region_count <= REGIONS_HELD && profile->region_site_count <= REGION_SITES_HELD;
}

static void single_file_write_own(void *context, const char *name)
{
    if (!resources_is_shared(name))
        single_file_write_resource(context, name);
}

/* The level of mappings uses the call paths of the whole. The level of resident memory has nodes of
 * its own, as many again: with more nodes than this it is left out. */
enum { RESIDENT_NODES_HELD = 50000 };

static unsigned single_file_levels(const struct profile *profile)
{
    unsigned levels = resources_levels_of(profile);
    return profile->node_count > RESIDENT_NODES_HELD ? levels & ~(1u << MEMORY_RESIDENT) : levels;
}

/* The part of a profile that is written: the whole, a region or a level. */
struct single_file_part {
    size_t index;            /* of the profile */
    size_t region;           /* from 1; 0: none */
    enum memory_level level; /* MEMORY_HEAP: none */
};

static bool single_file_is_part(const struct single_file_part *part)
{
    return part->region || part->level;
}

static void single_file_add_prefix(struct strbuf *prefix, const struct single_file_part *part)
{
    strbuf_addf(prefix, "p/%zu/", part->index);
    if (part->region)
        strbuf_addf(prefix, "region/%zu/", part->region - 1);
    if (part->level)
        strbuf_addf(prefix, "of/%s/", memory_level_name(part->level));
}

static int single_file_read(struct profile **profile, const struct html_options *options,
                            const struct single_file_part *part, struct strbuf *why)
{
    size_t none = 0;
    int error = profile_read(profile, options->shown[part->index].path);
    if (error) {
        strbuf_add_string(why, error_text());
        return error;
    }
    if (part->region)
        error = profile_cut_region_at(*profile, part->region - 1);
    if (!error && (error = redact_profile(*profile, options->redact, options->salt)) > 0) {
        *(options->hidden && !single_file_is_part(part) ? options->hidden : &none) += (size_t)error;
        error = 0;
    }
    if (!error && part->level) /* names of owners are made of what is redacted */
        error = profile_take_level(*profile, part->level);
    if (!error)
        return 0;
    strbuf_add_string(why, error_text());
    profile_free(*profile);
    return error;
}

/* How many regions, and which levels, are held beside the whole. */
struct single_file_held {
    size_t regions;
    unsigned levels;
};

static void single_file_write_resources(struct single_file_writing *writing,
                                        const struct html_options *options,
                                        const struct single_file_part *part)
{
    bool own = part->region || part->level == MEMORY_MAPPED || part->level == MEMORY_ALL;
    resources_list(writing->resources, own ? single_file_write_own : single_file_write_resource,
                   writing);
    if (options->sources && !single_file_is_part(part) && options->redact <= REDACT_SECRETS)
        single_file_write_sources(writing);
}

static int single_file_write_one(FILE *out, const struct html_options *options,
                                 const struct single_file_part *part, struct single_file_held *held,
                                 struct strbuf *why)
{
    struct profile *profile;
    struct resources resources;
    struct strbuf prefix = STRBUF_INIT;
    int error = single_file_read(&profile, options, part, why);
    if (error)
        return error;
    if (profile->heap_page_count > HEAP_CELLS_HELD)
        profile->heap_page_count = 0;
    error = resources_open(&resources, profile, options->paths);
    if (!error) {
        single_file_add_prefix(&prefix, part);
        struct single_file_writing writing = {out, &resources, prefix.data, options->from_disk, 0};
        resources.has_regions = !single_file_is_part(part) && single_file_holds_regions(profile);
        resources.levels = single_file_levels(profile);
        *held = (struct single_file_held){resources.has_regions ? profile->region_count : 0,
                                          resources.levels};
        single_file_write_resources(&writing, options, part);
        error = writing.error;
        resources_close(&resources);
    }
    strbuf_release(&prefix);
    profile_free(profile);
    return error;
}

static int single_file_write_profile(FILE *out, const struct html_options *options, size_t index,
                                     struct strbuf *why)
{
    struct single_file_held held = {0}, none;
    struct single_file_part part = {.index = index};
    int error = single_file_write_one(out, options, &part, &held, why);
    for (part.region = 1; part.region <= held.regions && !error; part.region++)
        error = single_file_write_one(out, options, &part, &none, why);
    part.region = 0;
    for (int level = MEMORY_HEAP + 1; level < MEMORY_LEVELS && !error; level++) {
        part.level = (enum memory_level)level;
        if (held.levels >> level & 1)
            error = single_file_write_one(out, options, &part, &none, why);
    }
    return error;
}

static int single_file_write_list(FILE *out, const struct html_options *options)
{
    char *text = NULL;
    size_t length = 0;
    struct strbuf packed = STRBUF_INIT;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return -ENOMEM;
    struct json json = json_begin(stream, false);
    json_object(&json, NULL);
    json_string(&json, "tool", "tidemark " TIDEMARK_VERSION);
    json_array(&json, "profiles");
    for (size_t i = 0; i < options->shown_count; i++) {
        json_object(&json, NULL);
        /* The page is passed on, so it has no paths of profiles. */
        served_list_write(&json, &options->shown[i], i, false);
        json_unsigned(&json, "generation", 1);
        json_string(&json, "error", NULL);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    json_finish(&json);
    fclose(stream);
    int error = gzip_pack(&packed, text, length, 6);
    if (!error)
        error =
            single_file_write_block(out, "name", "profiles", "json", packed.data, packed.length);
    strbuf_release(&packed);
    free(text);
    return error;
}

/* Assets of the viewer's page alone: its worker, and the readers as WebAssembly. */
static const char viewer_prefix[] = "viewer.", viewer_module[] = "viewer.wasm";

static bool single_file_wants_asset(const char *name, bool viewer)
{
    if (!strcmp(name, page_name) || !strcmp(name, script_name) || !strcmp(name, style_name))
        return false;
    return viewer || strncmp(name, viewer_prefix, strlen(viewer_prefix)) != 0;
}

/* Assets that the script loads when it needs them. */
static int single_file_write_assets(FILE *out, bool viewer)
{
    int error = 0;
    for (size_t i = 0; i < asset_count && !error; i++) {
        const char *name = assets[i].name;
        if (single_file_wants_asset(name, viewer))
            error = single_file_write_block(out, "asset", name, asset_type(name), assets[i].packed,
                                            (size_t)(assets[i].end - assets[i].packed));
    }
    return error;
}

/* ---- The page ------------------------------------------------------------------------------ */

static int single_file_load_asset(struct strbuf *text, const char *name)
{
    const struct asset *asset = asset_find(name);
    return asset ? gzip_unpack(text, asset->packed, (size_t)(asset->end - asset->packed), SIZE_MAX)
                 : -ENOENT;
}

/* Browsers hash the text between the tags, with each line end as one newline. */
static void single_file_add_hash(struct strbuf *out, const struct strbuf *text)
{
    uint8_t digest[SHA256_BYTES];
    sha256(text->data, text->length, digest);
    strbuf_add_string(out, "'sha256-");
    single_file_add_base64(out, digest, sizeof digest);
    strbuf_add_string(out, "'");
}

/* Allows the page's own script and style and the script that it runs later, by their hashes, and no
 * others. */
static void single_file_add_policy(struct strbuf *out, const struct strbuf *script,
                                   const struct strbuf *later, const struct strbuf *style)
{
    strbuf_add_string(out, "\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                           "'none'; script-src ");
    single_file_add_hash(out, script);
    strbuf_add_string(out, " ");
    single_file_add_hash(out, later);
    strbuf_add_string(out, " 'wasm-unsafe-eval'; worker-src blob:; style-src ");
    single_file_add_hash(out, style);
    strbuf_add_string(out, "; img-src data: blob:; font-src data:; base-uri 'none'; form-action "
                           "'none'\">");
}

/* The places in the page where something is put. */
struct single_file_page {
    struct strbuf text, script, style;
    struct strbuf later; /* what draws source text: an asset that runs in the page, as it is */
    const char *html, *charset, *link, *tag; /* html, charset: ends; link, tag: begins */
    const char *link_end, *tag_end;          /* behind "</script>" */
};

/* The element that begins with `begin` and has `attribute` in its first tag. */
static const char *single_file_find_element(const char *page, const char *begin,
                                            const char *attribute)
{
    for (const char *at = page; (at = strstr(at, begin)); at++) {
        const char *found = strstr(at, attribute), *end = strchr(at, '>');
        if (found && end && found < end)
            return at;
    }
    return NULL;
}

static bool single_file_find_places(struct single_file_page *page)
{
    static const char charset[] = "<meta charset=\"utf-8\">", end_tag[] = "</script>";
    const char *text = page->text.data;
    page->html = strstr(text, "<html");
    page->charset = strstr(text, charset);
    page->link = single_file_find_element(text, "<link", "href=\"app.css\"");
    page->tag = single_file_find_element(text, "<script", "src=\"app.js\"");
    page->link_end = page->link ? strchr(page->link, '>') : NULL;
    page->tag_end = page->tag ? strstr(page->tag, end_tag) : NULL;
    if (!page->html || !page->charset || !page->link_end || !page->tag_end ||
        page->html > page->charset || page->charset > page->link || page->link > page->tag)
        return false;
    page->html += strlen("<html");
    page->charset += strlen(charset);
    page->link_end++;
    page->tag_end += strlen(end_tag);
    return true;
}

static int single_file_load_page(struct single_file_page *page, struct strbuf *why)
{
    int error = single_file_load_asset(&page->text, page_name);
    if (!error)
        error = single_file_load_asset(&page->script, script_name);
    if (!error)
        error = single_file_load_asset(&page->style, style_name);
    if (!error && asset_find(later_name))
        error = single_file_load_asset(&page->later, later_name);
    if (error || !single_file_find_places(page)) {
        strbuf_add_string(why, "the web view that was built into this command is not whole");
        return error ? error : -EINVAL;
    }
    /* The replacements mean the same in strings and regular expressions of every kind, and end no
     * element. */
    single_file_replace_all(&page->script, "\r\n", "\n");
    single_file_replace_all(&page->script, "</script", "\\x3C/script");
    single_file_replace_all(&page->script, "<!--", "\\x3C!--");
    single_file_replace_all(&page->style, "\r\n", "\n");
    single_file_replace_all(&page->style, "</", "<\\/");
    return 0;
}

static void single_file_write_part(FILE *out, const char *from, const char *to)
{
    fwrite(from, 1, (size_t)(to - from), out);
}

/* Writes characters by number, so that no text ends the attribute. */
static void single_file_write_search(FILE *out, const char *search)
{
    fputs(" data-search=\"", out);
    for (const char *at = search; *at; at++)
        if ((unsigned char)*at >= 0x80 || (*at >= '0' && *at <= '9') ||
            ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z'))
            fputc(*at, out);
        else
            fprintf(out, "&#%d;", *at);
    fputc('"', out);
}

/* Writes the page up to the place of the data. `kind`: "file" or "viewer", for the script. */
static void single_file_write_head(FILE *out, const struct single_file_page *page, const char *kind,
                                   const char *search)
{
    struct strbuf policy = STRBUF_INIT;
    single_file_add_policy(&policy, &page->script, &page->later, &page->style);
    single_file_write_part(out, page->text.data, page->html);
    fprintf(out, " data-tidemark=\"%s\"", kind);
    if (search)
        single_file_write_search(out, search);
    single_file_write_part(out, page->html, page->charset);
    fputs(policy.data, out);
    single_file_write_part(out, page->charset, page->link);
    fprintf(out, "<style>%s</style>", page->style.data);
    single_file_write_part(out, page->link_end, page->tag);
    strbuf_release(&policy);
}

static void single_file_write_tail(FILE *out, const struct single_file_page *page)
{
    bool module = single_file_find_element(page->tag, "<script", "type=\"module\"") == page->tag;
    fputs(module ? "<script type=\"module\">" : "<script>", out);
    fwrite(page->script.data, 1, page->script.length, out);
    fputs("</script>", out);
    fputs(page->tag_end, out);
}

/* Writes the assets and what follows, unless there was an `error`; releases the page. */
static int single_file_end(FILE *out, struct single_file_page *page, bool viewer, int error)
{
    if (!error)
        error = single_file_write_assets(out, viewer);
    if (!error) {
        single_file_write_tail(out, page);
        error = fflush(out) || ferror(out) ? -(errno ? errno : EIO) : 0;
    }
    strbuf_release(&page->text);
    strbuf_release(&page->script);
    strbuf_release(&page->style);
    strbuf_release(&page->later);
    return error;
}

int html_write(FILE *out, const struct html_options *options, struct strbuf *why)
{
    struct single_file_page page = {
        .text = STRBUF_INIT, .script = STRBUF_INIT, .style = STRBUF_INIT, .later = STRBUF_INIT};
    int error = single_file_load_page(&page, why);
    if (!error) {
        single_file_write_head(out, &page, "file", options->search);
        error = single_file_write_list(out, options);
    }
    for (size_t i = 0; i < options->shown_count && !error; i++)
        error = single_file_write_profile(out, options, i, why);
    return single_file_end(out, &page, false, error);
}

int html_write_viewer(FILE *out, struct strbuf *why)
{
    struct single_file_page page = {
        .text = STRBUF_INIT, .script = STRBUF_INIT, .style = STRBUF_INIT, .later = STRBUF_INIT};
    if (!asset_find(viewer_module)) {
        strbuf_add_string(why,
                          "this tidemark was built without a viewer: that takes clang, lld and "
                          "wasi-libc (tools/setup.sh web) and npm's packages");
        return -ENOTSUP;
    }
    int error = single_file_load_page(&page, why);
    if (!error)
        single_file_write_head(out, &page, "viewer", NULL);
    return single_file_end(out, &page, true, error);
}
