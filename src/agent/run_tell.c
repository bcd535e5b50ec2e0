/* One message at the beginning, one at the end; agent/job_post.h has their form. The agent also sees by itself that this
 * process has gone. */
#include "agent/run_tell.h"

#include "base/ask.h"
#include "base/clock.h"
#include "base/json.h"

#include <string.h>
#include <unistd.h>

#define BODY_MAX 2048

static char told[ID_MAX]; /* "": nobody was told */

static void tell(struct buf *body)
{
    if (!buf_err(body))
        ask_tell("/job", (struct bytes){ buf_text(body), body->size });
    buf_clear(body);
}

static void begin_message(struct json *json, struct buf *body, const char *what, const char *id)
{
    buf_init(body, BODY_MAX);
    json_init_line(json, body);
    json_begin_object(json);
    json_key(json, what);
    json_begin_object(json);
    json_field_text(json, "id", id);
    json_field_text(json, "source", "run");
}

static void end_message(struct json *json)
{
    json_end_object(json);
    json_end_object(json);
    json_end(json);
}

void run_tell_begin(const struct id *job, const struct limits *limits, uint64_t start_ns)
{
    struct json json;
    struct buf body;
    told[0] = '\0';
    if (!ask_is_there())
        return;
    memcpy(told, job->id, sizeof told);
    begin_message(&json, &body, "begin", told);
    json_field_u64(&json, "uid", getuid());
    json_field_u64(&json, "pid", (uint64_t)getpid());
    json_field_u64(&json, "start_ns", start_ns);
    if (limits->cores_milli)
        json_field_u64(&json, "cores_milli", limits->cores_milli);
    if (limits->cgroup_memory_bytes)
        json_field_u64(&json, "memory_bytes", limits->cgroup_memory_bytes);
    end_message(&json);
    tell(&body);
}

void run_tell_end(void)
{
    struct json json;
    struct buf body;
    if (!told[0])
        return;
    begin_message(&json, &body, "end", told);
    json_field_u64(&json, "end_ns", clock_realtime_ns());
    end_message(&json);
    tell(&body);
    told[0] = '\0';
}
