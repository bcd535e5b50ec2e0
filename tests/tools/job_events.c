/* Prints what happens to the jobs of this machine, a line an event: job_events [SECONDS] [ROOT]. */
#include "base/clock.h"
#include "jobs/jobs.h"
#include "jobs/job_source.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

static void print(void *context, const struct job *job, enum job_event event)
{
    static const char *const names[] = { "begin", "change", "end" };
    uint64_t begun_ns = *(const uint64_t *)context;
    printf("%6.3f %s id=%s other=%s source=%s user=%s uid=%d cores=%" PRIu64 " memory=%" PRIu64 " cgroup=%s v%d pid=%" PRIu32
           " slot=%" PRIu32 " ran=%.3f\n",
           (double)(clock_realtime_ns() - begun_ns) / 1e9, names[event], job->id, job->other_id, job->source, job->user,
           (int)job->uid, job->cores_milli, job->memory_bytes, job->cgroup, job->unified ? 2 : 1, job->pid, job->slot,
           job->end_ns ? (double)(job->end_ns - job->start_ns) / 1e9 : 0.0);
    fflush(stdout);
}

int main(int count, char **arguments)
{
    uint64_t begun_ns = clock_realtime_ns();
    double seconds = count > 1 ? strtod(arguments[1], NULL) : 3600;
    struct jobs *jobs;
    const struct jobs_listener listener = { print, &begun_ns };
    if (jobs_open(&jobs, count > 2 ? arguments[2] : "", JOB_SOURCES_ALL, &listener))
        return 1;
    printf("%6.3f watching %zu\n", 0.0, jobs_count(jobs));
    fflush(stdout);
    while ((double)(clock_realtime_ns() - begun_ns) / 1e9 < seconds) {
        struct pollfd poll_fd = { .fd = jobs_fd(jobs), .events = POLLIN };
        poll(&poll_fd, 1, 200);
        jobs_read(jobs);
    }
    jobs_close(&jobs);
    return 0;
}
