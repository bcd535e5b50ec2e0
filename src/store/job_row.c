/* Reads rows of the table jobs. */
#include "store/job_row.h"

#include "store/shell_quote.h"

#include <stdlib.h>
#include <string.h>

enum job_column {
#define X(name) JOB_##name,
    JOB_STRINGS(X) JOB_NUMBERS(X)
#undef X
    JOB_summary,
};

static void read_numbers(struct statement *statement, struct store_job *job)
{
    job->uid = statement_is_known(statement, JOB_uid) ? (uint32_t)statement_u64(statement, JOB_uid) : UINT32_MAX;
    job->start_ns = statement_u64(statement, JOB_start_ns);
    job->end_ns = statement_u64(statement, JOB_end_ns);
    job->ended = statement_u64(statement, JOB_ended);
    job->status_known = statement_is_known(statement, JOB_exit_code);
    job->exit_code = (uint8_t)statement_u64(statement, JOB_exit_code);
    job->exit_signal = (uint8_t)statement_u64(statement, JOB_exit_signal);
    job->host_count = statement_u64(statement, JOB_host_count);
    job->cores = statement_u64(statement, JOB_cores);
    job->memory_bytes = statement_u64(statement, JOB_memory_bytes);
    job->cores_allowed_milli = statement_u64(statement, JOB_cores_allowed_milli);
    job->memory_limit_bytes = statement_u64(statement, JOB_memory_limit_bytes);
    job->period_ns = statement_u64(statement, JOB_period_ns);
}

enum err job_row_read(struct statement *statement, bool brief, struct store_job *job, struct buf *args)
{
    *job = (struct store_job){
        .job_id = statement_text(statement, JOB_job_id), .name = statement_text(statement, JOB_name),
        .user = statement_text(statement, JOB_user), .cwd = statement_text(statement, JOB_cwd),
        .tags = statement_text(statement, JOB_tags), .hosts = statement_text(statement, JOB_hosts),
    };
    buf_reset(args);
    shell_quote_decode(args, statement_bytes(statement, JOB_command));
    job->command = (struct bytes){ args->data, args->size };
    read_numbers(statement, job);
    int id = brief ? columns_read_summary_brief(statement, JOB_summary, &job->summary)
                   : columns_read_summary(statement, JOB_summary, &job->summary);
    job->row = statement_i64(statement, id);
    job->running = statement_i64(statement, id + 1);
    return buf_err(args);
}

static void move_string(char **to, const char **text)
{
    size_t size = strlen(*text) + 1;
    *text = memcpy(*to, *text, size);
    *to += size;
}

enum err job_row_own(struct store_job *job)
{
    const char **strings[] = { &job->job_id, &job->name, &job->user, &job->cwd, &job->tags, &job->hosts };
    size_t count = sizeof strings / sizeof strings[0], size = job->command.size + 1;
    for (size_t i = 0; i < count; i++)
        size += strlen(*strings[i]) + 1;
    char *to = job->memory = malloc(size);
    if (!to)
        return NOMEM;
    for (size_t i = 0; i < count; i++)
        move_string(&to, strings[i]);
    if (job->command.size)
        memcpy(to, job->command.data, job->command.size);
    job->command.data = to;
    return OK;
}
