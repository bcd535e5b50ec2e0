/* POST /job by a stranger: a list of requests, each preceded by its size, while root has declared a job of another user. Whatever
 * the requests are: the job stays as it is, and each response is an object with "ok". Bit 0 of the size tells whether the
 * stranger's process is visible. */
#include "agent/job_post.h"
#include "fuzz/dir.h"

int fuzz_job_post(const uint8_t *data, size_t size);

#define OWNER 1000u
#define STRANGER 1001u

static const char declared[] = "{\"begin\": {\"id\": \"77\", \"other_id\": \"77.batch\", \"user\": \"zoe\", \"uid\": 1000, "
                               "\"pid\": 1, \"cores_milli\": 2000, \"memory_bytes\": 1048576, \"source\": \"told\"}}";

static void event(void *context, const struct job *job, enum job_event event)
{
    (void)context;
    fuzz_require(event != JOB_END || job->uid != OWNER);
}

static void post(struct jobs *jobs, const struct job_requester *requester, struct bytes body)
{
    struct buf answer;
    buf_init(&answer, 1u << 20);
    enum err err = job_post(jobs, requester, body, &answer);
    fuzz_require(!answer.failed && strstr(buf_text(&answer), err ? "\"ok\": false" : "\"ok\": true") != NULL);
    buf_clear(&answer);
}

static void check(struct jobs *jobs)
{
    const struct job *job = jobs_find(jobs, "77");
    fuzz_require(job && job->uid == OWNER && !strcmp(job->user, "zoe") && !strcmp(job->other_id, "77.batch"));
    fuzz_require(job->cores_milli == 2000 && job->memory_bytes == 1048576);
}

int fuzz_job_post(const uint8_t *data, size_t size)
{
    struct jobs *jobs;
    struct job_requester root = { .is_privileged = true }, stranger = { .uid = STRANGER, .has_pid = true };
    struct jobs_listener listener = { event, NULL };
    fuzz_dir_begin();
    fuzz_require(jobs_open(&jobs, fuzz_dir, 0, &listener) == OK);
    post(jobs, &root, bytes_of(declared));
    check(jobs);
    while (size) {
        size_t step = data[0] < size - 1 ? data[0] : size - 1;
        stranger.pid = data[0] & 1 ? (uint32_t)getpid() : 0;
        post(jobs, &stranger, (struct bytes){ (const char *)data + 1, step });
        check(jobs);
        data += 1 + step;
        size -= 1 + step;
    }
    jobs_close(&jobs);
    return 0;
}
