/* Starts the command: fork, restore signals, limits and timers, exec; and builds its environment. */
#include "run/launch.h"

#include "base/buf.h"
#include "appmetrics/segment_format.h"
#include "run/itimers.h"
#include "spool/probe_env.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD"
#define ENVIRONMENT_MAX (4 << 20)

static const char *const our_variables[] = { PRELOAD, PROBE_ENV_SPOOL, PROBE_ENV_FLAGS, PROBE_ENV_EVENTS, PROBE_ENV_SOCKET,
                                    SEGMENT_ENV_DIR, PROBE_ENV_CALLS };

/* The value if entry is "name=value". */
static const char *value_of(const char *entry, const char *name)
{
    size_t size = strlen(name);
    return strncmp(entry, name, size) == 0 && entry[size] == '=' ? entry + size + 1 : NULL;
}

static bool is_ours(const char *entry)
{
    for (size_t i = 0; i < sizeof our_variables / sizeof *our_variables; i++)
        if (value_of(entry, our_variables[i]))
            return true;
    return false;
}

/* Is path an element of list, which is separated by blanks or colons? */
static bool lists(const char *list, const char *path)
{
    size_t size = strlen(path);
    for (const char *at = list; (at = strstr(at, path)); at++)
        if ((at == list || strchr(" :", at[-1])) && (!at[size] || strchr(" :", at[size])))
            return true;
    return false;
}

/* Unless it is already listed. */
static void add_library(struct buf *strings, const char *before, const char *library, bool *is_first)
{
    if (!library || !*library || (before && lists(before, library)))
        return;
    if (!*is_first)
        buf_add_char(strings, ':');
    *is_first = false;
    buf_add_text(strings, library);
}

static void add_preload(struct buf *strings, char *const *base, const struct launch_probe *probe)
{
    const char *before = NULL;
    for (; *base && !before; base++)
        before = value_of(*base, PRELOAD);
    buf_add_text(strings, PRELOAD "=");
    if (before)
        buf_add_text(strings, before);
    bool is_first = !before || !*before;
    add_library(strings, before, probe->library, &is_first);
    for (size_t i = 0; i < LAUNCH_EXTRA_LIBRARIES; i++)
        add_library(strings, before, probe->extra[i], &is_first);
    buf_add_char(strings, '\0');
}

static void add_variable(struct buf *strings, const char *name, const char *value)
{
    if (!value)
        return;
    buf_printf(strings, "%s=%s", name, value);
    buf_add_char(strings, '\0');
}

char **launch_environment(char *const *base, const struct launch_probe *probe, char **strings)
{
    struct buf new_strings;
    buf_init(&new_strings, ENVIRONMENT_MAX);
    add_preload(&new_strings, base, probe);
    add_variable(&new_strings, PROBE_ENV_SPOOL, probe->spool);
    add_variable(&new_strings, PROBE_ENV_FLAGS, probe->flags);
    add_variable(&new_strings, PROBE_ENV_EVENTS, probe->events);
    add_variable(&new_strings, PROBE_ENV_SOCKET, probe->socket);
    add_variable(&new_strings, SEGMENT_ENV_DIR, probe->segments);
    add_variable(&new_strings, PROBE_ENV_CALLS, probe->calls);
    size_t count = 0, kept = 0;
    while (base[count])
        count++;
    char **all = buf_err(&new_strings) ? NULL : malloc((count + sizeof our_variables / sizeof *our_variables + 1) * sizeof *all);
    if (!all) {
        buf_clear(&new_strings);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (!is_ours(base[i]))
            all[kept++] = base[i];
    for (size_t at = 0; at < new_strings.size; at += strlen(new_strings.data + at) + 1)
        all[kept++] = new_strings.data + at;
    all[kept] = NULL;
    *strings = new_strings.data;
    return all;
}

/* Is the command in a directory of PATH that this user can read? */
static bool is_in_path(const char *name)
{
    char path[PATH_MAX];
    const char *at = getenv("PATH");
    while (at) {
        size_t size = strcspn(at, ":");
        int all = snprintf(path, sizeof path, "%.*s/%s", size ? (int)size : 1, size ? at : ".", name);
        if (all < (int)sizeof path && access(path, F_OK) == 0)
            return true;
        at = at[size] ? at + size + 1 : NULL;
    }
    return false;
}

/* An unreadable directory in PATH makes exec fail with EACCES for a command that does not exist anywhere. Report
 * what shells report. */
static int exec_error(const char *command)
{
    int error = errno;
    return error == EACCES && !strchr(command, '/') && !is_in_path(command) ? ENOENT : error;
}

/* If the environment becomes too large with the probe's variables, run without the probe. */
static int exec_command(const struct launch *launch, char *const *environment)
{
    const char *file = launch->file ? launch->file : launch->command[0];
    execvpe(file, launch->command, environment);
    if (errno == E2BIG && environment != environ)
        execvpe(file, launch->command, environ);
    return exec_error(launch->command[0]);
}

static bool raise_limit(int resource, struct rlimit *before)
{
    if (getrlimit(resource, before))
        return false;
    struct rlimit all = { before->rlim_max, before->rlim_max };
    setrlimit(resource, &all);
    return true;
}

void launch_raise_limits(struct launch_limits *raised)
{
    raised->files_known = raise_limit(RLIMIT_NOFILE, &raised->files);
    raised->file_size_known = raise_limit(RLIMIT_FSIZE, &raised->file_size);
}

static void restore_limits(const struct launch_limits *limits)
{
    if (limits && limits->files_known)
        setrlimit(RLIMIT_NOFILE, &limits->files);
    if (limits && limits->file_size_known)
        setrlimit(RLIMIT_FSIZE, &limits->file_size);
}

/* In the new process. If exec fails, its errno is written to the pipe; if it succeeds, the pipe is closed. */
static void become(const struct launch *launch, char *const *environment, const struct itimers *itimers, int error_fd)
{
    itimers_give(itimers); /* while signals are blocked: if a timer expires before the exec, its signal stays pending */
    restore_limits(launch->limits);
    if (launch->signals)
        signals_restore(launch->signals);
    if (launch->tracer_launch)
        tracer_launch_enter(launch->tracer_launch);
    if (launch->perf)
        perf_command_open(launch->perf, environment);
    if (launch->before_exec)
        launch->before_exec(launch->context);
    int error = exec_command(launch, launch->probe ? environment : environ);
    while (write(error_fd, &error, sizeof error) < 0 && errno == EINTR)
        continue;
    _exit(launch_status(error));
}

/* 0: exec succeeded. */
static int await_exec(int fd)
{
    int error = 0;
    ssize_t got;
    do
        got = read(fd, &error, sizeof error);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof error ? error : 0;
}

static enum err start(const struct launch *launch, char *const *environment, pid_t *pid, int *error)
{
    int error_pipe[2];
    struct itimers itimers;
    if (pipe2(error_pipe, O_CLOEXEC) != 0) {
        *error = errno;
        return AGAIN;
    }
    itimers_take(&itimers);
    *pid = fork();
    if (*pid == 0)
        become(launch, environment, &itimers, error_pipe[1]);
    *error = errno;
    close(error_pipe[1]);
    if (*pid > 0)
        *error = await_exec(error_pipe[0]);
    else
        itimers_give(&itimers);
    close(error_pipe[0]);
    if (*pid < 0)
        return AGAIN;
    if (!*error)
        return OK;
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return *error == ENOENT ? ABSENT : DENIED;
}

int launch_status(int error)
{
    return error == ENOENT ? 127 : 126;
}

void launch_exec_in_place(const struct launch *launch, int *error)
{
    restore_limits(launch->limits);
    if (launch->signals)
        signals_restore(launch->signals);
    *error = exec_command(launch, environ);
}

enum err launch_start(const struct launch *launch, pid_t *pid, int *error)
{
    char *strings = NULL;
    char **all = launch->probe ? launch_environment(environ, launch->probe, &strings) : NULL;
    enum err err = start(launch, all ? all : environ, pid, error);
    free(all);
    free(strings);
    return err;
}
