/* The spool has the pids of processes that started; their start times distinguish them from later processes with the
 * same pid (after a reboot, or in another pid namespace). A probed process with no record yet has the spool's path in
 * its environment. */
#include "merge/survivors.h"

#include "base/clock.h"
#include "proc/host.h"
#include "proc/pid.h"
#include "spool/probe_env.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CLOCKS_NS NS_PER_S         /* two clocks, one of which counts in ticks */
#define ENVIRONMENT_MAX (3u << 20) /* the kernel's limit, unless a larger stack was configured */

static bool is_of_this_host(const struct run *run)
{
    struct host_facts here;
    host_read(NULL, &here);
    return here.name[0] && bytes_equal(run->host.name, bytes_of(here.name));
}

/* An error that says nothing about the process: too many open files, for example. It then counts as running, because a spool
 * that is kept is saved again later, and one that is removed loses what is still written to it. */
static bool is_unknown(enum err err)
{
    return err && err != ABSENT && err != GONE && err != DENIED;
}

/* An image may be younger than its process, but no process is older than the run. */
static bool is_alive(const struct run *run, const struct process *process)
{
    uint64_t born_ns, latest_ns = process->start_ns ? process->start_ns : run->end_ns;
    if (process->state != PROCESS_RUNNING && process->state != PROCESS_LOST)
        return false;
    enum err err = pid_start_ns(NULL, (pid_t)process->pid, &born_ns);
    if (err || pid_has_ended(NULL, (pid_t)process->pid))
        return is_unknown(err);
    return born_ns + CLOCKS_NS >= run->start_ns && born_ns <= latest_ns + CLOCKS_NS;
}

static bool any_named(const struct run *run)
{
    for (size_t i = 0; i < run->process_count; i++)
        if (is_alive(run, &run->processes[i]))
            return true;
    return false;
}

static bool writes_to(pid_t pid, const char *spool, char *environment)
{
    size_t size;
    enum err err = pid_environ(NULL, pid, environment, ENVIRONMENT_MAX, &size);
    if (err)
        return is_unknown(err);
    const char *path = pid_environ_find(environment, size, PROBE_ENV_SPOOL);
    return path && strcmp(path, spool) == 0;
}

static bool any_probed(const char *spool)
{
    char *environment = malloc(ENVIRONMENT_MAX);
    DIR *dir = environment ? opendir("/proc") : NULL;
    bool found = !dir;
    while (!found) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            found = errno != 0;
            break;
        }
        char *end;
        unsigned long pid = strtoul(entry->d_name, &end, 10);
        found = pid && !*end && writes_to((pid_t)pid, spool, environment);
    }
    if (dir)
        closedir(dir);
    free(environment);
    return found;
}

bool survivors_any(const struct run *run, const char *spool_path)
{
    char spool[PATH_MAX];
    if (!is_of_this_host(run))
        return false;
    return any_named(run) || (realpath(spool_path, spool) && any_probed(spool));
}
