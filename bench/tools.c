/* Helpers of the programs in bench/. */
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char probe[PATH_MAX], directory[PATH_MAX], spool[PATH_MAX + 16], lost[PATH_MAX + 16];

uint64_t tools_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

double tools_smaller(double a, double b)
{
    return a < b ? a : b;
}

void tools_die(const char *message)
{
    fprintf(stderr, "%s\n", message);
    exit(1);
}

static void make_file(const char *path, const char *text, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size)
        tools_die("cannot create a spool below $TMPDIR");
    close(fd);
}

void tools_spool_make(const char *probe_path)
{
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/sonde-bench-XXXXXX", base && *base ? base : "/tmp");
    if (!realpath(probe_path, probe) || !mkdtemp(directory))
        tools_die("the probe does not exist, or cannot create a directory below $TMPDIR");
    snprintf(spool, sizeof spool, "%s/spool", directory);
    snprintf(lost, sizeof lost, "%s/spool.lost", directory);
    make_file(spool, "", 0);
    make_file(lost, "\0\0\0\0\0\0\0", 8);
}

const char *tools_spool_path(void)
{
    return spool;
}

uint64_t tools_spool_bytes(void)
{
    struct stat st;
    return stat(spool, &st) == 0 ? (uint64_t)st.st_size : 0;
}

void tools_spool_empty(void)
{
    if (truncate(spool, 0) != 0)
        tools_die("cannot empty the spool");
}

void tools_spool_remove(void)
{
    unlink(spool);
    unlink(lost);
    rmdir(directory);
}

static void set_environment(bool with_probe)
{
    if (with_probe) {
        setenv("LD_PRELOAD", probe, 1);
        setenv("SONDE_SPOOL", spool, 1);
    } else {
        unsetenv("LD_PRELOAD");
        unsetenv("SONDE_SPOOL");
    }
}

static void run(char **argv, bool with_probe, posix_spawn_file_actions_t *actions)
{
    pid_t pid;
    int status;
    extern char **environ;
    set_environment(with_probe);
    if (posix_spawn(&pid, argv[0], actions, NULL, argv, environ) != 0 || waitpid(pid, &status, 0) != pid || status != 0)
        tools_die("cannot run the program to measure");
    set_environment(false);
}

bool tools_succeeds(char **argv)
{
    pid_t pid;
    int status;
    extern char **environ;
    return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

void tools_run(char **argv, bool with_probe)
{
    run(argv, with_probe, NULL);
}

double tools_run_number(char **argv, bool with_probe)
{
    posix_spawn_file_actions_t actions;
    int ends[2];
    char text[64] = "";
    if (pipe2(ends, O_CLOEXEC) != 0)
        tools_die("cannot create a pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    run(argv, with_probe, &actions);
    posix_spawn_file_actions_destroy(&actions);
    if (read(ends[0], text, sizeof text - 1) <= 0)
        tools_die("the program to measure printed nothing");
    close(ends[0]);
    close(ends[1]);
    return strtod(text, NULL);
}
