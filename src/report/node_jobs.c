/* Prints the jobs in an answer of GET /jobs as a table. */
#include "report/node_jobs.h"

#include "analysis/phrase.h"
#include "api/jobs_client.h"
#include "base/format.h"
#include "report/table.h"

static const struct table_column columns[] = {
    { .title = "JOB" },
    { .title = "OTHER ID", .rank = 5 },
    { .title = "USER", .min = 5, .rank = 1 },
    { .title = "START", .rank = 2 },
    { .title = "TIME", .right = true },
    { .title = "CORES", .right = true, .rank = 3 },
    { .title = "MEMORY", .right = true, .rank = 4 },
    { .title = "FROM", .rank = 6 },
    { .title = "CGROUP", .min = 12, .rank = 7 },
};

static void add_row(struct table *table, const struct jobs_answer_job *job, uint64_t now_ns)
{
    table_add_text(table, PLAIN, job->id);
    table_add_text(table, PLAIN, job->other_id);
    table_add_text(table, PLAIN, job->user);
    table_add_text(table, PLAIN, job->start_ns ? format_time(job->start_ns).s : "");
    table_add_text(table, PLAIN, job->start_ns && now_ns > job->start_ns ? format_duration_short(now_ns - job->start_ns).s : "");
    table_add_text(table, PLAIN, job->cores_milli ? format_milli(job->cores_milli).s : "");
    table_add_text(table, PLAIN, job->memory_bytes ? format_bytes_short(job->memory_bytes).s : "");
    table_add_text(table, PLAIN, job->source);
    table_add_text(table, PLAIN, job->cgroup);
}

enum err node_jobs_print(struct bytes text, const struct terminal *terminal, struct buf *out)
{
    struct table table;
    struct jobs_answer jobs;
    enum err err = jobs_client_read(&jobs, text.data, text.size);
    uint64_t others = jobs.others;
    if (!err && !jobs.has_jobs)
        err = CORRUPT;
    table_init(&table, columns, sizeof columns / sizeof *columns, terminal->utf8);
    for (size_t i = 0; i < jobs.count; i++)
        add_row(&table, &jobs.jobs[i], jobs.time_ns);
    jobs_client_clear(&jobs);
    if (!err && table.count)
        err = table_print(&table, terminal, out);
    else if (!err)
        buf_add_text(out, others ? "None of your jobs run on this node.\n" : "No jobs on this node.\n");
    if (!err && others)
        buf_printf(out, "%s of other users not shown.\n", phrase_plural(others, "job", "jobs").s);
    table_clear(&table);
    return err;
}
