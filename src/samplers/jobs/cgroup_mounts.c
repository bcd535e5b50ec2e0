/* Where the cgroup hierarchies of this node are mounted, and how many descriptors a sampler may keep. */
#include "samplers/jobs/cgroup_mounts.h"

#include "base/file.h"
#include "jobs/cgroup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOUNTINFO_MAX (256 << 10)
#define KEPT_SHARE 8 /* of all descriptors: there are other samplers, and the rest of the agent */

/* In which a batch system may have put the job: not all of them use all controllers. Slurm has its own slurmstepd, the
 * ancestor of all tasks, in freezer and not in cpuacct; v2 has it with the job too. */
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

static enum err find_mounts(struct cgroup_mounts *groups)
{
    char *text = malloc(MOUNTINFO_MAX);
    size_t count = 0;
    groups->mounts = calloc(CONTROLLERS + 1, sizeof *groups->mounts);
    enum err err = text && groups->mounts ? file_read(groups->root, "/proc/self/mountinfo", text, MOUNTINFO_MAX, NULL)
                                          : NOMEM;
    if (!err)
        find_mount(text, NULL, &groups->unified);
    if (!err)
        find_mount(text, "perf_event", &groups->perf_event);
    for (size_t i = 0; !err && i < CONTROLLERS; i++)
        if (find_mount(text, controllers[i], &groups->mounts[count])) {
            if (!strcmp(controllers[i], "cpuacct"))
                groups->cpuacct = groups->mounts[count];
            count++;
        }
    free(text);
    return err;
}

enum err cgroup_mounts_open(struct cgroup_mounts *groups, const char *root, enum cgroup_mounts_kind kind)
{
    char path[FILE_PATH_MAX];
    struct rlimit limit = { 1024, 1024 };
    *groups = (struct cgroup_mounts){ .root = root, .kind = kind, .proc_fd = -1 };
    enum err err = find_mounts(groups);
    if (!err)
        err = file_path(path, root, "/proc");
    if (!err)
        groups->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (err || groups->proc_fd < 0) {
        cgroup_mounts_close(groups);
        return err ? err : ABSENT;
    }
    getrlimit(RLIMIT_NOFILE, &limit);
    groups->kept_max = limit.rlim_cur > 1u << 20 ? 1u << 17 : (unsigned)limit.rlim_cur / KEPT_SHARE;
    children_init(&groups->children, groups->proc_fd, 1);
    return OK;
}

void cgroup_mounts_close(struct cgroup_mounts *groups)
{
    for (size_t i = 0; groups->mounts && groups->mounts[i]; i++)
        free(groups->mounts[i]);
    free(groups->mounts);
    free(groups->unified);
    free(groups->perf_event);
    children_clear(&groups->children);
    pidlist_clear(&groups->tids);
    pidlist_clear(&groups->queue);
    pidmap_clear(&groups->found);
    if (groups->proc_fd >= 0)
        close(groups->proc_fd);
    *groups = (struct cgroup_mounts){ .proc_fd = -1 };
}

const char *cgroup_mounts_perf(const struct cgroup_mounts *groups)
{
    return groups->perf_event ? groups->perf_event : groups->unified;
}

bool cgroup_mounts_keep_fd(struct cgroup_mounts *groups, int *kept, int fd)
{
    if (fd < 0 || groups->kept >= groups->kept_max)
        return false;
    groups->kept++;
    *kept = fd;
    return true;
}

void cgroup_mounts_release_fd(struct cgroup_mounts *groups, int *kept)
{
    if (*kept < 0)
        return;
    close(*kept);
    *kept = -1;
    groups->kept--;
}
