/* Filters of jobs: conditions that are not asked for are not in the SQL, so that the others find their index. */
#include "store/filter.h"

#include <string.h>

/* Largest or newest first, names from a to z; the second is for reverse. */
static const char *const orders[][2] = {
    [BY_START] = { "start_ns DESC, id DESC", "start_ns, id" },
    [BY_DURATION] = { "end_ns - start_ns DESC, id DESC", "end_ns - start_ns, id" },
    [BY_CPU] = { "coalesce(usertime, 0) + coalesce(systemtime, 0) DESC, id DESC",
                 "coalesce(usertime, 0) + coalesce(systemtime, 0), id" },
    [BY_MEMORY] = { "coalesce(rss_peak_bytes, rssmax * 1024) DESC, id DESC",
                    "coalesce(rss_peak_bytes, rssmax * 1024), id" },
    [BY_PROCESSES] = { "processes DESC, id DESC", "processes, id" },
    [BY_NAME] = { "name, start_ns DESC, id DESC", "name DESC, start_ns, id" },
    [BY_USER] = { "user, start_ns DESC, id DESC", "user DESC, start_ns, id" },
};

static void add_tag(struct buf *sql, const char *tag)
{
    buf_add_text(sql, " AND id IN (SELECT job FROM job_tags WHERE key = ?");
    buf_add_text(sql, strchr(tag, ':') ? " AND value = ?)" : ")");
}

void filter_add_sql(struct buf *sql, const struct store_filter *filter)
{
    buf_add_text(sql, "SELECT id AS found FROM jobs WHERE 1");
    if (filter->user)
        buf_add_text(sql, " AND user = ?");
    if (filter->name)
        buf_add_text(sql, " AND name GLOB ?");
    if (filter->host)
        buf_add_text(sql, " AND id IN (SELECT job FROM runs WHERE host IN (SELECT id FROM hosts WHERE name = ?))");
    for (const char *const *tag = filter->tags; tag && *tag; tag++)
        add_tag(sql, *tag);
    if (filter->since_ns)
        buf_add_text(sql, " AND end_ns >= ?");
    if (filter->until_ns)
        buf_add_text(sql, " AND start_ns <= ?");
    buf_printf(sql, " ORDER BY %s LIMIT %lld", orders[filter->order][filter->reverse],
               filter->limit ? (long long)filter->limit : -1);
}

static void bind_text(sqlite3_stmt *statement, int *at, const char *text)
{
    if (text)
        sqlite3_bind_text(statement, (*at)++, text, -1, SQLITE_STATIC);
}

static void bind_tag(sqlite3_stmt *statement, int *at, const char *tag)
{
    const char *colon = strchr(tag, ':');
    sqlite3_bind_text(statement, (*at)++, tag, colon ? (int)(colon - tag) : -1, SQLITE_STATIC);
    bind_text(statement, at, colon ? colon + 1 : NULL);
}

/* In the order of filter_add_sql. */
void filter_bind(sqlite3_stmt *statement, const struct store_filter *filter)
{
    int at = 1;
    bind_text(statement, &at, filter->user);
    bind_text(statement, &at, filter->name);
    bind_text(statement, &at, filter->host);
    for (const char *const *tag = filter->tags; tag && *tag; tag++)
        bind_tag(statement, &at, *tag);
    if (filter->since_ns)
        sqlite3_bind_int64(statement, at++, (sqlite3_int64)filter->since_ns);
    if (filter->until_ns)
        sqlite3_bind_int64(statement, at++, (sqlite3_int64)filter->until_ns);
}
