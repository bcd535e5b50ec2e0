/* Any bytes on tau's socket, in pieces of any size, and any question on /programs: they are taken or refused, answers are whole,
 * and pages have a line for each thing that they say. */
#include "model/view.h"
#include "api/program_json.h"
#include "api/program_page.h"
#include "compat/tau/connection.h"

#include <stdlib.h>
#include <string.h>

int fuzz_tau(const uint8_t *data, size_t size);

static void answer(struct tau_connection *connection, struct program_table *table)
{
    static char out[TAU_REPLY_ROOM];
    size_t whole = 0, got;
    while ((got = tau_reply_fill(&connection->reply, table, out, sizeof out)))
        whole += got;
    if (whole < 4 || connection->reply.type != TAU_DESC)
        abort();
}

/* A line begins with '#', or is a name that Prometheus knows, up to its value. */
static void check_page(struct program_table *table, enum metrics_format format)
{
    struct buf out;
    buf_init(&out, 64u << 20);
    program_page_write(&out, table, &(struct program_page){ format, VIEW_ALL, true });
    for (const char *line = buf_text(&out); *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n');
        if (!end || end == line || !strchr("#_:abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *line))
            abort();
        if (*line != '#' && (!memchr(line, '{', (size_t)(end - line)) || !memchr(line, '}', (size_t)(end - line))))
            abort();
    }
    buf_clear(&out);
}

static void speak(struct tau_connection *connection, struct tau_gateway *gateway, const uint8_t *data, size_t size)
{
    size_t at = 0, used;
    char *block = aligned_alloc(16, (size + 16) / 16 * 16);
    while (block && at < size) {
        size_t piece = size - at; /* what was not taken comes again with more behind it, as from a socket */
        memcpy(block, data + at, piece);
        if (tau_connection_take(connection, gateway, (struct bytes){ block, piece }, &used))
            break;
        if (connection->reply.type != TAU_DESC)
            answer(connection, gateway->table);
        else if (!used)
            break;
        at += used;
    }
    free(block);
}

int fuzz_tau(const uint8_t *data, size_t size)
{
    struct program_jobs jobs = { .root = "/nonexistent" };
    struct program_table *table;
    struct tau_connection connection;
    struct buf out;
    if (program_table_open(&table, &(struct program_table_settings){ .host = "n", .metrics_max = 64, .by_user = true }))
        return 0;
    struct tau_gateway gateway = { table, &jobs };
    buf_init(&out, 64u << 20);
    if (tau_connection_open(&connection, &gateway, 0, 1000) == OK) {
        speak(&connection, &gateway, data, size);
        check_page(table, METRICS_TEXT);
        tau_connection_close(&connection, &gateway);
    }
    check_page(table, METRICS_OPEN);
    program_json_write(&out, table, (struct bytes){ (const char *)data, size < 4000 ? size : 4000 }, VIEW_ALL);
    buf_clear(&out);
    if (table->figures.connections)
        abort();
    program_table_close(&table);
    return 0;
}
