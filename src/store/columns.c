/* Binds values to parameters and reads them from columns. */
#include "store/columns.h"

#include "base/utf8.h"

#include <string.h>

int columns_bind_counters(struct statement *statement, int at, const struct counters *counters)
{
    for (int i = 0; i < COUNTERS_SIZE; i++, at++) {
        if (counters_has(counters, i))
            statement_bind_u64(statement, at, (uint64_t)counters->value[i]);
        else
            statement_bind_null(statement, at);
    }
    return at;
}

static void read_counter(struct statement *statement, int at, struct counters *counters, enum counter i)
{
    uint64_t value;
    if (statement_get_u64(statement, at, &value))
        counters_set(counters, i, value);
}

int columns_read_counters(struct statement *statement, int at, struct counters *counters)
{
    counters->known = 0;
    for (int i = 0; i < COUNTERS_SIZE; i++)
        read_counter(statement, at++, counters, i);
    return at;
}

int columns_bind_summary(struct statement *statement, int at, const struct summary *summary)
{
#define X(field) statement_bind_u64(statement, at++, (uint64_t)summary->field);
    SUMMARY_SUMS(X)
#undef X
#define X(field) statement_bind_u64(statement, at++, (uint64_t)summary->gaps.field);
    SUMMARY_GAPS(X)
#undef X
#define X(field) columns_bind_known(statement, at++, summary->field);
    SUMMARY_PEAKS(X)
#undef X
    at = columns_bind_counters(statement, at, &summary->sum);
    return columns_bind_counters(statement, at, &summary->total);
}

static int read_numbers(struct statement *statement, int at, struct summary *summary)
{
#define X(field) summary->field = statement_u64(statement, at++);
    SUMMARY_SUMS(X)
#undef X
#define X(field) summary->gaps.field = statement_u64(statement, at++);
    SUMMARY_GAPS(X)
#undef X
#define X(field) summary->field = statement_u64(statement, at++);
    SUMMARY_PEAKS(X)
#undef X
    return at;
}

int columns_read_summary(struct statement *statement, int at, struct summary *summary)
{
    at = read_numbers(statement, at, summary);
    at = columns_read_counters(statement, at, &summary->sum);
    return columns_read_counters(statement, at, &summary->total);
}

int columns_read_summary_brief(struct statement *statement, int at, struct summary *summary)
{
    summary->sum.known = summary->total.known = 0;
#define X(field) summary->field = statement_u64(statement, at++);
    BRIEF_NUMBERS(X)
#undef X
#define X(name) read_counter(statement, at++, &summary->sum, COUNTER_##name);
    BRIEF_COUNTERS(X)
#undef X
#define X(name) read_counter(statement, at++, &summary->total, COUNTER_##name);
    BRIEF_COUNTERS(X)
#undef X
    return at;
}

void columns_bind_known(struct statement *statement, int at, uint64_t value)
{
    if (value)
        statement_bind_u64(statement, at, (uint64_t)value);
    else
        statement_bind_null(statement, at);
}

void columns_bind_bytes(struct statement *statement, int at, struct bytes bytes)
{
    if (!bytes.size)
        statement_bind_null(statement, at);
    else if (!statement->sqlite || (!memchr(bytes.data, 0, bytes.size) && utf8_valid(bytes)))
        statement_bind_text(statement, at, bytes);
    else
        statement_bind_blob(statement, at, bytes);
}
