/* One request to an agent; what went wrong becomes a sentence with a remedy. */
#include "cli/command_agent.h"

#include "net/json_read.h"

#include <string.h>

void command_answer_text(const struct buf *answer, const char *name, struct buf *text)
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
static void read_error(const struct buf *answer, struct buf *why)
{
    struct buf text;
    buf_init(&text, 4096);
    command_answer_text(answer, "error", &text);
    buf_add_text(why, text.size ? buf_text(&text) : "the agent did not understand");
    buf_clear(&text);
}

static void explain(const char *where, enum err err, struct buf *why)
{
    bool is_here = !where || !*where;
    if (err == ABSENT && is_here)
        buf_add_text(why, "no agent runs on this node. Start one with 'sonde agent'.");
    else if (err == ABSENT)
        buf_printf(why, "nobody answers at %s. Is an agent or a collector there, at an address that others reach?", where);
    else if (err == AGAIN)
        buf_printf(why, "the agent%s%s did not answer within 10 s", is_here ? "" : " at ", is_here ? "" : where);
    else if (err == USAGE)
        buf_printf(why, "'%s' is no host: say HOST, HOST:PORT or the path of an agent's socket", where);
    else if (err == CORRUPT)
        buf_printf(why, "what listens at %s is no agent", is_here ? "the agent's socket" : where);
    else
        buf_printf(why, "cannot talk to the agent%s%s: %s", is_here ? "" : " at ", is_here ? "" : where, err_text(err));
}

enum err command_ask_quietly(const char *where, const char *method, const char *path, struct bytes body,
                             struct buf *answer, struct buf *why)
{
    int status = 0;
    enum err err = ask(where ? where : "", method, path, body, answer, &status);
    if (err)
        explain(where, err, why);
    else if (status != 200)
        read_error(answer, why);
    return err ? err : status == 200 ? OK : status == 403 ? DENIED : USAGE;
}

int command_ask(const struct command_call *call, const char *where, const char *method, const char *path,
                struct bytes body, struct buf *answer)
{
    struct buf why;
    buf_init(&why, 8192);
    enum err err = command_ask_quietly(where, method, path, body, answer, &why);
    int status = err ? command_fail(call, "%s", buf_text(&why)) : EXIT_GOOD;
    buf_clear(&why);
    return status;
}
