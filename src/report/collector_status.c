/* Reads the JSON in one pass; each object becomes a short list of fields, which are formatted as a row of a table or a
 * line. */
#include "report/collector_status.h"

#include "api/schema.h"
#include "base/clock.h"
#include "base/format.h"
#include "net/json_read.h"
#include "report/page.h"
#include "report/table.h"

#include <stdio.h>
#include <string.h>

#define FIELDS_MAX 48
#define TEXT_MAX 256

struct status_field {
    char key[32], text[TEXT_MAX];
    double number; /* precise enough for display */
    bool is_number;
};

struct status_fields {
    struct status_field list[FIELDS_MAX];
    size_t count;
};

struct status_page {
    struct json_read json;
    struct buf key, text, *out;
    const struct terminal *terminal;
    struct status_fields top, totals, journal, upstream, kafka;
    struct buf stages, refused;
    struct table hosts, sinks;
    size_t host_count, silent_count, sink_count;
    uint64_t now_ns;
};

static const struct table_column host_columns[] = {
    { .title = "HOST", .min = 8 },
    { .title = "STATE" },
    { .title = "SAMPLE", .right = true },
    { .title = "LAG", .right = true },
    { .title = "RECORDS", .right = true, .rank = 4 },
    { .title = "BYTES", .right = true, .rank = 3 },
    { .title = "MISSING", .right = true, .rank = 2 },
    { .title = "LOST", .right = true, .rank = 2 },
    { .title = "NOTE", .min = 12, .rank = 1 },
};

static const struct table_column sink_columns[] = {
    { .title = "SINK", .min = 10 },
    { .title = "STATE" },
    { .title = "PENDING", .right = true },
    { .title = "AGE", .right = true },
    { .title = "SAMPLES", .right = true, .rank = 3 },
    { .title = "RATE", .right = true },
    { .title = "WRITE", .right = true, .rank = 4 },
    { .title = "FLUSH", .right = true, .rank = 4 },
    { .title = "FAILED", .right = true, .rank = 3 },
    { .title = "SUCCESS", .right = true, .rank = 2 },
    { .title = "ERROR", .min = 16, .rank = 1 },
};

static const struct status_field *find(const struct status_fields *fields, const char *key)
{
    for (size_t i = 0; i < fields->count; i++)
        if (strcmp(fields->list[i].key, key) == 0)
            return &fields->list[i];
    return NULL;
}

static const char *text_of(const struct status_fields *fields, const char *key)
{
    const struct status_field *field = find(fields, key);
    return field ? field->text : "";
}

static uint64_t number_of(const struct status_fields *fields, const char *key)
{
    const struct status_field *field = find(fields, key);
    return field && field->number > 0 ? (uint64_t)field->number : 0;
}

static bool is(const struct status_page *page, const char *key)
{
    return strcmp(buf_text(&page->key), key) == 0;
}

/* Reads a value that is neither object nor array. */
static void read_scalar(struct status_page *page, struct status_field *field)
{
    bool truth = false;
    switch (json_read_type(&page->json)) {
    case JSON_NUMBER:
        json_read_f64(&page->json, &field->number);
        field->is_number = true;
        break;
    case JSON_TEXT:
        json_read_text(&page->json, &page->text);
        snprintf(field->text, sizeof field->text, "%s", buf_text(&page->text));
        break;
    case JSON_BOOL:
        json_read_bool(&page->json, &truth);
        field->number = truth;
        break;
    default: json_read_skip(&page->json);
    }
}

/* Adds the value of the last key as a field. */
static void read_field(struct status_page *page, struct status_fields *fields)
{
    if (fields->count == FIELDS_MAX) {
        json_read_skip(&page->json);
        return;
    }
    struct status_field *field = &fields->list[fields->count++];
    *field = (struct status_field){ 0 };
    snprintf(field->key, sizeof field->key, "%.31s", buf_text(&page->key));
    read_scalar(page, field);
}

/* Fields of nested objects ("gap") are added too. */
static void read_object(struct status_page *page, struct status_fields *fields)
{
    fields->count = 0;
    json_read_object(&page->json);
    while (json_read_key(&page->json, &page->key)) {
        if (json_read_type(&page->json) != JSON_OBJECT) {
            read_field(page, fields);
            continue;
        }
        json_read_object(&page->json);
        while (json_read_key(&page->json, &page->key))
            read_field(page, fields);
    }
}

/* How long ago, "-" if unknown. */
static struct format_text ago(const struct status_page *page, uint64_t time_ns)
{
    struct format_text text = { "-" };
    return !time_ns ? text : format_duration_short(page->now_ns > time_ns ? page->now_ns - time_ns : 0);
}

static void add_count(struct table *table, enum colour colour, uint64_t number)
{
    table_add_text(table, number ? colour : FAINT, format_count(number).s);
}

static void add_clock(struct buf *note, const struct status_fields *host)
{
    const struct status_field *ahead = find(host, API_CLOCK_AHEAD_NS);
    double off = ahead ? ahead->number : 0;
    if (off > 2e9 || off < -2e9)
        buf_printf(note, "clock %s %s", format_duration((uint64_t)(off < 0 ? -off : off)).s, off < 0 ? "behind" : "ahead");
}

static void add_note(struct status_page *page, const struct status_fields *host)
{
    struct buf note;
    buf_init(&note, 1024);
    add_clock(&note, host);
    if (*text_of(host, API_THROUGH))
        buf_printf(&note, "%sthrough %s", note.size ? ", " : "", text_of(host, API_THROUGH));
    else if (strcmp(text_of(host, API_ROLE), "collector") == 0)
        buf_printf(&note, "%scollector", note.size ? ", " : "");
    if (*text_of(host, API_REASON))
        buf_printf(&note, "%s%s%s%s", note.size ? ", " : "", text_of(host, API_REASON),
                   number_of(host, API_TO_NS) ? " until " : "",
                   number_of(host, API_TO_NS) ? format_time(number_of(host, API_TO_NS)).s : "");
    table_add_text(&page->hosts, PLAIN, buf_text(&note));
    buf_clear(&note);
}

static void read_host(struct status_page *page)
{
    struct status_fields host;
    read_object(page, &host);
    bool is_silent = strcmp(text_of(&host, API_STATE), API_STATE_UP) != 0;
    page->host_count++;
    page->silent_count += is_silent;
    table_add_text(&page->hosts, BOLD, text_of(&host, API_HOST));
    table_add_text(&page->hosts, is_silent ? RED : GREEN, text_of(&host, API_STATE));
    uint64_t received_ns = number_of(&host, API_RECEIVED_NS);
    table_add_text(&page->hosts, PLAIN, number_of(&host, API_SAMPLE_NS) ? ago(page, received_ns).s : "-");
    table_add_text(&page->hosts, PLAIN, find(&host, API_LAG_NS) && !is_silent
                   ? format_duration_short(number_of(&host, API_LAG_NS)).s : "-");
    add_count(&page->hosts, PLAIN, number_of(&host, API_RECORDS));
    table_add_text(&page->hosts, PLAIN, format_bytes_short(number_of(&host, API_BYTES)).s);
    add_count(&page->hosts, YELLOW, number_of(&host, API_MISSING));
    add_count(&page->hosts, RED, number_of(&host, API_LOST));
    add_note(page, &host);
}

static struct format_text mean(const struct status_fields *sink, const char *total, const char *count)
{
    uint64_t ns = number_of(sink, total), times = number_of(sink, count);
    struct format_text none = { "-" };
    return times ? format_duration_short(ns / times) : none;
}

/* Current samples per second. */
static void add_rate(struct status_page *page, const struct status_fields *sink)
{
    const struct status_field *rate = find(sink, API_SAMPLES_PER_S);
    char text[sizeof(struct format_text) + 2] = "-";
    if (rate)
        snprintf(text, sizeof text, "%s/s", rate->number < 10 ? format_tenths((uint64_t)(rate->number * 1000)).s
                                                              : format_count((uint64_t)(rate->number + 0.5)).s);
    table_add_text(&page->sinks, PLAIN, text);
}

/* For people; the JSON keeps its own words. */
static const char *sink_state(const char *state)
{
    return strcmp(state, API_STATE_WRITES) == 0  ? "writing"
           : strcmp(state, API_STATE_WAITS) == 0 ? "idle"
           : strcmp(state, API_STATE_FAILS) == 0 ? "failing" : state;
}

static void read_sink(struct status_page *page)
{
    struct status_fields sink;
    read_object(page, &sink);
    const char *state = text_of(&sink, API_STATE);
    page->sink_count++;
    table_add_text(&page->sinks, BOLD, text_of(&sink, API_SINK));
    table_add_text(&page->sinks, strcmp(state, API_STATE_WRITES) == 0 ? GREEN
                                 : strcmp(state, API_STATE_FAILS) == 0 ? RED : PLAIN, sink_state(state));
    table_add_text(&page->sinks, PLAIN, format_bytes_short(number_of(&sink, API_WAITING_BYTES)).s);
    table_add_text(&page->sinks, PLAIN, format_duration_short(number_of(&sink, API_WAITING_NS)).s);
    add_count(&page->sinks, PLAIN, number_of(&sink, API_SAMPLES));
    add_rate(page, &sink);
    table_add_text(&page->sinks, PLAIN, mean(&sink, API_WRITE_NS, API_BATCHES).s);
    table_add_text(&page->sinks, PLAIN, mean(&sink, API_FLUSH_NS, API_FLUSHES).s);
    add_count(&page->sinks, RED, number_of(&sink, API_FAILURES) + number_of(&sink, API_REFUSED));
    table_add_text(&page->sinks, PLAIN, ago(page, number_of(&sink, API_SUCCESS_NS)).s);
    table_add_text(&page->sinks, PLAIN, text_of(&sink, API_ERROR_REASON));
}

static void read_refused(struct status_page *page)
{
    struct status_fields refused;
    read_object(page, &refused);
    buf_printf(&page->refused, "  %s%s%s: %s\n", *text_of(&refused, API_HOST) ? text_of(&refused, API_HOST) : "unknown host",
               *text_of(&refused, API_ADDRESS) ? " at " : "", text_of(&refused, API_ADDRESS),
               text_of(&refused, API_ERROR_REASON));
}

static void read_list(struct status_page *page, void (*read)(struct status_page *))
{
    json_read_array(&page->json);
    while (json_read_more(&page->json))
        read(page);
}

/* "read 12 us, append 3 us, sync 4 ms": the average of each. */
static void read_stages(struct status_page *page)
{
    struct buf name;
    struct status_fields stage;
    buf_init(&name, 64);
    json_read_object(&page->json);
    while (json_read_key(&page->json, &page->key)) {
        buf_reset(&name);
        buf_add_text(&name, buf_text(&page->key));
        read_object(page, &stage);
        uint64_t count = number_of(&stage, API_COUNT), longest_ns = number_of(&stage, API_LONGEST_NS);
        buf_printf(&page->stages, "%s%s %s", page->stages.size ? ", " : "", buf_text(&name),
                   format_duration(count ? number_of(&stage, API_NS) / count : 0).s);
        if (longest_ns)
            buf_printf(&page->stages, " (max %s)", format_duration(longest_ns).s);
    }
    buf_clear(&name);
}

static void read_all(struct status_page *page)
{
    json_read_object(&page->json);
    while (json_read_key(&page->json, &page->key)) {
        if (is(page, API_HOSTS))
            read_list(page, read_host);
        else if (is(page, API_SINKS))
            read_list(page, read_sink);
        else if (is(page, API_REFUSED))
            read_list(page, read_refused);
        else if (is(page, API_STAGES))
            read_stages(page);
        else if (is(page, API_TOTALS))
            read_object(page, &page->totals);
        else if (is(page, API_JOURNAL))
            read_object(page, &page->journal);
        else if (is(page, API_KAFKA))
            read_object(page, &page->kafka);
        else if (is(page, API_UPSTREAM))
            read_object(page, &page->upstream);
        else
            read_field(page, &page->top);
        page->now_ns = number_of(&page->top, API_TIME_NS);
    }
}

static void print_head(struct status_page *page)
{
    struct page lines;
    page_init(&lines, page->out, page->terminal);
    uint64_t since_ns = number_of(&page->top, API_SINCE_NS);
    const struct status_fields *totals = &page->totals;
    terminal_add(page->out, page->terminal, BOLD, text_of(&page->top, API_HOST));
    buf_printf(page->out, "  running since %s (%s), %s\n", format_time(since_ns).s,
               format_duration(page->now_ns > since_ns ? page->now_ns - since_ns : 0).s,
               !number_of(&page->top, API_LISTENS) ? "from Kafka only"
               : number_of(&page->top, API_ENCRYPTED) ? "encrypted" : "NOT encrypted");
    page_printf(&lines, "received", "%s records, %s samples, %s values; %s duplicates",
                format_count(number_of(totals, API_RECORDS)).s, format_count(number_of(totals, API_SAMPLES)).s,
                format_count(number_of(totals, API_VALUES)).s, format_count(number_of(totals, API_DOUBLES)).s);
    page_printf(&lines, "network", "%s in %s messages, %s connection%s", format_bytes(number_of(totals, API_BYTES)).s,
                format_count(number_of(totals, API_MESSAGES)).s, format_count(number_of(totals, API_CONNECTIONS)).s,
                number_of(totals, API_CONNECTIONS) == 1 ? "" : "s");
    page_printf(&lines, "journal", "%s of %s in %s%s", format_bytes(number_of(&page->journal, API_BYTES)).s,
                format_bytes(number_of(&page->journal, API_BYTES_MAX)).s, text_of(&page->journal, API_DIR),
                number_of(&page->journal, API_IS_FULL) ? ": cannot be written, the disk is full" : "");
    if (number_of(&page->journal, API_LOST_RECORDS))
        page_printf(&lines, "", "%s records were dropped before every sink had them",
                    format_count(number_of(&page->journal, API_LOST_RECORDS)).s);
    page_printf(&lines, "stages", "%s", buf_text(&page->stages));
    if (page->kafka.count)
        page_printf(&lines, "kafka", "%s: %s in %s messages, %s partitions%s%s", text_of(&page->kafka, API_FROM),
                    format_bytes(number_of(&page->kafka, API_BYTES)).s, format_count(number_of(&page->kafka, API_MESSAGES)).s,
                    format_count(number_of(&page->kafka, API_PARTITIONS)).s, *text_of(&page->kafka, API_ERROR_REASON) ? "; " : "",
                    text_of(&page->kafka, API_ERROR_REASON));
    if (page->upstream.count)
        page_printf(&lines, "upstream", "%s: %s%s%s, %s pending", text_of(&page->upstream, API_COLLECTOR),
                    text_of(&page->upstream, API_STATE), *text_of(&page->upstream, API_ERROR_REASON) ? ", " : "",
                    text_of(&page->upstream, API_ERROR_REASON), format_bytes(number_of(&page->upstream, API_WAITING_BYTES)).s);
}

static enum err print(struct status_page *page)
{
    enum err err = OK;
    print_head(page);
    if (page->sink_count) {
        buf_add_char(page->out, '\n');
        err = table_print(&page->sinks, page->terminal, page->out);
    }
    buf_add_char(page->out, '\n');
    if (!err && page->host_count)
        err = table_print(&page->hosts, page->terminal, page->out);
    else if (!err)
        buf_add_text(page->out, "No host has sent anything yet.\n");
    if (page->silent_count)
        buf_printf(page->out, "\n%zu of %zu hosts are silent.\n", page->silent_count, page->host_count);
    if (page->refused.size)
        buf_printf(page->out, "\nRejected:\n%s", buf_text(&page->refused));
    return err;
}

enum err collector_status_print(struct buf *out, const struct terminal *terminal, const char *text, size_t size)
{
    struct status_page page = { .out = out, .terminal = terminal };
    buf_init(&page.key, 4096);
    buf_init(&page.text, 65536);
    buf_init(&page.stages, 4096);
    buf_init(&page.refused, 1u << 20);
    table_init(&page.hosts, host_columns, sizeof host_columns / sizeof *host_columns, terminal->utf8);
    table_init(&page.sinks, sink_columns, sizeof sink_columns / sizeof *sink_columns, terminal->utf8);
    json_read_init(&page.json, text, size);
    read_all(&page);
    enum err err = json_read_end(&page.json) ? print(&page) : CORRUPT;
    table_clear(&page.hosts);
    table_clear(&page.sinks);
    buf_clear(&page.key);
    buf_clear(&page.text);
    buf_clear(&page.stages);
    buf_clear(&page.refused);
    return err;
}
