/* From the agent's JSON to columns. */
#include "report/node_jobs.h"

#include "api/schema.h"
#include "net/json_read.h"
#include "base/text.h"
#include "report/table.h"

#include <string.h>

#define TEXT_ROOM 4096

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

enum { TEXT_ID, TEXT_OTHER_ID, TEXT_USER, TEXT_SOURCE, TEXT_CGROUP, TEXTS };
enum { NUMBER_START, NUMBER_CORES, NUMBER_MEMORY, NUMBERS };

struct row {
    struct buf texts[TEXTS];
    uint64_t numbers[NUMBERS];
};

static const char *const text_names[TEXTS] = { "id", "other_id", "user", "source", "cgroup" };
static const char *const number_names[NUMBERS] = { "start_ns", "cores_milli", "memory_bytes" };

static void read_field(struct json_read *read, const char *name, struct row *row)
{
    for (size_t i = 0; i < TEXTS; i++)
        if (!strcmp(name, text_names[i])) {
            json_read_text(read, &row->texts[i]);
            return;
        }
    for (size_t i = 0; i < NUMBERS; i++)
        if (!strcmp(name, number_names[i])) {
            json_read_u64(read, &row->numbers[i]);
            return;
        }
    json_read_skip(read);
}

static bool read_row(struct json_read *read, struct buf *key, struct row *row)
{
    for (size_t i = 0; i < TEXTS; i++)
        buf_reset(&row->texts[i]);
    memset(row->numbers, 0, sizeof row->numbers);
    if (!json_read_object(read))
        return false;
    while (json_read_key(read, key))
        read_field(read, buf_text(key), row);
    return !read->failed;
}

static void add_text(struct table *table, const struct buf *text)
{
    table_add(table, PLAIN, (struct bytes){ buf_text(text), text->size });
}

static void add_row(struct table *table, const struct row *row, uint64_t now_ns)
{
    uint64_t start_ns = row->numbers[NUMBER_START], cores = row->numbers[NUMBER_CORES];
    uint64_t memory_bytes = row->numbers[NUMBER_MEMORY];
    add_text(table, &row->texts[TEXT_ID]);
    add_text(table, &row->texts[TEXT_OTHER_ID]);
    add_text(table, &row->texts[TEXT_USER]);
    table_add_text(table, PLAIN, start_ns ? text_time(start_ns).s : "");
    table_add_text(table, PLAIN, start_ns && now_ns > start_ns ? text_duration_short(now_ns - start_ns).s : "");
    table_add_text(table, PLAIN, cores ? text_milli(cores).s : "");
    table_add_text(table, PLAIN, memory_bytes ? text_bytes_short(memory_bytes).s : "");
    add_text(table, &row->texts[TEXT_SOURCE]);
    add_text(table, &row->texts[TEXT_CGROUP]);
}

static bool read_jobs(struct json_read *read, struct buf *key, struct table *table, uint64_t now_ns)
{
    struct row row;
    for (size_t i = 0; i < TEXTS; i++)
        buf_init(&row.texts[i], TEXT_ROOM);
    json_read_array(read);
    while (json_read_more(read) && read_row(read, key, &row))
        add_row(table, &row, now_ns);
    for (size_t i = 0; i < TEXTS; i++)
        buf_clear(&row.texts[i]);
    return !read->failed;
}

static bool read_all(struct bytes text, struct table *table, uint64_t *others)
{
    struct json_read read;
    struct buf key;
    uint64_t now_ns = 0;
    bool found = false;
    buf_init(&key, TEXT_ROOM);
    json_read_init(&read, text.data, text.size);
    json_read_object(&read);
    while (json_read_key(&read, &key)) {
        if (!strcmp(buf_text(&key), API_TIME_NS))
            json_read_u64(&read, &now_ns);
        else if (!strcmp(buf_text(&key), API_OTHERS))
            json_read_u64(&read, others);
        else if (!strcmp(buf_text(&key), API_JOBS))
            found = read_jobs(&read, &key, table, now_ns);
        else
            json_read_skip(&read);
    }
    buf_clear(&key);
    return json_read_end(&read) && found;
}

enum err here_print(struct bytes text, const struct terminal *terminal, struct buf *out)
{
    struct table table;
    uint64_t others = 0;
    table_init(&table, columns, sizeof columns / sizeof *columns, terminal->utf8);
    enum err err = read_all(text, &table, &others) ? OK : CORRUPT;
    if (!err && table.count)
        err = table_print(&table, terminal, out);
    else if (!err)
        buf_add_text(out, others ? "None of your jobs is on this node.\n" : "No job is on this node.\n");
    if (!err && others)
        buf_printf(out, "%s of other users that you may not see.\n", text_count(others).s);
    table_clear(&table);
    return err;
}
