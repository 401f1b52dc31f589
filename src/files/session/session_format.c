/* The head of a row as it stands in a session file (session_format.h): of small processes and of
 * whole profiles alike. */
#include "session/session_format.h"

#include <endian.h>
#include <string.h>

struct session_row_head session_format_head(const struct session_row *row, size_t head_bytes,
                                            uint64_t layout)
{
    return (struct session_row_head){
        .head_bytes = htole32((uint32_t)head_bytes),
        .flags = htole32(row->lossy ? SESSION_ROW_LOSSY : 0),
        .pid = htole32((uint32_t)row->pid),
        .parent = htole32((uint32_t)row->parent),
        .end = htole32((uint32_t)row->end),
        .end_status = htole32((uint32_t)row->end_status),
        .program_bytes = htole32((uint32_t)strlen(row->program)),
        .command_bytes = htole32((uint32_t)strlen(row->command)),
        .layout = htole64(layout),
        .start_unix_ns = htole64(row->start_unix_ns),
        .duration_ns = htole64(figure_or(row->duration_ns, UINT64_MAX)),
        .peak_bytes = htole64(figure_or(row->peak_bytes, UINT64_MAX)),
        .resident_bytes = htole64(figure_or(row->resident_bytes, UINT64_MAX)),
        .alloc_count = htole64(figure_or(row->alloc_count, UINT64_MAX)),
        .alloc_bytes = htole64(figure_or(row->alloc_bytes, UINT64_MAX)),
    };
}
