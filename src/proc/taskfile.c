/* Reads /proc/PID/… without allocating. A process that exits meanwhile is GONE. */
#include "proc/taskfile.h"

#include "base/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXITING 0x4u /* the kernel's PF_EXITING, set before the exit record is sent */

/* Fields of stat are numbered from 1 in proc(5); the first after the name is 3. Negative ones (tpgid) count too. */
static bool skip_fields(const char **at, int count)
{
    for (; count > 0; count--) {
        *at += strspn(*at, " ");
        if (!**at)
            return false;
        *at += strcspn(*at, " ");
    }
    return true;
}

enum err taskfile_parse_stat(const char *text, struct taskfile_stat *stat)
{
    const char *at = strrchr(text, ')'); /* the name may contain anything, even ") R 1" */
    uint64_t ppid, flags, user, system, children_user, children_system, threads;
    if (!at || at[1] != ' ' || !at[2])
        return CORRUPT;
    stat->state = at[2];
    at += 3;
    if (!scan_u64(&at, &ppid) || !skip_fields(&at, 4) || !scan_u64(&at, &flags) || !skip_fields(&at, 4)
        || !scan_u64(&at, &user) || !scan_u64(&at, &system)
        || !scan_u64(&at, &children_user) || !scan_u64(&at, &children_system) || !skip_fields(&at, 2)
        || !scan_u64(&at, &threads) || !skip_fields(&at, 1) || !scan_u64(&at, &stat->start_ticks)
        || !skip_fields(&at, 1) || !scan_u64(&at, &stat->rss_pages))
        return CORRUPT;
    stat->ppid = (uint32_t)ppid;
    stat->is_exiting = flags & EXITING;
    stat->own_ticks = user + system;
    stat->children_ticks = children_user + children_system;
    stat->threads = (uint32_t)threads;
    return OK;
}

enum err taskfile_parse_io(const char *text, struct taskfile_io *io)
{
    bool whole = scan_line_u64(text, "rchar:", &io->rchar) && scan_line_u64(text, "wchar:", &io->wchar)
                 && scan_line_u64(text, "read_bytes:", &io->read_bytes)
                 && scan_line_u64(text, "write_bytes:", &io->write_bytes);
    return whole ? OK : CORRUPT;
}

enum err taskfile_parse_switches(const char *text, struct taskfile_switches *switches)
{
    bool whole = scan_line_u64(text, "voluntary_ctxt_switches:", &switches->voluntary)
                 && scan_line_u64(text, "nonvoluntary_ctxt_switches:", &switches->involuntary);
    return whole ? OK : CORRUPT;
}

enum err taskfile_parse_pss(const char *text, uint64_t *bytes)
{
    uint64_t kb;
    if (!scan_line_u64(text, "Pss:", &kb) || kb > UINT64_MAX / 1024)
        return CORRUPT;
    *bytes = kb * 1024;
    return OK;
}

/* ENOENT means that the process has exited. */
static enum err gone_or(int number)
{
    return number == ENOENT || number == ESRCH ? GONE : err_from_errno(number);
}

enum err taskfile_read(int proc_fd, const char *path, char *text, size_t size)
{
    int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return gone_or(errno);
    ssize_t got = read(fd, text, size - 1);
    int number = errno;
    close(fd);
    if (got < 0)
        return gone_or(number);
    text[got] = '\0';
    return OK;
}

enum err taskfile_read_stat(int proc_fd, uint32_t pid, struct taskfile_stat *stat)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "%u/stat", pid);
    enum err err = taskfile_read(proc_fd, path, text, sizeof text);
    return err ? err : taskfile_parse_stat(text, stat);
}

static enum err read_io(int proc_fd, const char *path, struct taskfile_io *io)
{
    char text[512];
    enum err err = taskfile_read(proc_fd, path, text, sizeof text);
    return err ? err : taskfile_parse_io(text, io);
}

enum err taskfile_read_io(int proc_fd, uint32_t pid, struct taskfile_io *io)
{
    char path[32];
    snprintf(path, sizeof path, "%u/io", pid);
    return read_io(proc_fd, path, io);
}

enum err taskfile_read_pss(int proc_fd, uint32_t pid, uint64_t *bytes)
{
    char path[32], text[2048];
    snprintf(path, sizeof path, "%u/smaps_rollup", pid);
    enum err err = taskfile_read(proc_fd, path, text, sizeof text);
    return err ? err : taskfile_parse_pss(text, bytes);
}

enum err taskfile_read_thread_io(int proc_fd, uint32_t pid, uint32_t tid, struct taskfile_io *io)
{
    char path[64];
    snprintf(path, sizeof path, "%u/task/%u/io", pid, tid);
    return read_io(proc_fd, path, io);
}

enum err taskfile_read_switches(int proc_fd, uint32_t pid, uint32_t tid, struct taskfile_switches *switches)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "%u/task/%u/status", pid, tid);
    enum err err = taskfile_read(proc_fd, path, text, sizeof text);
    return err ? err : taskfile_parse_switches(text, switches);
}
