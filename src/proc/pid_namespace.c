/* NSpid of /proc/PID/status has the numbers of a process in all namespaces from ours down to its own. Of two namespaces that are
 * equally deep each has a process of the same number, so that the namespace itself is looked at, too. */
#include "proc/pid_namespace.h"

#include "base/file.h"
#include "base/scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 33 /* the kernel allows 32 below the first */

struct numbers {
    uint64_t at[DEPTH_MAX];
    size_t count;
};

static enum err read_numbers(pid_t pid, struct numbers *numbers)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (file_read("", path, text, sizeof text, NULL))
        return GONE;
    const char *at = scan_line(text, "NSpid:");
    for (numbers->count = 0; at && numbers->count < DEPTH_MAX && scan_u64(&at, &numbers->at[numbers->count]);)
        numbers->count++;
    return numbers->count ? OK : CORRUPT;
}

/* The pid namespace of a process, or one that is so many above it. */
static bool see_space(pid_t pid, size_t above, struct stat *space)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (; fd >= 0 && above; above--) {
        int parent = ioctl(fd, NS_GET_PARENT);
        close(fd);
        fd = parent;
    }
    bool is_seen = fd >= 0 && fstat(fd, space) == 0;
    if (fd >= 0)
        close(fd);
    return is_seen;
}

static bool is_it(pid_t pid, pid_t called, size_t depth, const struct stat *space)
{
    struct numbers numbers;
    struct stat found;
    return !read_numbers(pid, &numbers) && numbers.count >= depth && numbers.at[depth - 1] == (uint64_t)called
           && see_space(pid, numbers.count - depth, &found) && found.st_dev == space->st_dev && found.st_ino == space->st_ino;
}

enum err pid_space_find(pid_t teller, pid_t called, pid_t *pid)
{
    struct numbers numbers;
    struct stat space;
    if (read_numbers(teller, &numbers))
        return GONE;
    if (numbers.count == 1) {
        *pid = called;
        return OK;
    }
    DIR *dir = see_space(teller, 0, &space) ? opendir("/proc") : NULL;
    if (!dir)
        return GONE;
    enum err err = GONE;
    for (const struct dirent *entry; err && (entry = readdir(dir));) {
        long number = strtol(entry->d_name, NULL, 10);
        if (number > 0 && is_it((pid_t)number, called, numbers.count, &space)) {
            *pid = (pid_t)number;
            err = OK;
        }
    }
    closedir(dir);
    return err;
}
