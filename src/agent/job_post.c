/* Turns JSON requests from the agent's socket into jobs_begin and jobs_end. */
#include "agent/job_post.h"

#include "api/schema.h"
#include "api/syscalls_json.h"
#include "base/clock.h"
#include "jobs/job_id.h"
#include "net/json.h"
#include "net/json_read.h"
#include "proc/pid.h"
#include "proc/pid_namespace.h"
#include "samplers/jobs/syscalls.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX 4096
#define RUNS_PER_USER_MAX 256 /* that one user may declare */

enum { POST_ID, POST_OTHER_ID, POST_USER, POST_CGROUP, POST_SOURCE, POST_SYSCALLS, POST_STRINGS };

/* The decoded request. */
struct post {
    bool is_begin, is_end, is_ask;
    char strings[POST_STRINGS][TEXT_MAX];
    struct job job; /* its strings are those above */
    uint64_t pid_start_ns, is_declared;
};

static bool read_string(struct json_read *read, struct buf *value, char out[TEXT_MAX])
{
    if (!json_read_text(read, value) || value->size >= TEXT_MAX)
        return false;
    memcpy(out, buf_text(value), value->size + 1);
    return true;
}

static bool read_u32(struct json_read *read, uint32_t *out)
{
    uint64_t value;
    if (!json_read_u64(read, &value) || value >= UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

/* One field. Unknown ones, of a newer version, are skipped. */
static bool read_field(struct json_read *read, struct buf *key, struct buf *value, struct post *post)
{
    static const char *const names[POST_STRINGS] = {
        API_ID, API_OTHER_ID, API_USER, API_CGROUP, API_SOURCE, API_SYSCALLS,
    };
    const char *name = buf_text(key);
    struct job *job = &post->job;
    for (size_t i = 0; i < POST_STRINGS; i++)
        if (!strcmp(name, names[i]))
            return read_string(read, value, post->strings[i]);
    if (!strcmp(name, API_UID))
        return read_u32(read, &job->uid);
    if (!strcmp(name, API_PID))
        return read_u32(read, &job->pid);
    uint64_t *number = !strcmp(name, API_CORES_MILLI)    ? &job->cores_milli
                       : !strcmp(name, API_MEMORY_BYTES) ? &job->memory_bytes
                       : !strcmp(name, API_START_NS)     ? &job->start_ns
                       : !strcmp(name, API_END_NS)       ? &job->end_ns
                       : !strcmp(name, API_PID_START_NS) ? &post->pid_start_ns
                       : !strcmp(name, API_DECLARED)     ? &post->is_declared
                                                         : NULL;
    if (number)
        return json_read_u64(read, number);
    json_read_skip(read);
    return true;
}

static bool read_post(struct bytes body, struct post *post)
{
    struct json_read read;
    struct buf key, value;
    bool good = true;
    buf_init(&key, 64);
    buf_init(&value, TEXT_MAX);
    json_read_init(&read, body.data, body.size);
    json_read_object(&read);
    while (good && json_read_key(&read, &key)) {
        post->is_begin |= !strcmp(buf_text(&key), API_BEGIN);
        post->is_end |= !strcmp(buf_text(&key), API_END);
        post->is_ask |= !strcmp(buf_text(&key), API_ASK);
        good = json_read_object(&read);
        while (good && json_read_key(&read, &key))
            good = read_field(&read, &key, &value, post);
    }
    good = good && json_read_end(&read) && post->is_begin + post->is_end + post->is_ask == 1 && *post->strings[POST_ID];
    buf_clear(&key);
    buf_clear(&value);
    return good;
}

static size_t runs_of(const struct jobs *jobs, uint32_t uid)
{
    size_t at = 0, count = 0;
    for (const struct job *job; (job = jobs_next(jobs, &at));)
        count += job->uid == uid && !strcmp(job->source, "run");
    return count;
}

/* The id contains the pid of the requesting process, in its own namespace, and the time of its start. */
static bool is_id_of_requester(const struct job_requester *requester, const char *id, uint32_t sent_pid, uint64_t start_ns)
{
    return job_id_is_generated(id, sent_pid) && pid_namespace_is_own((pid_t)requester->pid, (pid_t)sent_pid)
        && job_id_is_of_time(id, start_ns);
}

/* A user may declare the process that sends the request, with an id that can be neither a batch system's nor that of
 * another run, also if that has ended: nobody can replace another user's job. */
static bool may_begin(const struct jobs *jobs, const struct job_requester *requester, uint32_t sent_pid, struct post *post)
{
    uint32_t owner;
    uint64_t start_ns, now_ns = clock_realtime_ns();
    struct job *job = &post->job;
    if (!requester->has_pid || strcmp(job->source, "run") != 0 || !job->pid || *job->cgroup || *job->other_id
        || pid_uid("", (pid_t)job->pid, &owner) || owner != requester->uid || pid_start_ns("", (pid_t)job->pid, &start_ns)
        || !is_id_of_requester(requester, job->id, sent_pid, start_ns)
        || runs_of(jobs, requester->uid) >= RUNS_PER_USER_MAX)
        return false;
    if (job->start_ns + NS_PER_S < start_ns || job->start_ns > now_ns)
        job->start_ns = start_ns;
    job->uid = requester->uid;
    post->strings[POST_USER][0] = '\0'; /* looked up by uid */
    return true;
}

/* Like jobs/declared.c: the realtime clock may have been corrected a little. */
static bool is_that_process(const struct post *post)
{
    uint64_t start_ns;
    if (!post->pid_start_ns)
        return true;
    if (pid_start_ns("", (pid_t)post->job.pid, &start_ns))
        return false;
    uint64_t apart_ns = start_ns > post->pid_start_ns ? start_ns - post->pid_start_ns : post->pid_start_ns - start_ns;
    return apart_ns < NS_PER_S;
}

/* The requester may be in another pid namespace. A run is declared by its own process. */
static enum err translate_pid(const struct job_requester *requester, struct job *job)
{
    pid_t pid = (pid_t)requester->pid;
    if (!requester->has_pid || !job->pid)
        return OK;
    enum err err = !pid ? GONE : !strcmp(job->source, "run") ? OK : pid_namespace_find(pid, (pid_t)job->pid, &pid);
    job->pid = err ? 0 : (uint32_t)pid;
    return err;
}

/* Files of older versions have only declared jobs, of these sources. */
static enum err restore(struct jobs *jobs, const struct job_requester *requester, const struct post *post)
{
    const struct job *job = &post->job;
    bool is_declared = post->is_declared || !strcmp(job->source, "told") || !strcmp(job->source, "run");
    return jobs_restore(jobs, job, &(struct jobs_saved){
        .is_declared = is_declared, .seen_ns = requester->saved_ns,
        .is_gone = requester->has_rebooted || (job->pid && !is_that_process(post)),
    });
}

static enum err begin(struct jobs *jobs, const struct job_requester *requester, struct post *post, bool *known)
{
    uint32_t sent_pid = post->job.pid;
    if (requester->saved_ns)
        return restore(jobs, requester, post);
    if (!requester->is_privileged && strcmp(post->job.source, "run") != 0)
        return DENIED; /* before translate_pid, which may read all of /proc */
    if (translate_pid(requester, &post->job))
        return GONE;
    if (!is_that_process(post))
        return ABSENT;
    if (!requester->is_privileged && !may_begin(jobs, requester, sent_pid, post))
        return DENIED;
    enum err err = jobs_begin(jobs, &post->job);
    *known = err == AGAIN;
    return *known ? OK : err;
}

/* sonde run ends only what it has declared: inside a job it got the response that the job is known. */
static enum err end(struct jobs *jobs, const struct job_requester *requester, const struct post *post)
{
    uint64_t end_ns = post->job.end_ns;
    const struct job *job = jobs_find(jobs, post->job.id);
    bool is_run = !strcmp(post->job.source, "run");
    if (!job || (is_run && strcmp(job->source, "run") != 0))
        return ABSENT;
    if (!requester->is_privileged && (!is_run || job->uid != requester->uid))
        return DENIED;
    if (!requester->is_privileged && (end_ns < job->start_ns || end_ns > clock_realtime_ns()))
        end_ns = 0; /* now */
    return jobs_end(jobs, post->job.id, end_ns);
}

/* False: invalid value. */
static bool parse_syscalls(const struct post *post, enum job_syscalls *mode)
{
    static const char *const names[] = {
        [JOB_SYSCALLS_NONE] = "no", [JOB_SYSCALLS_COUNT] = "count", [JOB_SYSCALLS_TIME] = "time",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], post->strings[POST_SYSCALLS])) {
            *mode = (enum job_syscalls)i;
            return true;
        }
    return false;
}

static bool is_reading(const struct post *post)
{
    return post->is_ask && !strcmp(post->strings[POST_SYSCALLS], "read");
}

/* The job must exist and belong to the requester. Reading changes nothing. */
static enum err ask(struct jobs *jobs, const struct job_requester *requester, const struct post *post)
{
    const struct job *job = jobs_find(jobs, post->job.id);
    enum job_syscalls mode;
    if (!job)
        return ABSENT;
    if (!requester->is_privileged && job->uid != requester->uid)
        return DENIED;
    return parse_syscalls(post, &mode) ? jobs_request_syscalls(jobs, post->job.id, mode) : OK;
}

/* Checked before anything changes. */
static bool is_valid(const struct post *post)
{
    enum job_syscalls mode;
    bool has_wish = *post->strings[POST_SYSCALLS] != '\0';
    return has_wish ? parse_syscalls(post, &mode) || is_reading(post) : !post->is_ask;
}

static const char *reason(enum err err)
{
    switch (err) {
    case ABSENT: return "no such job is running on this node";
    case GONE: return "no such process: it has exited, or its pid namespace is not visible to the agent";
    case DENIED: return "only root and the agent's own user may declare jobs, and request system calls of other users' jobs";
    case FULL: return "too many declared jobs are running";
    case USAGE: return "invalid job (expected an id, strings without control characters, a cgroup that starts with '/', and "
                       "syscalls no, count or time)";
    default: return err_text(err);
    }
}

static void add_counts(struct json *json, const struct post *post)
{
    const char *error;
    bool counts = !job_syscalls_state(post->job.id, &error);
    json_field_bool(json, API_COUNTS, counts);
    if (!counts && *error)
        json_field_text(json, API_ERROR_REASON, error);
}

static void add_samples(struct json *json, const char *id)
{
    struct batch batch;
    uint64_t since_ns;
    batch_init(&batch);
    if (job_syscalls_read(id, &since_ns, &batch) == OK)
        json_field_u64(json, API_SINCE_NS, since_ns);
    json_key(json, API_SAMPLES);
    syscalls_json_write(json, &batch);
    batch_clear(&batch);
}

static void write_answer(struct buf *answer, enum err err, bool known, const struct post *post)
{
    struct json json;
    json_init_line(&json, answer);
    json_begin_object(&json);
    json_field_bool(&json, API_OK, !err);
    if (err)
        json_field_text(&json, API_ERROR, reason(err));
    else
        json_field_bool(&json, API_KNOWN, known);
    if (!err && *post->strings[POST_SYSCALLS])
        add_counts(&json, post);
    if (!err && is_reading(post))
        add_samples(&json, post->job.id);
    json_end_object(&json);
    json_end(&json);
}

enum err job_post(struct jobs *jobs, const struct job_requester *requester, struct bytes body, struct buf *answer)
{
    struct post post = { .job = { .uid = UINT32_MAX } };
    bool known = false;
    enum err err = read_post(body, &post) && is_valid(&post) ? OK : USAGE;
    post.job.id = post.strings[POST_ID];
    post.job.other_id = post.strings[POST_OTHER_ID];
    post.job.user = post.strings[POST_USER];
    post.job.cgroup = post.strings[POST_CGROUP];
    post.job.source = post.strings[POST_SOURCE];
    if (!err && !jobs)
        err = ABSENT;
    if (!err)
        err = post.is_begin ? begin(jobs, requester, &post, &known)
              : post.is_end ? end(jobs, requester, &post) : OK;
    if (!err && (post.is_ask || (post.is_begin && *post.strings[POST_SYSCALLS])))
        err = ask(jobs, requester, &post);
    write_answer(answer, err, known, &post);
    return err;
}
