/* Job filters as SQL. Unused conditions are omitted, so that the others can use their index. */
#include "store/filter.h"

#include <limits.h>
#include <string.h>

#define RUNNING_NS "300000000000" /* a running job has data of the last minutes only, see report/list.c */

/* Largest or newest first, names from a to z; the second element is reversed. */
static const char *const orders[][2] = {
    [BY_START] = { "start_ns DESC NULLS LAST, id DESC", "start_ns NULLS FIRST, id" },
    [BY_DURATION] = { "end_ns - start_ns DESC NULLS LAST, id DESC", "end_ns - start_ns NULLS FIRST, id" },
    [BY_CPU] = { "coalesce(usertime, 0) + coalesce(systemtime, 0) DESC, id DESC",
                 "coalesce(usertime, 0) + coalesce(systemtime, 0), id" },
    [BY_MEMORY] = { "coalesce(rss_peak_bytes, rssmax * 1024) DESC NULLS LAST, id DESC",
                    "coalesce(rss_peak_bytes, rssmax * 1024) NULLS FIRST, id" },
    [BY_PROCESSES] = { "processes DESC NULLS LAST, id DESC", "processes NULLS FIRST, id" },
    [BY_NAME] = { "name NULLS FIRST, start_ns DESC NULLS LAST, id DESC",
                  "name DESC NULLS LAST, start_ns NULLS FIRST, id" },
    [BY_USER] = { "\"user\" NULLS FIRST, start_ns DESC NULLS LAST, id DESC",
                  "\"user\" DESC NULLS LAST, start_ns NULLS FIRST, id" },
};

static void add_tag(struct buf *sql, const char *tag)
{
    buf_add_text(sql, " AND id IN (SELECT job FROM job_tags WHERE key = ?");
    buf_add_text(sql, strchr(tag, ':') ? " AND value = ?)" : ")");
}

void filter_add_sql(struct buf *sql, const struct store_filter *filter)
{
    buf_add_text(sql, "SELECT id AS found FROM jobs WHERE 1 = 1");
    if (filter->user)
        buf_add_text(sql, " AND \"user\" = ?");
    if (filter->name)
        buf_add_text(sql, " AND glob(?, name)");
    if (filter->host)
        buf_add_text(sql, " AND id IN (SELECT job FROM runs WHERE host IN (SELECT id FROM hosts WHERE name = ?))");
    for (const char *const *tag = filter->tags; tag && *tag; tag++)
        add_tag(sql, *tag);
    if (filter->since_ns)
        buf_add_text(sql, " AND end_ns + CASE WHEN ended = 0 THEN " RUNNING_NS " ELSE 0 END >= ?");
    if (filter->until_ns)
        buf_add_text(sql, " AND start_ns <= ?");
    filter_add_order(sql, filter);
    /* Without a LIMIT, SQLite would ignore the order of a subquery. */
    buf_printf(sql, " LIMIT %lld", filter->limit ? (long long)filter->limit : LLONG_MAX);
}

void filter_add_order(struct buf *sql, const struct store_filter *filter)
{
    buf_printf(sql, " ORDER BY %s", orders[filter->order][filter->reverse]);
}

static void bind_text(struct statement *statement, int *at, const char *text)
{
    if (text)
        statement_bind_text(statement, (*at)++, bytes_of(text));
}

static void bind_tag(struct statement *statement, int *at, const char *tag)
{
    const char *colon = strchr(tag, ':');
    statement_bind_text(statement, (*at)++, (struct bytes){ tag, colon ? (size_t)(colon - tag) : strlen(tag) });
    bind_text(statement, at, colon ? colon + 1 : NULL);
}

/* In the order of filter_add_sql. */
void filter_bind(struct statement *statement, const struct store_filter *filter)
{
    int at = 1;
    bind_text(statement, &at, filter->user);
    bind_text(statement, &at, filter->name);
    bind_text(statement, &at, filter->host);
    for (const char *const *tag = filter->tags; tag && *tag; tag++)
        bind_tag(statement, &at, *tag);
    if (filter->since_ns)
        statement_bind_u64(statement, at++, filter->since_ns);
    if (filter->until_ns)
        statement_bind_u64(statement, at++, filter->until_ns);
}
