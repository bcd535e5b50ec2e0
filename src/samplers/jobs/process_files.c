/* Reads /proc/PID in one pass per file; each line is compared with the keys that begin with its first letter. */
#include "samplers/jobs/process_files.h"

#include "base/file.h"
#include "base/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct process_field_key {
    const char *key;
    unsigned size, factor;
};

static const struct process_field_key fields[] = {
#define X(file, key, name, unit, factor, ...) { key, sizeof key - 1, factor },
    PROCESS_FIELDS(X)
#undef X
};

static void parse_line(const char *line, struct process_values *values)
{
    for (size_t i = 0; i < PROCESS_FIELDS_SIZE; i++) {
        uint64_t number;
        if (*line != *fields[i].key || strncmp(line, fields[i].key, fields[i].size) != 0)
            continue;
        const char *at = line + fields[i].size;
        if (scan_u64(&at, &number) && number <= UINT64_MAX / fields[i].factor) {
            values->value[i] = number * fields[i].factor;
            values->known |= 1ull << i;
        }
        return;
    }
}

static void parse_who(const char *line, struct process_values *values)
{
    uint64_t number;
    if (!strncmp(line, "State:", 6)) {
        line += 6;
        line += strspn(line, " \t");
        values->state = *line == '\n' ? '\0' : *line;
    } else if (!strncmp(line, "PPid:", 5)) {
        line += 5;
        values->ppid = scan_u64(&line, &number) ? (uint32_t)number : 0;
    }
}

void process_files_parse(const char *text, struct process_values *values)
{
    for (const char *line = text; line; line = scan_next_line(line))
        if (*line == 'S' || (*line == 'P' && line[1] == 'P'))
            parse_who(line, values);
        else
            parse_line(line, values);
}

void process_files_init(struct process_files *files)
{
    *files = (struct process_files){ -1, -1, -1 };
}

void process_files_release(struct process_files *files, struct cgroup_mounts *mounts)
{
    cgroup_mounts_release_fd(mounts, &files->io_fd);
    cgroup_mounts_release_fd(mounts, &files->status_fd);
    cgroup_mounts_release_fd(mounts, &files->smaps_fd);
}

/* ESRCH: the process of an open file has exited. */
static enum err gone_or(int number)
{
    return number == ENOENT || number == ESRCH ? GONE : err_from_errno(number);
}

static enum err read_at(int fd, char *text, size_t size)
{
    ssize_t got = pread(fd, text, size - 1, 0);
    if (got < 0)
        return gone_or(errno);
    text[got] = '\0';
    return OK;
}

static enum err read_file(struct cgroup_mounts *mounts, int *kept, uint32_t pid, const char *name,
                          struct process_values *values)
{
    char path[64], text[4096];
    int fd = *kept;
    if (fd < 0) {
        snprintf(path, sizeof path, "%u/%s", pid, name);
        fd = openat(mounts->proc_fd, path, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0)
        return gone_or(errno);
    enum err err = read_at(fd, text, sizeof text);
    if (*kept < 0 && !cgroup_mounts_keep_fd(mounts, kept, fd))
        close(fd);
    if (!err)
        process_files_parse(text, values);
    return err;
}

enum err process_files_read(struct process_files *files, struct cgroup_mounts *mounts, uint32_t pid, bool with_pss,
                            struct process_values *values)
{
    *values = (struct process_values){ 0 };
    enum err err = read_file(mounts, &files->status_fd, pid, "status", values);
    if (err)
        return err;
    if (read_file(mounts, &files->io_fd, pid, "io", values) == GONE)
        return GONE;
    if (with_pss && values->state != 'Z')
        read_file(mounts, &files->smaps_fd, pid, "smaps_rollup", values);
    return OK;
}
