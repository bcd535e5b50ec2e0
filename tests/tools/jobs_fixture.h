/* A node for tests: a directory in which the test creates and removes cgroups, and the jobs that are found in it. */
#ifndef SONDE_TESTS_TOOLS_JOBS_FIXTURE_H
#define SONDE_TESTS_TOOLS_JOBS_FIXTURE_H

#include "jobs/jobs.h"
#include "jobs/job_source.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIXTURE_EVENTS 256 /* only the first ones are kept */

/* A job event, copied. */
struct fixture_event {
    enum job_event event;
    char id[256], other_id[256], user[64], cgroup[512], source[16];
    uint32_t uid, slot;
    uint64_t cores_milli, memory_bytes, start_ns, end_ns;
    bool unified;
};

struct fixture {
    char root[TEMP_PATH_MAX];
    struct jobs *jobs;
    uint32_t sources; /* 0: all */
    const char *only; /* ignore events of other jobs, of which a real node may have any number; NULL: keep all */
    struct fixture_event events[FIXTURE_EVENTS];
    size_t count;
};

static inline void fixture_take(void *context, const struct job *job, enum job_event event)
{
    struct fixture *fixture = context;
    if (fixture->count == FIXTURE_EVENTS || (fixture->only && strcmp(fixture->only, job->id) != 0))
        return;
    struct fixture_event *out = &fixture->events[fixture->count++];
    *out = (struct fixture_event){
        .event = event, .uid = job->uid, .slot = job->slot, .cores_milli = job->cores_milli,
        .memory_bytes = job->memory_bytes, .start_ns = job->start_ns, .end_ns = job->end_ns, .unified = job->unified,
    };
    snprintf(out->id, sizeof out->id, "%s", job->id);
    snprintf(out->other_id, sizeof out->other_id, "%s", job->other_id);
    snprintf(out->user, sizeof out->user, "%s", job->user);
    snprintf(out->cgroup, sizeof out->cgroup, "%s", job->cgroup);
    snprintf(out->source, sizeof out->source, "%s", job->source);
}

static inline void fixture_path(const struct fixture *fixture, const char *below, char out[1024])
{
    snprintf(out, 1024, "%s%s", fixture->root, below);
}

static inline void fixture_write(const struct fixture *fixture, const char *below, const char *text)
{
    char path[1024];
    fixture_path(fixture, below, path);
    temp_write(path, text, strlen(text));
}

static inline void fixture_mkdir(const struct fixture *fixture, const char *below)
{
    char path[1024];
    fixture_path(fixture, below, path);
    for (char *slash = strchr(path + strlen(fixture->root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        caller_assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    caller_assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
}
#define fixture_mkdir(...) (unit_called(__FILE__, __LINE__), (fixture_mkdir)(__VA_ARGS__))

static inline void fixture_remove(const struct fixture *fixture, const char *below)
{
    char path[1024];
    fixture_path(fixture, below, path);
    temp_remove(path);
}

/* cgroup v1 with some hierarchies. */
static inline void fixture_begin_v1(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    temp_dir(fixture->root);
    fixture_write(fixture, "/sys/fs/cgroup/cpuset/cgroup.procs", "");
    fixture_write(fixture, "/sys/fs/cgroup/freezer/cgroup.procs", "");
    fixture_write(fixture, "/sys/fs/cgroup/memory/cgroup.procs", "");
    fixture_write(fixture, "/etc/passwd", "root:x:0:0::/:\nanna:x:1000:1000::/:\nben_b:x:1001:1001::/:\n");
}

static inline void fixture_begin_v2(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    temp_dir(fixture->root);
    fixture_write(fixture, "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
    fixture_write(fixture, "/etc/passwd", "root:x:0:0::/:\nanna:x:1000:1000::/:\n");
}

static inline void fixture_open(struct fixture *fixture)
{
    struct jobs_listener listener = { fixture_take, fixture };
    uint32_t sources = fixture->sources ? fixture->sources : JOB_SOURCES_ALL;
    caller_assert_int_equal(jobs_open(&fixture->jobs, fixture->root, sources, &listener), OK);
}
#define fixture_open(...) (unit_called(__FILE__, __LINE__), (fixture_open)(__VA_ARGS__))

static inline void fixture_end(struct fixture *fixture)
{
    jobs_close(&fixture->jobs);
    temp_remove(fixture->root);
}

/* The newest event of a kind of a job; NULL: there is none. */
static inline const struct fixture_event *fixture_find(const struct fixture *fixture, const char *id, enum job_event event)
{
    for (size_t i = fixture->count; i-- > 0;)
        if (!strcmp(fixture->events[i].id, id) && fixture->events[i].event == event)
            return &fixture->events[i];
    return NULL;
}

static inline size_t fixture_count(const struct fixture *fixture, const char *id, enum job_event event)
{
    size_t count = 0;
    for (size_t i = 0; i < fixture->count; i++)
        count += !strcmp(fixture->events[i].id, id) && fixture->events[i].event == event;
    return count;
}

/* A process of the node, which a job lists in cgroup.procs. */
static inline void fixture_process(const struct fixture *fixture, int pid, uint32_t uid, const char *title,
                                   const char *environment, size_t environment_size)
{
    char path[256], text[512];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    snprintf(text, sizeof text, "Name:\tx\nUid:\t%u\t%u\t%u\t%u\n", uid, uid, uid, uid);
    fixture_write(fixture, path, text);
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(text, sizeof text, "%d (a b) c) S 1 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1\n", pid);
    fixture_write(fixture, path, text);
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    fixture_write(fixture, path, title);
    char whole[1024];
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    fixture_path(fixture, path, whole);
    temp_write(whole, environment, environment_size);
}

#endif
