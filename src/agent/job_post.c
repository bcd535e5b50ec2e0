/* JSON from the agent's socket becomes jobs_begin and jobs_end. */
#include "agent/job_post.h"

#include "base/clock.h"
#include "net/json.h"
#include "net/json_read.h"
#include "jobs/job_id.h"
#include "proc/pid.h"
#include "proc/pid_namespace.h"
#include "api/syscalls_json.h"
#include "samplers/jobs/syscalls.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX 4096
#define RUNS_PER_USER 256 /* that one user may tell of */

enum { POST_ID, POST_OTHER_ID, POST_USER, POST_CGROUP, POST_SOURCE, POST_SYSCALLS, POST_TEXTS };

/* What was sent. */
struct post {
    bool is_begin, is_end, is_ask;
    char texts[POST_TEXTS][TEXT_MAX];
    struct job job; /* its texts are those above */
    uint64_t pid_start_ns, is_kept;
};

static bool read_text(struct json_read *read, struct buf *word, char out[TEXT_MAX])
{
    if (!json_read_text(read, word) || word->size >= TEXT_MAX)
        return false;
    memcpy(out, buf_text(word), word->size + 1);
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

/* One field. What a newer sonde may send and we do not know is passed over. */
static bool read_field(struct json_read *read, struct buf *key, struct buf *word, struct post *post)
{
    static const char *const names[POST_TEXTS] = { "id", "other_id", "user", "cgroup", "source", "syscalls" };
    const char *name = buf_text(key);
    struct job *job = &post->job;
    for (size_t i = 0; i < POST_TEXTS; i++)
        if (!strcmp(name, names[i]))
            return read_text(read, word, post->texts[i]);
    if (!strcmp(name, "uid"))
        return read_u32(read, &job->uid);
    if (!strcmp(name, "pid"))
        return read_u32(read, &job->pid);
    uint64_t *number = !strcmp(name, "cores_milli")    ? &job->cores_milli
                       : !strcmp(name, "memory_bytes") ? &job->memory_bytes
                       : !strcmp(name, "start_ns")     ? &job->start_ns
                       : !strcmp(name, "end_ns")       ? &job->end_ns
                       : !strcmp(name, "pid_start_ns") ? &post->pid_start_ns
                       : !strcmp(name, "kept")         ? &post->is_kept
                                                       : NULL;
    if (number)
        return json_read_u64(read, number);
    json_read_skip(read);
    return true;
}

static bool read_post(struct bytes body, struct post *post)
{
    struct json_read read;
    struct buf key, word;
    bool good = true;
    buf_init(&key, 64);
    buf_init(&word, TEXT_MAX);
    json_read_init(&read, body.data, body.size);
    json_read_object(&read);
    while (good && json_read_key(&read, &key)) {
        post->is_begin |= !strcmp(buf_text(&key), "begin");
        post->is_end |= !strcmp(buf_text(&key), "end");
        post->is_ask |= !strcmp(buf_text(&key), "ask");
        good = json_read_object(&read);
        while (good && json_read_key(&read, &key))
            good = read_field(&read, &key, &word, post);
    }
    good = good && json_read_end(&read) && post->is_begin + post->is_end + post->is_ask == 1 && *post->texts[POST_ID];
    buf_clear(&key);
    buf_clear(&word);
    return good;
}

static size_t runs_of(const struct jobs *jobs, uint32_t uid)
{
    size_t at = 0, count = 0;
    for (const struct job *job; (job = jobs_next(jobs, &at));)
        count += job->uid == uid && !strcmp(job->source, "run");
    return count;
}

/* A user tells of a process of their own, under an id that is no batch system's, made of the number that it has where it lives:
 * nobody takes the place of another's job. */
static bool may_begin(const struct jobs *jobs, uint32_t uid, uint32_t told_pid, struct post *post)
{
    uint32_t owner;
    struct job *job = &post->job;
    if (strcmp(job->source, "run") != 0 || !job->pid || *job->cgroup || *job->other_id || !job_id_is_generated(job->id, told_pid)
        || pid_uid("", (pid_t)job->pid, &owner) || owner != uid || runs_of(jobs, uid) >= RUNS_PER_USER)
        return false;
    job->uid = uid;
    post->texts[POST_USER][0] = '\0'; /* the name is looked up */
    return true;
}

/* As jobs/declared.c compares them: the clock of the day may have been corrected a little. */
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

/* Who tells may live where processes have other numbers. A run is told by its own process. */
static enum err translate_pid(const struct job_teller *teller, struct job *job)
{
    pid_t pid = (pid_t)teller->pid;
    if (!teller->is_here || !job->pid)
        return OK;
    enum err err = !pid ? GONE : !strcmp(job->source, "run") ? OK : pid_namespace_find(pid, (pid_t)job->pid, &pid);
    job->pid = err ? 0 : (uint32_t)pid;
    return err;
}

static enum err begin(struct jobs *jobs, const struct job_teller *teller, struct post *post, bool *known)
{
    uint32_t told_pid = post->job.pid;
    if (translate_pid(teller, &post->job))
        return GONE;
    bool is_gone = post->is_kept && *post->job.cgroup && !jobs_has_cgroup(jobs, post->job.cgroup);
    if (!is_that_process(post) || is_gone)
        return ABSENT;
    if (!teller->is_master && !may_begin(jobs, teller->uid, told_pid, post))
        return DENIED;
    enum err err = jobs_begin(jobs, &post->job);
    *known = err == AGAIN;
    return *known ? OK : err;
}

/* sonde run ends what it has begun and nothing else: inside of a job it was told that the job is known. */
static enum err end(struct jobs *jobs, const struct job_teller *teller, const struct post *post)
{
    const struct job *job = jobs_find(jobs, post->job.id);
    bool is_run = !strcmp(post->job.source, "run");
    if (!job || (is_run && strcmp(job->source, "run") != 0))
        return ABSENT;
    if (!teller->is_master && (!is_run || job->uid != teller->uid))
        return DENIED;
    return jobs_end(jobs, post->job.id, post->job.end_ns);
}

/* False: there is no such wish. */
static bool read_wish(const struct post *post, enum job_syscalls *wish)
{
    static const char *const words[] = {
        [JOB_SYSCALLS_NONE] = "no", [JOB_SYSCALLS_COUNT] = "count", [JOB_SYSCALLS_TIME] = "time",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], post->texts[POST_SYSCALLS])) {
            *wish = (enum job_syscalls)i;
            return true;
        }
    return false;
}

static bool is_reading(const struct post *post)
{
    return post->is_ask && !strcmp(post->texts[POST_SYSCALLS], "read");
}

/* The job is there, and it is the asker's. To read changes nothing. */
static enum err ask(struct jobs *jobs, const struct job_teller *teller, const struct post *post)
{
    const struct job *job = jobs_find(jobs, post->job.id);
    enum job_syscalls wish;
    if (!job)
        return ABSENT;
    if (!teller->is_master && job->uid != teller->uid)
        return DENIED;
    return read_wish(post, &wish) ? jobs_request_syscalls(jobs, post->job.id, wish) : OK;
}

/* Before anything is done. */
static bool makes_sense(const struct post *post)
{
    enum job_syscalls wish;
    bool has_wish = *post->texts[POST_SYSCALLS] != '\0';
    return has_wish ? read_wish(post, &wish) || is_reading(post) : !post->is_ask;
}

static const char *reason(enum err err)
{
    switch (err) {
    case ABSENT: return "no such job runs here";
    case GONE: return "the agent does not see such a process: it ended, or is of a pid namespace that is not below the agent's";
    case DENIED: return "only root and the agent's own user may tell of jobs; others of their own sonde run, and ask for "
                        "what is theirs";
    case FULL: return "too many jobs were told and have not ended";
    case USAGE: return "not a job: an id is needed, texts without control characters, a cgroup that begins with '/', "
                       "syscalls that are no, count or time";
    default: return err_text(err);
    }
}

static void add_counts(struct json *json, const struct post *post)
{
    const char *why;
    bool counts = !job_syscalls_state(post->job.id, &why);
    json_field_bool(json, "counts", counts);
    if (!counts && *why)
        json_field_text(json, "why", why);
}

static void add_samples(struct json *json, const char *id)
{
    struct batch batch;
    uint64_t since_ns;
    batch_init(&batch);
    if (job_syscalls_read(id, &since_ns, &batch) == OK)
        json_field_u64(json, "since_ns", since_ns);
    json_key(json, "samples");
    syscalls_json_write(json, &batch);
    batch_clear(&batch);
}

static void write_answer(struct buf *answer, enum err err, bool known, const struct post *post)
{
    struct json json;
    json_init_line(&json, answer);
    json_begin_object(&json);
    json_field_bool(&json, "ok", !err);
    if (err)
        json_field_text(&json, "error", reason(err));
    else
        json_field_bool(&json, "known", known);
    if (!err && *post->texts[POST_SYSCALLS])
        add_counts(&json, post);
    if (!err && is_reading(post))
        add_samples(&json, post->job.id);
    json_end_object(&json);
    json_end(&json);
}

enum err job_post(struct jobs *jobs, const struct job_teller *teller, struct bytes body, struct buf *answer)
{
    struct post post = { .job = { .uid = UINT32_MAX } };
    bool known = false;
    enum err err = read_post(body, &post) && makes_sense(&post) ? OK : USAGE;
    post.job.id = post.texts[POST_ID];
    post.job.other_id = post.texts[POST_OTHER_ID];
    post.job.user = post.texts[POST_USER];
    post.job.cgroup = post.texts[POST_CGROUP];
    post.job.source = post.texts[POST_SOURCE];
    if (!err && !jobs)
        err = ABSENT;
    if (!err)
        err = post.is_begin ? begin(jobs, teller, &post, &known)
              : post.is_end ? end(jobs, teller, &post) : OK;
    if (!err && (post.is_ask || (post.is_begin && *post.texts[POST_SYSCALLS])))
        err = ask(jobs, teller, &post);
    write_answer(answer, err, known, &post);
    return err;
}
