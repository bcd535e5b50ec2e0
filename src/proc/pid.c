/* /proc/PID/stat, status, environ, cmdline, and cgroup.procs. Files are opened for each read: jobs are inspected
 * rarely. */
#include "proc/pid.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROCS_MAX (16 << 10) /* bytes of cgroup.procs that are read: more than 2,000 processes */
#define DEPTH_MAX 6

static enum err read_file(const char *root, pid_t pid, const char *file, char *text, size_t size, size_t *got)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    enum err err = file_read(root, path, text, size, got);
    return err == ABSENT ? GONE : err;
}

/* Boot time. For a captured tree from /proc/stat, to the second. */
static uint64_t boot_ns(const char *root)
{
    char text[64 << 10];
    uint64_t seconds;
    if (!root || !*root)
        return clock_realtime_ns() - clock_ns(CLOCK_BOOTTIME);
    if (file_read(root, "/proc/stat", text, sizeof text, NULL) || !scan_line_u64(text, "btime", &seconds))
        return 0;
    return seconds * NS_PER_S;
}

static enum err read_stat(const char *root, pid_t pid, int field, uint64_t *value)
{
    char text[1024];
    enum err err = read_file(root, pid, "stat", text, sizeof text, NULL);
    if (err)
        return err;
    const char *at = strrchr(text, ')'); /* the name before it may contain anything */
    for (int i = 2; at && i < field; i++)
        at = strchr(at + 1, ' ');
    return at && scan_u64(&at, value) ? OK : CORRUPT;
}

enum err pid_parent(const char *root, pid_t pid, pid_t *parent)
{
    uint64_t value;
    enum err err = read_stat(root, pid, 4, &value);
    if (!err && value > INT32_MAX)
        return CORRUPT;
    if (!err)
        *parent = (pid_t)value;
    return err;
}

enum err pid_start_ns(const char *root, pid_t pid, uint64_t *start_ns)
{
    uint64_t ticks;
    enum err err = read_stat(root, pid, 22, &ticks);
    if (err)
        return err;
    long per_s = sysconf(_SC_CLK_TCK);
    *start_ns = boot_ns(root) + ticks * (NS_PER_S / (uint64_t)(per_s > 0 ? per_s : 100));
    return OK;
}

bool pid_has_ended(const char *root, pid_t pid)
{
    char text[1024];
    if (read_file(root, pid, "stat", text, sizeof text, NULL))
        return true;
    const char *at = strrchr(text, ')');
    return at && (!strncmp(at, ") Z", 3) || !strncmp(at, ") X", 3));
}

enum err pid_uid(const char *root, pid_t pid, uint32_t *uid)
{
    char text[4096];
    uint64_t value;
    enum err err = read_file(root, pid, "status", text, sizeof text, NULL);
    if (err)
        return err;
    if (!scan_line_u64(text, "Uid:", &value) || value >= UINT32_MAX)
        return CORRUPT;
    *uid = (uint32_t)value;
    return OK;
}

enum err pid_environ(const char *root, pid_t pid, char *text, size_t size, size_t *got)
{
    return read_file(root, pid, "environ", text, size, got);
}

const char *pid_environ_find(const char *text, size_t size, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; at < text + size; at += strlen(at) + 1)
        if (!strncmp(at, name, length) && at[length] == '=')
            return at + length + 1;
    return NULL;
}

enum err pid_title(const char *root, pid_t pid, char *title, size_t size)
{
    return read_file(root, pid, "cmdline", title, size, NULL);
}

/* The processes of the cgroup itself. Those of another pid namespace are listed as 0. */
static bool each_in_cgroup(const char *directory, bool (*each)(void *context, pid_t pid), void *context)
{
    char path[FILE_PATH_MAX], text[PROCS_MAX];
    uint64_t pid;
    if (file_path(path, directory, "/cgroup.procs") || file_read(NULL, path, text, sizeof text, NULL))
        return true;
    for (const char *line = text; line; line = scan_next_line(line)) {
        const char *at = line;
        if (scan_u64(&at, &pid) && *at == '\n' && pid < INT32_MAX && !each(context, (pid_t)pid))
            return false;
    }
    return true;
}

static bool each_in_tree(const char *directory, unsigned depth, bool (*each)(void *context, pid_t pid), void *context)
{
    if (!each_in_cgroup(directory, each, context))
        return false;
    DIR *dir = depth < DEPTH_MAX ? opendir(directory) : NULL;
    if (!dir)
        return true;
    bool continues = true;
    for (const struct dirent *entry; continues && (entry = readdir(dir));) {
        char path[FILE_PATH_MAX];
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        int size = snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (size > 0 && (size_t)size < sizeof path)
            continues = each_in_tree(path, depth + 1, each, context);
    }
    closedir(dir);
    return continues;
}

bool pid_each(const char *directory, bool (*each)(void *context, pid_t pid), void *context)
{
    return each_in_tree(directory, 0, each, context);
}
