/* One request to an agent; errors are turned into a message with a suggested fix. */
#include "cli/command_agent.h"

#include "api/schema.h"
#include "net/json_read.h"

#include <string.h>

void command_answer_string(const struct buf *answer, const char *name, struct buf *text)
{
    struct json_read read;
    struct buf key;
    buf_init(&key, 256);
    json_read_init(&read, buf_text(answer), answer->size);
    json_read_object(&read);
    while (json_read_key(&read, &key))
        if (!strcmp(buf_text(&key), name))
            json_read_text(&read, text);
        else
            json_read_skip(&read);
    buf_clear(&key);
}

/* {"error": TEXT} */
static void read_error(const struct buf *answer, struct buf *error)
{
    struct buf text;
    buf_init(&text, 4096);
    command_answer_string(answer, API_ERROR, &text);
    buf_add_text(error, text.size ? buf_text(&text) : "the agent rejected the request");
    buf_clear(&text);
}

static void explain(const char *where, enum err err, struct buf *error)
{
    bool is_here = !where || !*where;
    if (err == ABSENT && is_here)
        buf_add_text(error, "no agent is running on this node; start one with 'sonde agent'");
    else if (err == ABSENT)
        buf_printf(error, "no agent or collector is reachable at %s; check that it runs and listens on the network", where);
    else if (err == AGAIN)
        buf_printf(error, "the agent%s%s did not respond within 10 s", is_here ? "" : " at ", is_here ? "" : where);
    else if (err == USAGE)
        buf_printf(error, "invalid host '%s' (expected HOST, HOST:PORT or the path of an agent's socket)", where);
    else if (err == CORRUPT)
        buf_printf(error, "the server at %s is not a sonde agent", is_here ? "the agent's socket" : where);
    else
        buf_printf(error, "cannot connect to the agent%s%s: %s", is_here ? "" : " at ", is_here ? "" : where, err_text(err));
}

enum err command_try_request(const char *where, const char *method, const char *path, struct bytes body,
                             struct buf *answer, struct buf *error)
{
    int status = 0;
    enum err err = agent_client_request(where ? where : "", method, path, body, answer, &status);
    if (err)
        explain(where, err, error);
    else if (status != 200)
        read_error(answer, error);
    return err ? err : status == 200 ? OK : status == 403 ? DENIED : USAGE;
}

int command_request(const struct command_call *call, const char *where, const char *method, const char *path,
                    struct bytes body, struct buf *answer)
{
    struct buf error;
    buf_init(&error, 8192);
    enum err err = command_try_request(where, method, path, body, answer, &error);
    int status = err ? command_fail(call, "%s", buf_text(&error)) : EXIT_GOOD;
    buf_clear(&error);
    return status;
}
