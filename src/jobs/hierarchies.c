/* Mounts of cgroup and cgroup2. A captured tree may have no mountinfo: then the directories show them. */
#include "jobs/hierarchies.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNTINFO_MAX (1 << 20)

static const char *const controller_names[CONTROLLERS] = {
    [CONTROLLER_CPU] = "cpu",         [CONTROLLER_CPUACCT] = "cpuacct", [CONTROLLER_CPUSET] = "cpuset",
    [CONTROLLER_MEMORY] = "memory",   [CONTROLLER_BLKIO] = "blkio",     [CONTROLLER_PIDS] = "pids",
    [CONTROLLER_FREEZER] = "freezer", [CONTROLLER_DEVICES] = "devices", [CONTROLLER_PERF_EVENT] = "perf_event",
};

/* The index of the mount in the list, added if it is new. */
static size_t add(struct hierarchies *hierarchies, const char *mount, bool unified)
{
    for (size_t i = 0; i < hierarchies->count; i++)
        if (!strcmp(hierarchies->list[i].mount, mount))
            return i;
    char *copy = hierarchies->count < HIERARCHIES_MAX ? strdup(mount) : NULL;
    if (!copy)
        return HIERARCHY_NONE;
    hierarchies->list[hierarchies->count] = (struct hierarchy){ unified, copy };
    return hierarchies->count++;
}

static void take_mounts(struct hierarchies *hierarchies, const char *mountinfo)
{
    char mount[CGROUP_PATH_MAX], mount_root[CGROUP_PATH_MAX];
    for (size_t i = 0; i < CONTROLLERS; i++)
        if (!cgroup_parse_mount(mountinfo, controller_names[i], mount, mount_root))
            hierarchies->of[i] = (uint8_t)add(hierarchies, mount, false);
    if (!cgroup_parse_mount(mountinfo, NULL, mount, mount_root))
        hierarchies->unified = (uint8_t)add(hierarchies, mount, true);
}

static bool file_exists(const char *root, const char *directory, const char *file)
{
    char path[FILE_PATH_MAX], below[256];
    snprintf(below, sizeof below, "%s/%s", directory, file);
    return !file_path(path, root, below) && access(path, F_OK) == 0;
}

static void take_directories(struct hierarchies *hierarchies, const char *root)
{
    static const char *const unified[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
    char directory[128];
    for (size_t i = 0; i < CONTROLLERS; i++) {
        snprintf(directory, sizeof directory, "/sys/fs/cgroup/%s", controller_names[i]);
        if (file_exists(root, directory, "cgroup.procs"))
            hierarchies->of[i] = (uint8_t)add(hierarchies, directory, false);
    }
    for (size_t i = 0; i < 2 && hierarchies->unified == HIERARCHY_NONE; i++)
        if (file_exists(root, unified[i], "cgroup.controllers"))
            hierarchies->unified = (uint8_t)add(hierarchies, unified[i], true);
}

enum err hierarchies_read(struct hierarchies *hierarchies, const char *root)
{
    memset(hierarchies, 0, sizeof *hierarchies);
    memset(hierarchies->of, HIERARCHY_NONE, sizeof hierarchies->of);
    hierarchies->unified = HIERARCHY_NONE;
    char *text = malloc(MOUNTINFO_MAX);
    if (!text)
        return NOMEM;
    if (!file_read(root, "/proc/self/mountinfo", text, MOUNTINFO_MAX, NULL))
        take_mounts(hierarchies, text);
    else
        take_directories(hierarchies, root);
    free(text);
    return hierarchies->count ? OK : ABSENT;
}

void hierarchies_clear(struct hierarchies *hierarchies)
{
    for (size_t i = 0; i < hierarchies->count; i++)
        free(hierarchies->list[i].mount);
    hierarchies->count = 0;
}

enum err hierarchies_path(const struct hierarchies *hierarchies, const char *root, size_t hierarchy, const char *path,
                          const char *file, char *out, size_t size)
{
    if (hierarchy >= hierarchies->count)
        return ABSENT;
    int length = snprintf(out, size, "%s%s%s%s%s", root ? root : "", hierarchies->list[hierarchy].mount, path,
                          *file ? "/" : "", file);
    return length >= 0 && (size_t)length < size ? OK : USAGE;
}

enum err hierarchies_file(const struct hierarchies *hierarchies, const char *root, size_t hierarchy, const char *path,
                          const char *file, char *text, size_t size)
{
    char full_path[FILE_PATH_MAX];
    enum err err = hierarchies_path(hierarchies, root, hierarchy, path, file, full_path, sizeof full_path);
    return err ? err : file_read_line(NULL, full_path, text, size);
}
