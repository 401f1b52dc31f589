/* Replaces the texts of a job's summary (job_redact.h): hosts, files, notes and names of
 * functions. Equal texts get equal replacements, so ranks of one node stay together. */
#include "job/job_redact.h"

#include <stdlib.h>

/* Names of files and notes may have anything in them. */
static void job_redact_rank(struct job_rank *rank, const struct redact_texts *texts)
{
    redact_text_hash(texts, REDACT_PLACES, "node_", &rank->node);
    redact_text_hash(texts, REDACT_PLACES, "", &rank->boot);
    redact_text_hash(texts, REDACT_PLACES, "file_", &rank->file);
    redact_text_hash(texts, REDACT_PLACES, "note_", &rank->note);
}

/* What an owner without a call path is called. Ours and the kernel's are the same everywhere. */
static void job_redact_owner(struct job_entry *entry, const struct redact_texts *texts)
{
    int kind = ((int)entry->kind - JOB_OWNER) / 2;
    if (!*entry->name)
        return;
    if (kind == PROFILE_OWNER_FILE || kind == PROFILE_OWNER_MAPPING)
        redact_text_hash(texts, REDACT_PLACES, "file_", &entry->name);
    else if (kind == PROFILE_OWNER_GLOBALS)
        redact_text_hash(texts, REDACT_NAMES, "variable_", &entry->name);
    else if (kind == PROFILE_OWNER_STACK)
        redact_text_hash(texts, REDACT_NAMES, "thread_", &entry->name);
}

static void job_redact_entry(struct job_entry *entry, const struct redact_texts *texts)
{
    if (entry->kind >= JOB_OWNER && (entry->kind - JOB_OWNER) % 2 == 0)
        job_redact_owner(entry, texts);
    else
        redact_text_hash(texts, REDACT_NAMES, "function_", &entry->name);
    redact_text_hash(texts, REDACT_NAMES, "module_", &entry->module);
    if (entry->through && *entry->through)
        redact_text_hash(texts, REDACT_NAMES, "function_", &entry->through);
}

size_t job_redact(struct job_summary *summary, const struct redact_texts *texts)
{
    for (size_t i = 0; i < summary->rank_count; i++)
        job_redact_rank(&summary->ranks[i], texts);
    for (size_t i = 0; i < summary->entry_count; i++)
        job_redact_entry(&summary->entries[i], texts);
    redact_text_hash(texts, REDACT_NAMES, "program_", &summary->program);
    return redact_text_command(texts, &summary->command);
}
