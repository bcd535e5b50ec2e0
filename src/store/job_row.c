/* Rows of jobs into structs. */
#include "store/job_row.h"

#include "store/words.h"

#include <stdlib.h>
#include <string.h>

enum job_column {
#define X(name) JOB_##name,
    JOB_TEXTS(X) JOB_NUMBERS(X)
#undef X
    JOB_summary,
};

static const char *text_at(sqlite3_stmt *statement, int at)
{
    const char *text = (const char *)sqlite3_column_text(statement, at);
    return text ? text : "";
}

static uint64_t number_at(sqlite3_stmt *statement, int at)
{
    return (uint64_t)sqlite3_column_int64(statement, at);
}

static void read_numbers(sqlite3_stmt *statement, struct store_job *job)
{
    job->uid = (uint32_t)number_at(statement, JOB_uid);
    job->start_ns = number_at(statement, JOB_start_ns);
    job->end_ns = number_at(statement, JOB_end_ns);
    job->ended = number_at(statement, JOB_ended);
    job->status_known = sqlite3_column_type(statement, JOB_exit_code) != SQLITE_NULL;
    job->exit_code = (uint8_t)number_at(statement, JOB_exit_code);
    job->exit_signal = (uint8_t)number_at(statement, JOB_exit_signal);
    job->host_count = number_at(statement, JOB_host_count);
    job->cores = number_at(statement, JOB_cores);
    job->memory_bytes = number_at(statement, JOB_memory_bytes);
    job->cores_allowed_milli = number_at(statement, JOB_cores_allowed_milli);
    job->memory_limit_bytes = number_at(statement, JOB_memory_limit_bytes);
    job->period_ns = number_at(statement, JOB_period_ns);
}

void job_row_read(sqlite3_stmt *statement, bool brief, struct store_job *job, struct buf *words)
{
    *job = (struct store_job){
        .job_id = text_at(statement, JOB_job_id), .name = text_at(statement, JOB_name),
        .user = text_at(statement, JOB_user), .cwd = text_at(statement, JOB_cwd),
        .tags = text_at(statement, JOB_tags), .hosts = text_at(statement, JOB_hosts),
    };
    buf_reset(words);
    words_decode(words, columns_read_bytes(statement, JOB_command));
    job->command = (struct bytes){ words->data, words->size };
    read_numbers(statement, job);
    int id = brief ? columns_read_summary_brief(statement, JOB_summary, &job->summary)
                   : columns_read_summary(statement, JOB_summary, &job->summary);
    job->row = sqlite3_column_int64(statement, id);
}

static void move_text(char **to, const char **text)
{
    size_t size = strlen(*text) + 1;
    *text = memcpy(*to, *text, size);
    *to += size;
}

enum err job_row_own(struct store_job *job)
{
    const char **texts[] = { &job->job_id, &job->name, &job->user, &job->cwd, &job->tags, &job->hosts };
    size_t count = sizeof texts / sizeof texts[0], size = job->command.size + 1;
    for (size_t i = 0; i < count; i++)
        size += strlen(*texts[i]) + 1;
    char *to = job->memory = malloc(size);
    if (!to)
        return NOMEM;
    for (size_t i = 0; i < count; i++)
        move_text(&to, texts[i]);
    if (job->command.size)
        memcpy(to, job->command.data, job->command.size);
    job->command.data = to;
    return OK;
}
