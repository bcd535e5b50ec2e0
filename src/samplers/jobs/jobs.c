/* The jobs on the node at each tick: how many (metric set "jobs"), and for each its limits (metric set "job_here"). A
 * sample of the node applies to the jobs that have a sample of the same tick. Reads no files: the job table passes the
 * events. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/vec.h"

#include <stdlib.h>

static const struct metric metrics[] = {
    { "running", "1", GAUGE, U64, "jobs on the node", NULL },
    { "begun", "1", COUNTER, U64, "jobs begun since the agent started", NULL },
    { "ended", "1", COUNTER, U64, "jobs ended since the agent started", NULL },
    { "cores", "1", GAUGE, F64, "cores allocated to jobs, of those where it is known", NULL },
    { "memory_limit", "B", GAUGE, U64, "memory limits of jobs, of those where it is known", NULL },
};

enum { RUNNING, BEGUN, ENDED, CORES, MEMORY_LIMIT, METRICS };

static const struct set set = { .name = "jobs", .metrics = metrics, .size = METRICS };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

static const struct metric job_metrics[] = {
    { "elapsed", "ns", GAUGE, U64, "time since the job began", NULL },
    { "cores", "1", GAUGE, F64, "cores allocated to the job", NULL },
    { "memory_limit", "B", GAUGE, U64, "memory limit of the job", NULL },
    { "is_running", "1", GAUGE, U64, "1; 0 in the last sample of a job", NULL },
};

enum { JOB_ELAPSED, JOB_CORES, JOB_MEMORY_LIMIT, JOB_IS_RUNNING, JOB_METRICS };

static const struct set job_set = { .name = "job_here", .metrics = job_metrics, .size = JOB_METRICS };
_Static_assert(sizeof job_metrics / sizeof *job_metrics == JOB_METRICS, "a name for each metric");

struct jobs_sampler {
    const struct job **jobs; /* by job.slot; NULL: no job */
    size_t capacity;
    uint64_t running, begun, ended;
};

static enum err jobs_sampler_open(void *state, const struct sampler_context *context)
{
    (void)state;
    (void)context;
    return OK;
}

static enum err reserve(struct jobs_sampler *sampler, uint32_t slot)
{
    return array_reserve_zeroed(sampler->jobs, sampler->capacity, (size_t)slot + 1, VEC_MAX);
}

static enum err add_job(const struct job *job, bool is_running, struct batch *out)
{
    uint64_t now_ns = clock_realtime_ns(), end_ns = is_running ? now_ns : job->end_ns;
    struct sample *sample = batch_add(out, &job_set, now_ns, "");
    if (!sample)
        return NOMEM;
    sample->job = job->id;
    if (job->start_ns && end_ns >= job->start_ns)
        sample_set_u64(sample, JOB_ELAPSED, end_ns - job->start_ns);
    if (job->cores_milli)
        sample_set_f64(sample, JOB_CORES, (double)job->cores_milli / 1000);
    if (job->memory_bytes)
        sample_set_u64(sample, JOB_MEMORY_LIMIT, job->memory_bytes);
    sample_set_u64(sample, JOB_IS_RUNNING, is_running);
    return OK;
}

static enum err jobs_sampler_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    struct jobs_sampler *sampler = state;
    enum err err = reserve(sampler, job->slot);
    if (err)
        return err;
    bool is_new = !sampler->jobs[job->slot];
    sampler->begun += is_new;
    sampler->running += is_new;
    sampler->jobs[job->slot] = job;
    if (event == JOB_END) {
        sampler->jobs[job->slot] = NULL;
        sampler->ended++;
        sampler->running--;
    }
    return out ? add_job(job, event != JOB_END, out) : OK;
}

static enum err add_node(const struct jobs_sampler *sampler, struct batch *out)
{
    uint64_t cores_milli = 0, memory_bytes = 0;
    for (size_t i = 0; i < sampler->capacity; i++) {
        cores_milli += sampler->jobs[i] ? sampler->jobs[i]->cores_milli : 0;
        memory_bytes += sampler->jobs[i] ? sampler->jobs[i]->memory_bytes : 0;
    }
    struct sample *sample = batch_add(out, &set, clock_realtime_ns(), "");
    if (!sample)
        return NOMEM;
    sample_set_u64(sample, RUNNING, sampler->running);
    sample_set_u64(sample, BEGUN, sampler->begun);
    sample_set_u64(sample, ENDED, sampler->ended);
    if (cores_milli || !sampler->running)
        sample_set_f64(sample, CORES, (double)cores_milli / 1000);
    if (memory_bytes || !sampler->running)
        sample_set_u64(sample, MEMORY_LIMIT, memory_bytes);
    return OK;
}

static enum err jobs_sampler_read(void *state, struct batch *out)
{
    const struct jobs_sampler *sampler = state;
    enum err err = add_node(sampler, out);
    for (size_t i = 0; i < sampler->capacity && !err; i++)
        if (sampler->jobs[i])
            err = add_job(sampler->jobs[i], true, out);
    return err;
}

static void jobs_sampler_close(void *state)
{
    struct jobs_sampler *sampler = state;
    free(sampler->jobs);
}

const struct sampler sampler_jobs = {
    .name = "jobs",
    .about = "the jobs on the node and their limits",
    .set = &set,
    .state_size = sizeof(struct jobs_sampler),
    .open = jobs_sampler_open,
    .read = jobs_sampler_read,
    .job = jobs_sampler_job,
    .close = jobs_sampler_close,
};
