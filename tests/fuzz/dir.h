/* A directory for the files of a fuzz target: in memory if possible, empty for each input, removed at the end. */
#ifndef SONDE_TESTS_FUZZ_DIR_H
#define SONDE_TESTS_FUZZ_DIR_H

#include "base/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char fuzz_dir[64];

static inline void fuzz_require(int holds)
{
    if (!holds)
        abort();
}

static inline void fuzz_dir_empty(void)
{
    DIR *list = opendir(fuzz_dir);
    for (struct dirent *one; list && (one = readdir(list));)
        if (one->d_name[0] != '.')
            unlinkat(dirfd(list), one->d_name, 0);
    closedir(list);
}

static inline void fuzz_dir_remove(void)
{
    fuzz_dir_empty();
    rmdir(fuzz_dir);
}

/* Also silences the log. */
static inline void fuzz_dir_begin(void)
{
    if (*fuzz_dir) {
        fuzz_dir_empty();
        return;
    }
    snprintf(fuzz_dir, sizeof fuzz_dir, "%s/sonde-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    fuzz_require(mkdtemp(fuzz_dir) != NULL);
    atexit(fuzz_dir_remove);
    log_set_level(-1);
}

static inline void fuzz_dir_path(char path[128], const char *name)
{
    snprintf(path, 128, "%s/%s", fuzz_dir, name);
}

static inline void fuzz_dir_write(const char *name, const void *data, size_t size)
{
    char path[128];
    fuzz_dir_path(path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

#endif
