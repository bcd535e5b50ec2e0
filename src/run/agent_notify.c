/* One message when the run starts, one when it ends; agent/job_post.h describes them. The agent also notices by
 * itself when this process is gone. */
#include "run/agent_notify.h"

#include "api/agent_client.h"
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
#define BEGIN_TIMEOUT_NS (2 * NS_PER_S) /* the command waits for it; the agent may have to load its eBPF programs */
#define QUICK_TIMEOUT_NS (100 * NS_PER_MS) /* the command or our own loop waits for it; the agent has little to do */
#define SHORT_TIMEOUT_NS (500 * NS_PER_MS) /* our own loop waits for it, or the command has ended */

static char notified_job[JOB_ID_MAX]; /* "": no agent was notified */
static struct limits notified_limits;
static uint64_t notified_start_ns;
static bool notified_with_time;
static pid_t notified_pid; /* the process that sent the notification, parent of everything that is counted */

static void post(struct buf *body)
{
    if (!buf_err(body))
        agent_client_post_nowait(API_PATH_JOB, (struct bytes){ buf_text(body), body->size });
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
    begin_message(&json, body, "begin", notified_job);
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
    if (notified_job[0] || !agent_client_exists())
        return;
    memcpy(notified_job, job->id, sizeof notified_job);
    write_begin(&body, limits, start_ns, NULL);
    post(&body);
}

/* Reads "counts", or the reason why the agent does not count. */
static bool read_counts(const struct buf *answer, char *error, size_t error_size)
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
        else if ((!strcmp(name, API_ERROR_REASON) || !strcmp(name, API_ERROR)) && json_read_text(&read, &text))
            snprintf(error, error_size, "%s", buf_text(&text));
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

static enum err request_counts(uint64_t timeout_ns, uint64_t *since_ns, struct batch *out)
{
    struct json json;
    struct buf body, answer;
    int status = 0;
    *since_ns = 0;
    begin_message(&json, &body, API_ASK, notified_job);
    json_field_text(&json, API_SYSCALLS, "read");
    end_message(&json);
    buf_init(&answer, SAMPLES_MAX);
    enum err err = buf_err(&body);
    if (!err)
        err = agent_client_request_local("POST", API_PATH_JOB, (struct bytes){ buf_text(&body), body.size }, timeout_ns,
                                         &answer, &status);
    if (!err)
        err = status == 200 ? read_samples(&answer, since_ns, out) : ABSENT;
    buf_clear(&body);
    buf_clear(&answer);
    return err;
}

/* Sends the start of the run, possibly again, and asks the agent to count. On failure, error may have details. */
static enum err begin_counted(uint64_t timeout_ns, char *error, size_t error_size)
{
    struct buf body, answer;
    int status;
    write_begin(&body, &notified_limits, notified_start_ns, notified_with_time ? "time" : "count");
    buf_init(&answer, ANSWER_MAX);
    enum err err = buf_err(&body);
    if (!err)
        err = agent_client_request_local("POST", API_PATH_JOB, (struct bytes){ buf_text(&body), body.size }, timeout_ns,
                                         &answer, &status);
    if (!err && !read_counts(&answer, error, error_size))
        err = DENIED;
    buf_clear(&body);
    buf_clear(&answer);
    return err;
}

/* A request whose answer does not matter: an agent that is stopped (SIGSTOP) accepts it, but does not answer. */
static enum err check_responds(void)
{
    struct batch none;
    uint64_t since_ns;
    batch_init(&none);
    enum err err = request_counts(QUICK_TIMEOUT_NS, &since_ns, &none);
    batch_clear(&none);
    return err == AGAIN ? AGAIN : OK;
}

enum err agent_notify_begin_counted(const struct job_id *job, const struct limits *limits, uint64_t start_ns,
                                    bool with_time, char *error,
                                size_t error_size)
{
    if (!agent_client_exists())
        return ABSENT;
    memcpy(notified_job, job->id, sizeof notified_job);
    notified_limits = *limits;
    notified_start_ns = start_ns;
    notified_with_time = with_time;
    notified_pid = getpid();
    enum err err = check_responds();
    if (err)
        notified_job[0] = '\0'; /* agent_notify_begin may notify it later without waiting */
    else
        err = begin_counted(BEGIN_TIMEOUT_NS, error, error_size);
    if (err && !error[0])
        snprintf(error, error_size, "%s", err == AGAIN ? "it does not respond" : err_text(err));
    return err;
}

enum err agent_notify_begin_again(void)
{
    char error[64];
    return getpid() == notified_pid ? begin_counted(SHORT_TIMEOUT_NS, error, sizeof error) : DENIED;
}

enum err agent_notify_read_counts(bool is_last, uint64_t *since_ns, struct batch *out)
{
    return request_counts(is_last ? SHORT_TIMEOUT_NS : QUICK_TIMEOUT_NS, since_ns, out);
}

void agent_notify_end(void)
{
    struct json json;
    struct buf body;
    if (!notified_job[0])
        return;
    begin_message(&json, &body, API_END, notified_job);
    json_field_u64(&json, API_END_NS, clock_realtime_ns());
    end_message(&json);
    post(&body);
    notified_job[0] = '\0';
}
