/* NSpid in /proc/PID/status lists the pids of a process in all namespaces from ours down to its own. Two namespaces of
 * the same depth may use the same pid, so the namespace itself is compared too. */
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

#define DEPTH_MAX 33 /* the kernel allows 32 levels below the initial namespace */

struct nspid_list {
    uint64_t at[DEPTH_MAX];
    size_t count;
};

static enum err read_numbers(pid_t pid, struct nspid_list *numbers)
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

/* The pid namespace of a process, or the one levels_up above it. */
static bool stat_namespace(pid_t pid, size_t levels_up, struct stat *namespace)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (; fd >= 0 && levels_up; levels_up--) {
        int parent = ioctl(fd, NS_GET_PARENT);
        close(fd);
        fd = parent;
    }
    bool is_found = fd >= 0 && fstat(fd, namespace) == 0;
    if (fd >= 0)
        close(fd);
    return is_found;
}

static bool is_process(pid_t pid, pid_t pid_there, size_t depth, const struct stat *namespace)
{
    struct nspid_list numbers;
    struct stat found;
    return !read_numbers(pid, &numbers) && numbers.count >= depth && numbers.at[depth - 1] == (uint64_t)pid_there
           && stat_namespace(pid, numbers.count - depth,
                             &found) && found.st_dev == namespace->st_dev && found.st_ino == namespace->st_ino;
}

enum err pid_namespace_find(pid_t other, pid_t pid_there, pid_t *pid)
{
    struct nspid_list numbers;
    struct stat namespace;
    if (read_numbers(other, &numbers))
        return GONE;
    if (numbers.count == 1) {
        *pid = pid_there;
        return OK;
    }
    DIR *dir = stat_namespace(other, 0, &namespace) ? opendir("/proc") : NULL;
    if (!dir)
        return GONE;
    enum err err = GONE;
    for (const struct dirent *entry; err && (entry = readdir(dir));) {
        long number = strtol(entry->d_name, NULL, 10);
        if (number > 0 && is_process((pid_t)number, pid_there, numbers.count, &namespace)) {
            *pid = (pid_t)number;
            err = OK;
        }
    }
    closedir(dir);
    return err;
}

bool pid_namespace_is_own(pid_t pid, pid_t pid_there)
{
    struct nspid_list numbers;
    return !read_numbers(pid, &numbers) && numbers.at[numbers.count - 1] == (uint64_t)pid_there;
}
