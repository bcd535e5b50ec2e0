/* Values into parameters, and columns into values. */
#include "store/columns.h"

#include "base/utf8.h"

#include <string.h>

int columns_bind_counters(sqlite3_stmt *statement, int at, const struct counters *counters)
{
    for (int i = 0; i < COUNTERS_SIZE; i++, at++) {
        if (counters_has(counters, i))
            sqlite3_bind_int64(statement, at, (sqlite3_int64)counters->value[i]);
        else
            sqlite3_bind_null(statement, at);
    }
    return at;
}

static void read_counter(sqlite3_stmt *statement, int at, struct counters *counters, enum counter i)
{
    sqlite3_value *value = sqlite3_column_value(statement, at);
    if (sqlite3_value_type(value) != SQLITE_NULL)
        counters_set(counters, i, (uint64_t)sqlite3_value_int64(value));
}

int columns_read_counters(sqlite3_stmt *statement, int at, struct counters *counters)
{
    counters->known = 0;
    for (int i = 0; i < COUNTERS_SIZE; i++)
        read_counter(statement, at++, counters, i);
    return at;
}

int columns_bind_summary(sqlite3_stmt *statement, int at, const struct summary *summary)
{
#define X(field) sqlite3_bind_int64(statement, at++, (sqlite3_int64)summary->field);
    SUMMARY_SUMS(X)
#undef X
#define X(field) sqlite3_bind_int64(statement, at++, (sqlite3_int64)summary->gaps.field);
    SUMMARY_GAPS(X)
#undef X
#define X(field) columns_bind_known(statement, at++, summary->field);
    SUMMARY_PEAKS(X)
#undef X
    at = columns_bind_counters(statement, at, &summary->sum);
    return columns_bind_counters(statement, at, &summary->total);
}

static int read_numbers(sqlite3_stmt *statement, int at, struct summary *summary)
{
#define X(field) summary->field = (uint64_t)sqlite3_column_int64(statement, at++);
    SUMMARY_SUMS(X)
#undef X
#define X(field) summary->gaps.field = (uint64_t)sqlite3_column_int64(statement, at++);
    SUMMARY_GAPS(X)
#undef X
#define X(field) summary->field = (uint64_t)sqlite3_column_int64(statement, at++);
    SUMMARY_PEAKS(X)
#undef X
    return at;
}

int columns_read_summary(sqlite3_stmt *statement, int at, struct summary *summary)
{
    at = read_numbers(statement, at, summary);
    at = columns_read_counters(statement, at, &summary->sum);
    return columns_read_counters(statement, at, &summary->total);
}

int columns_read_summary_brief(sqlite3_stmt *statement, int at, struct summary *summary)
{
    summary->sum.known = summary->total.known = 0;
#define X(field) summary->field = (uint64_t)sqlite3_column_int64(statement, at++);
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

void columns_bind_known(sqlite3_stmt *statement, int at, uint64_t value)
{
    if (value)
        sqlite3_bind_int64(statement, at, (sqlite3_int64)value);
    else
        sqlite3_bind_null(statement, at);
}

void columns_bind_bytes(sqlite3_stmt *statement, int at, struct bytes bytes)
{
    if (!bytes.size)
        sqlite3_bind_null(statement, at);
    else if (!memchr(bytes.data, 0, bytes.size) && utf8_valid(bytes))
        sqlite3_bind_text64(statement, at, bytes.data, bytes.size, SQLITE_STATIC, SQLITE_UTF8);
    else
        sqlite3_bind_blob64(statement, at, bytes.data, bytes.size, SQLITE_STATIC);
}

struct bytes columns_read_bytes(sqlite3_stmt *statement, int at)
{
    const char *data = sqlite3_column_blob(statement, at);
    return (struct bytes){ data, data ? (size_t)sqlite3_column_bytes(statement, at) : 0 };
}
