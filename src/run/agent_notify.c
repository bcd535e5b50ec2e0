/* One message at the beginning, one at the end; agent/job_post.h has their form. The agent also sees by itself that this
 * process has gone. */
#include "run/agent_notify.h"

#include "net/http_client.h"
#include "base/clock.h"
#include "net/json.h"
#include "net/json_read.h"
#include "api/schema.h"
#include "api/syscalls_json.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BODY_MAX 2048
#define ANSWER_MAX 8192
#define SAMPLES_MAX (4u << 20)
#define PATIENCE_NS (2 * NS_PER_S) /* the command waits; the agent may have to load its programs into the kernel */
#define AWAKE_NS (100 * NS_PER_MS) /* it waits, or our own loop does, for an agent that has little to do */
#define SHORT_NS (500 * NS_PER_MS) /* our own loop waits, or the command has ended */

static char told[JOB_ID_MAX]; /* "": nobody was told */
static struct limits told_limits;
static uint64_t told_start_ns;
static bool told_with_time;
static pid_t told_pid; /* who has told, and is the parent of all that is counted */

static void tell(struct buf *body)
{
    if (!buf_err(body))
        ask_tell(API_PATH_JOB, (struct bytes){ buf_text(body), body->size });
    buf_clear(body);
}

static void begin_message(struct json *json, struct buf *body, const char *what, const char *id)
{
    buf_init(body, BODY_MAX);
    json_init_line(json, body);
    json_begin_object(json);
    json_key(json, what);
    json_begin_object(json);
    json_field_text(json, API_ID, id);
    json_field_text(json, API_SOURCE, "run");
}

static void end_message(struct json *json)
{
    json_end_object(json);
    json_end_object(json);
    json_end(json);
}

static void write_begin(struct buf *body, const struct limits *limits, uint64_t start_ns, const char *syscalls)
{
    struct json json;
    begin_message(&json, body, "begin", told);
    json_field_u64(&json, API_UID, getuid());
    json_field_u64(&json, API_PID, (uint64_t)getpid());
    json_field_u64(&json, API_START_NS, start_ns);
    if (limits->cores_milli)
        json_field_u64(&json, API_CORES_MILLI, limits->cores_milli);
    if (limits->cgroup_memory_bytes)
        json_field_u64(&json, API_MEMORY_BYTES, limits->cgroup_memory_bytes);
    if (syscalls)
        json_field_text(&json, API_SYSCALLS, syscalls);
    end_message(&json);
}

void agent_notify_begin(const struct job_id *job, const struct limits *limits, uint64_t start_ns)
{
    struct buf body;
    if (told[0] || !ask_is_there())
        return;
    memcpy(told, job->id, sizeof told);
    write_begin(&body, limits, start_ns, NULL);
    tell(&body);
}

/* "counts": true, or why not. */
static bool read_counts(const struct buf *answer, char *why, size_t why_size)
{
    struct json_read read;
    struct buf key, text;
    bool counts = false;
    buf_init(&key, 64);
    buf_init(&text, ANSWER_MAX);
    json_read_init(&read, buf_text(answer), answer->size);
    json_read_object(&read);
    while (json_read_key(&read, &key)) {
        const char *name = buf_text(&key);
        if (!strcmp(name, API_COUNTS))
            json_read_bool(&read, &counts);
        else if ((!strcmp(name, API_WHY) || !strcmp(name, API_ERROR)) && json_read_text(&read, &text))
            snprintf(why, why_size, "%s", buf_text(&text));
        else
            json_read_skip(&read);
    }
    buf_clear(&key);
    buf_clear(&text);
    return counts;
}

static enum err read_samples(const struct buf *answer, uint64_t *since_ns, struct batch *out)
{
    struct json_read read;
    struct buf key;
    bool found = false, counts = true;
    buf_init(&key, 64);
    json_read_init(&read, buf_text(answer), answer->size);
    json_read_object(&read);
    while (json_read_key(&read, &key))
        if (!strcmp(buf_text(&key), API_SAMPLES))
            found = syscalls_json_read(&read, clock_realtime_ns(), out);
        else if (!strcmp(buf_text(&key), API_COUNTS))
            json_read_bool(&read, &counts);
        else if (!strcmp(buf_text(&key), API_SINCE_NS))
            json_read_u64(&read, since_ns);
        else
            json_read_skip(&read);
    buf_clear(&key);
    return !found || !json_read_end(&read) ? CORRUPT : counts ? OK : DENIED;
}

static enum err ask_counts(uint64_t patience_ns, uint64_t *since_ns, struct batch *out)
{
    struct json json;
    struct buf body, answer;
    int status = 0;
    *since_ns = 0;
    begin_message(&json, &body, API_ASK, told);
    json_field_text(&json, API_SYSCALLS, "read");
    end_message(&json);
    buf_init(&answer, SAMPLES_MAX);
    enum err err = buf_err(&body);
    if (!err)
        err = ask_here("POST", API_PATH_JOB, (struct bytes){ buf_text(&body), body.size }, patience_ns, &answer, &status);
    if (!err)
        err = status == 200 ? read_samples(&answer, since_ns, out) : ABSENT;
    buf_clear(&body);
    buf_clear(&answer);
    return err;
}

/* Of what was told before, or shall be. why may say more. */
static enum err begin_counted(uint64_t patience_ns, char *why, size_t why_size)
{
    struct buf body, answer;
    int status;
    write_begin(&body, &told_limits, told_start_ns, told_with_time ? "time" : "count");
    buf_init(&answer, ANSWER_MAX);
    enum err err = buf_err(&body);
    if (!err)
        err = ask_here("POST", API_PATH_JOB, (struct bytes){ buf_text(&body), body.size }, patience_ns, &answer, &status);
    if (!err && !read_counts(&answer, why, why_size))
        err = DENIED;
    buf_clear(&body);
    buf_clear(&answer);
    return err;
}

/* One question of which nothing depends on the answer: an agent that was stopped takes it and says nothing. */
static enum err is_awake(void)
{
    struct batch none;
    uint64_t since_ns;
    batch_init(&none);
    enum err err = ask_counts(AWAKE_NS, &since_ns, &none);
    batch_clear(&none);
    return err == AGAIN ? AGAIN : OK;
}

enum err agent_notify_begin_counted(const struct job_id *job, const struct limits *limits, uint64_t start_ns, bool with_time, char *why,
                                size_t why_size)
{
    if (!ask_is_there())
        return ABSENT;
    memcpy(told, job->id, sizeof told);
    told_limits = *limits;
    told_start_ns = start_ns;
    told_with_time = with_time;
    told_pid = getpid();
    enum err err = is_awake();
    if (err)
        told[0] = '\0'; /* it may be told later, by who does not wait */
    else
        err = begin_counted(PATIENCE_NS, why, why_size);
    if (err && !why[0])
        snprintf(why, why_size, "%s", err == AGAIN ? "nothing: it does not answer" : err_text(err));
    return err;
}

enum err agent_notify_begin_again(void)
{
    char why[64];
    return getpid() == told_pid ? begin_counted(SHORT_NS, why, sizeof why) : DENIED;
}

enum err agent_notify_read_counts(bool is_last, uint64_t *since_ns, struct batch *out)
{
    return ask_counts(is_last ? SHORT_NS : AWAKE_NS, since_ns, out);
}

void agent_notify_end(void)
{
    struct json json;
    struct buf body;
    if (!told[0])
        return;
    begin_message(&json, &body, API_END, told);
    json_field_u64(&json, API_END_NS, clock_realtime_ns());
    end_message(&json);
    tell(&body);
    told[0] = '\0';
}
