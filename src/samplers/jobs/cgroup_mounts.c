/* Finds the mount points in /proc/self/mountinfo and limits descriptors. */
#include "samplers/jobs/cgroup_mounts.h"

#include "base/file.h"
#include "jobs/cgroup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOUNTINFO_MAX (256 << 10)
#define KEPT_SHARE 8 /* share of the descriptor limit: other samplers and the agent need some too */

/* Controllers in whose hierarchy a batch system may have put the job; none uses all. Slurm has slurmstepd, the ancestor
 * of all tasks, in freezer but not in cpuacct; in v2 it is in the job's cgroup too. */
static const char *const controllers[] = { "freezer", "cpuacct", "cpu", "memory", "cpuset", "pids", "devices", "blkio" };

#define CONTROLLERS (sizeof controllers / sizeof *controllers)

static bool find_mount(const char *text, const char *controller, char **mount)
{
    char path[CGROUP_PATH_MAX], mount_root[CGROUP_PATH_MAX];
    if (cgroup_parse_mount(text, controller, path, mount_root))
        return false;
    *mount = strdup(path);
    return *mount != NULL;
}

static enum err find_mounts(struct cgroup_mounts *mounts)
{
    char *text = malloc(MOUNTINFO_MAX);
    size_t count = 0;
    mounts->v1 = calloc(CONTROLLERS + 1, sizeof *mounts->v1);
    enum err err = text && mounts->v1 ? file_read(mounts->root, "/proc/self/mountinfo", text, MOUNTINFO_MAX, NULL)
                                          : NOMEM;
    if (!err)
        find_mount(text, NULL, &mounts->unified);
    if (!err)
        find_mount(text, "perf_event", &mounts->perf_event);
    for (size_t i = 0; !err && i < CONTROLLERS; i++)
        if (find_mount(text, controllers[i], &mounts->v1[count])) {
            if (!strcmp(controllers[i], "cpuacct"))
                mounts->cpuacct = mounts->v1[count];
            count++;
        }
    free(text);
    return err;
}

enum err cgroup_mounts_open(struct cgroup_mounts *mounts, const char *root, enum cgroup_mounts_kind kind)
{
    char path[FILE_PATH_MAX];
    struct rlimit limit = { 1024, 1024 };
    *mounts = (struct cgroup_mounts){ .root = root, .kind = kind, .proc_fd = -1 };
    enum err err = find_mounts(mounts);
    if (!err)
        err = file_path(path, root, "/proc");
    if (!err)
        mounts->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (err || mounts->proc_fd < 0) {
        cgroup_mounts_close(mounts);
        return err ? err : ABSENT;
    }
    getrlimit(RLIMIT_NOFILE, &limit);
    mounts->kept_max = limit.rlim_cur > 1u << 20 ? 1u << 17 : (unsigned)limit.rlim_cur / KEPT_SHARE;
    children_init(&mounts->children, mounts->proc_fd, 1);
    return OK;
}

void cgroup_mounts_close(struct cgroup_mounts *mounts)
{
    for (size_t i = 0; mounts->v1 && mounts->v1[i]; i++)
        free(mounts->v1[i]);
    free(mounts->v1);
    free(mounts->unified);
    free(mounts->perf_event);
    children_clear(&mounts->children);
    pidlist_clear(&mounts->tids);
    pidlist_clear(&mounts->queue);
    pidmap_clear(&mounts->found);
    if (mounts->proc_fd >= 0)
        close(mounts->proc_fd);
    *mounts = (struct cgroup_mounts){ .proc_fd = -1 };
}

const char *cgroup_mounts_perf(const struct cgroup_mounts *mounts)
{
    return mounts->perf_event ? mounts->perf_event : mounts->unified;
}

bool cgroup_mounts_keep_fd(struct cgroup_mounts *mounts, int *kept, int fd)
{
    if (fd < 0 || mounts->kept >= mounts->kept_max)
        return false;
    mounts->kept++;
    *kept = fd;
    return true;
}

void cgroup_mounts_release_fd(struct cgroup_mounts *mounts, int *kept)
{
    if (*kept < 0)
        return;
    close(*kept);
    *kept = -1;
    mounts->kept--;
}
