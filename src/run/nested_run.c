/* The other sonde run has left the path of its spool in our environment, which begins with what it is of. The environment may
 * have come here in other ways, as through a batch system to another node: it counts when that sonde run is above us. */
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
#define ENVIRONMENT_MAX (3u << 20) /* the kernel's own limit, unless somebody has asked for a larger stack */

static bool is_above_us(pid_t other)
{
    pid_t pid = getpid();
    for (int i = 0; i < GENERATIONS_MAX && pid > 0 && pid != other; i++)
        if (pid_parent("", pid, &pid))
            return false;
    return pid > 0 && pid == other && pid != getpid();
}

/* 0: it is of another job or on another host, or not there any more. */
static pid_t watcher_of(const char *spool, const char *job_id)
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

/* The first of these that is set says where the store is. */
static bool is_same_store(const char *theirs, size_t size)
{
    static const char *const names[] = { "SONDE_DB", "XDG_DATA_HOME", "HOME" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *our = set_or_null(getenv(names[i])), *their = set_or_null(pid_environ_find(theirs, size, names[i]));
        if (our || their)
            return our && their && strcmp(our, their) == 0;
    }
    return true;
}

/* As far as one can know: it may have been told by --db. */
static bool files_where_we_do(pid_t other)
{
    size_t size;
    char *environment = malloc(ENVIRONMENT_MAX);
    bool same = environment && !pid_environ("", other, environment, ENVIRONMENT_MAX, &size)
                && is_same_store(environment, size);
    free(environment);
    return same;
}

static bool asks_for_more(const struct run_settings *settings)
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
    pid_t other = watcher_of(spool, job_id);
    if (!other || !is_above_us(other) || !files_where_we_do(other))
        return false;
    if (asks_for_more(settings))
        log_warn("the sonde run around this one (pid %d) watches job %s already, and this command with it: options of this one "
                 "do not count. Give them to that one, or this one an id of its own with -j.", (int)other, job_id);
    return true;
}
