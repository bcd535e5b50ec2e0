/* Any bytes on tau's socket, in pieces of any size, and any query of /programs: they are accepted or refused, replies are
 * complete, and pages have valid lines. */
#include "model/view.h"
#include "api/program_json.h"
#include "api/program_page.h"
#include "compat/tau/alias.h"
#include "compat/tau/connection.h"

#include <stdlib.h>
#include <string.h>

int fuzz_tau(const uint8_t *data, size_t size);

static void answer(struct tau_connection *connection, struct registry *registry)
{
    static char out[TAU_REPLY_SIZE];
    size_t whole = 0, got;
    while ((got = tau_reply_fill(&connection->reply, registry, out, sizeof out)))
        whole += got;
    if (whole < 4 || connection->reply.type != TAU_DESC)
        abort();
}

/* A line begins with '#', or with a valid metric name. */
static void check_page(struct registry *registry, enum metrics_format format)
{
    struct buf out;
    buf_init(&out, 64u << 20);
    program_page_write(&out, registry, &(struct program_page){ format, VIEW_ALL, true });
    for (const char *line = buf_text(&out); *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n');
        if (!end || end == line || !strchr("#_:abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *line))
            abort();
        if (*line != '#' && (!memchr(line, '{', (size_t)(end - line)) || !memchr(line, '}', (size_t)(end - line))))
            abort();
    }
    buf_clear(&out);
}

static void feed(struct tau_connection *connection, struct tau_endpoint *endpoint, const uint8_t *data, size_t size)
{
    size_t at = 0, used;
    char *block = aligned_alloc(16, (size + 16) / 16 * 16);
    while (block && at < size) {
        size_t piece = size - at; /* unused bytes are passed again with more after them, as from a socket */
        memcpy(block, data + at, piece);
        if (tau_connection_receive(connection, endpoint, (struct bytes){ block, piece }, &used))
            break;
        if (connection->reply.type != TAU_DESC)
            answer(connection, endpoint->registry);
        else if (!used)
            break;
        at += used;
    }
    free(block);
}

int fuzz_tau(const uint8_t *data, size_t size)
{
    struct program_jobs jobs = { .root = "/nonexistent" };
    struct registry *registry;
    struct tau_connection connection;
    struct buf out;
    struct registry_settings settings = { .host = "n", .metrics_max = 64, .is_by_user = true, .aliases = tau_alias_list };
    if (registry_open(&registry, &settings))
        return 0;
    struct tau_endpoint endpoint = { registry, &jobs };
    buf_init(&out, 64u << 20);
    if (tau_connection_open(&connection, &endpoint, 0, 1000) == OK) {
        feed(&connection, &endpoint, data, size);
        check_page(registry, METRICS_TEXT);
        tau_connection_close(&connection, &endpoint);
    }
    check_page(registry, METRICS_OPEN);
    program_json_write(&out, registry, (struct bytes){ (const char *)data, size < 4000 ? size : 4000 }, VIEW_ALL);
    buf_clear(&out);
    if (registry->stats.connections)
        abort();
    registry_close(&registry);
    return 0;
}
