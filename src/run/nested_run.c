/* The enclosing sonde run has left the path of its spool in our environment; the first record names its job. The
 * environment may also have been copied, for example by a batch system to another node: so that sonde run must be
 * one of our ancestors. */
#include "run/nested_run.h"

#include "base/log.h"
#include "jobs/job_id.h"
#include "proc/pid.h"
#include "spool/probe_env.h"
#include "spool/record.h"
#include "spool/spool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GENERATIONS_MAX 10000
#define ENVIRONMENT_MAX (3u << 20) /* the kernel's limit, unless the stack limit was raised */

static bool is_ancestor(pid_t other)
{
    pid_t pid = getpid();
    for (int i = 0; i < GENERATIONS_MAX && pid > 0 && pid != other; i++)
        if (pid_parent("", pid, &pid))
            return false;
    return pid > 0 && pid == other && pid != getpid();
}

/* The pid of the sonde run that writes this spool. 0: another job or host, or no longer there. */
static pid_t recorder_of(const char *spool, const char *job_id)
{
    char host[256] = "";
    struct spool_reader reader;
    struct run_record run;
    struct bytes body;
    enum record_kind kind;
    pid_t pid = 0;
    if (gethostname(host, sizeof host - 1) || spool_open(&reader, spool))
        return 0;
    if (!spool_next(&reader, &kind, &body) && kind == RECORD_KIND_run && !record_unpack_run(body, &run)
        && bytes_equal(run.job_id, bytes_of(job_id)) && bytes_equal(run.host, bytes_of(host)))
        pid = (pid_t)run.pid;
    spool_close(&reader);
    return pid;
}

static const char *set_or_null(const char *value)
{
    return value && *value ? value : NULL;
}

/* The first of these that is set determines the job database. */
static bool is_same_database(const char *theirs, size_t size)
{
    static const char *const names[] = { "SONDE_DB", "XDG_DATA_HOME", "HOME" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *our = set_or_null(getenv(names[i])), *their = set_or_null(pid_environ_find(theirs, size, names[i]));
        if (our || their)
            return our && their && strcmp(our, their) == 0;
    }
    return true;
}

/* As far as we can tell: it may use --db. */
static bool uses_same_database(pid_t other)
{
    size_t size;
    char *environment = malloc(ENVIRONMENT_MAX);
    bool same = environment && !pid_environ("", other, environment, ENVIRONMENT_MAX, &size)
                && is_same_database(environment, size);
    free(environment);
    return same;
}

static bool has_options(const struct run_settings *settings)
{
    return settings->name || settings->tags || settings->events || settings->out_dir || settings->no_probe || settings->mpi
           || settings->calls || settings->wait_all;
}

bool nested_run_is_recorded(const struct run_settings *settings)
{
    const char *spool = getenv(PROBE_ENV_SPOOL);
    struct job_id job;
    job_id_from_environment(&job);
    const char *job_id = settings->job_id ? settings->job_id : job.id;
    if (!spool || !job_id[0])
        return false;
    pid_t other = recorder_of(spool, job_id);
    if (!other || !is_ancestor(other) || !uses_same_database(other))
        return false;
    if (has_options(settings))
        log_warn("job %s is already monitored by an enclosing sonde run (pid %d), and this command with it; options ignored. "
                 "Give them to the enclosing one, or use another job id (-j).", job_id, (int)other);
    return true;
}
