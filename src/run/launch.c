/* Fork, restore, exec; and the environment in between. */
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

static const char *const ours[] = { PRELOAD, PROBE_ENV_SPOOL, PROBE_ENV_FLAGS, PROBE_ENV_EVENTS, PROBE_ENV_SOCKET,
                                    SEGMENT_ENV_DIR, PROBE_ENV_CALLS };

/* The value when entry is "name=value". */
static const char *value_of(const char *entry, const char *name)
{
    size_t size = strlen(name);
    return strncmp(entry, name, size) == 0 && entry[size] == '=' ? entry + size + 1 : NULL;
}

static bool is_ours(const char *entry)
{
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (value_of(entry, ours[i]))
            return true;
    return false;
}

/* Is path one of those in list, which has blanks or colons between? */
static bool lists(const char *list, const char *path)
{
    size_t size = strlen(path);
    for (const char *at = list; (at = strstr(at, path)); at++)
        if ((at == list || strchr(" :", at[-1])) && (!at[size] || strchr(" :", at[size])))
            return true;
    return false;
}

/* Unless it is there already. */
static void add_library(struct buf *texts, const char *before, const char *library, bool *is_first)
{
    if (!library || !*library || (before && lists(before, library)))
        return;
    if (!*is_first)
        buf_add_char(texts, ':');
    *is_first = false;
    buf_add_text(texts, library);
}

static void add_preload(struct buf *texts, char *const *base, const struct launch_probe *probe)
{
    const char *before = NULL;
    for (; *base && !before; base++)
        before = value_of(*base, PRELOAD);
    buf_add_text(texts, PRELOAD "=");
    if (before)
        buf_add_text(texts, before);
    bool is_first = !before || !*before;
    add_library(texts, before, probe->library, &is_first);
    for (size_t i = 0; i < LAUNCH_EXTRA_LIBRARIES; i++)
        add_library(texts, before, probe->also[i], &is_first);
    buf_add_char(texts, '\0');
}

static void add_variable(struct buf *texts, const char *name, const char *value)
{
    if (!value)
        return;
    buf_printf(texts, "%s=%s", name, value);
    buf_add_char(texts, '\0');
}

char **launch_environment(char *const *base, const struct launch_probe *probe, char **texts)
{
    struct buf new_texts;
    buf_init(&new_texts, ENVIRONMENT_MAX);
    add_preload(&new_texts, base, probe);
    add_variable(&new_texts, PROBE_ENV_SPOOL, probe->spool);
    add_variable(&new_texts, PROBE_ENV_FLAGS, probe->flags);
    add_variable(&new_texts, PROBE_ENV_EVENTS, probe->events);
    add_variable(&new_texts, PROBE_ENV_SOCKET, probe->socket);
    add_variable(&new_texts, SEGMENT_ENV_DIR, probe->segments);
    add_variable(&new_texts, PROBE_ENV_CALLS, probe->calls);
    size_t count = 0, kept = 0;
    while (base[count])
        count++;
    char **all = buf_err(&new_texts) ? NULL : malloc((count + sizeof ours / sizeof *ours + 1) * sizeof *all);
    if (!all) {
        buf_clear(&new_texts);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (!is_ours(base[i]))
            all[kept++] = base[i];
    for (size_t at = 0; at < new_texts.size; at += strlen(new_texts.data + at) + 1)
        all[kept++] = new_texts.data + at;
    all[kept] = NULL;
    *texts = new_texts.data;
    return all;
}

/* Whether a folder of PATH that this user may look into has the command. */
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

/* A folder of PATH that is closed to this user makes exec say EACCES of a command that is nowhere: shells know better. */
static int exec_error(const char *command)
{
    int error = errno;
    return error == EACCES && !strchr(command, '/') && !is_in_path(command) ? ENOENT : error;
}

/* An environment that was just small enough is not any more with what the probe needs: then without. */
static int exec_command(const struct launch *launch, char *const *environment)
{
    execvpe(launch->command[0], launch->command, environment);
    if (errno == E2BIG && environment != environ)
        execvpe(launch->command[0], launch->command, environ);
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

/* In the new process. What is told through the pipe is the errno of an exec that failed; the pipe closes by itself when
 * it worked. */
static void become(const struct launch *launch, char *const *environment, const struct itimers *itimers, int error_fd)
{
    itimers_give(itimers); /* while signals are blocked: what runs out before the exec waits for it */
    restore_limits(launch->limits);
    if (launch->signals)
        signals_restore(launch->signals);
    if (launch->tracer_launch)
        tracer_launch_enter(launch->tracer_launch);
    if (launch->perf)
        perf_command_open(launch->perf, environment);
    int error = exec_command(launch, environment);
    while (write(error_fd, &error, sizeof error) < 0 && errno == EINTR)
        continue;
    _exit(launch_status(error));
}

/* 0: exec worked. */
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
    int tell[2];
    struct itimers itimers;
    if (pipe2(tell, O_CLOEXEC) != 0) {
        *error = errno;
        return AGAIN;
    }
    itimers_take(&itimers);
    *pid = fork();
    if (*pid == 0)
        become(launch, environment, &itimers, tell[1]);
    *error = errno;
    close(tell[1]);
    if (*pid > 0)
        *error = await_exec(tell[0]);
    else
        itimers_give(&itimers);
    close(tell[0]);
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
    char *texts = NULL;
    char **all = launch->probe ? launch_environment(environ, launch->probe, &texts) : NULL;
    enum err err = start(launch, all ? all : environ, pid, error);
    free(all);
    free(texts);
    return err;
}
