/* Runs programs with the probe for unit tests. */
#include "tools/probed.h"

#include "spool/probe_env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    abort();
}

void probed_open(struct probed *probed)
{
    *probed = (struct probed){ 0 };
    temp_dir(probed->dir);
    temp_join(probed->spool, probed->dir, "spool");
    temp_join(probed->lost, probed->dir, "spool" SPOOL_LOST_SUFFIX);
    temp_join(probed->out, probed->dir, "out");
    temp_write(probed->spool, "", 0);
    temp_write(probed->lost, "\0\0\0\0\0\0\0", 8);
}

static void forget(struct probed *probed)
{
    spool_close(&probed->reader);
    free(probed->records);
    probed->records = NULL;
    probed->count = 0;
}

void probed_close(struct probed *probed)
{
    forget(probed);
    temp_remove(probed->dir);
}

/* A variable in the environment of the child about to exec. */
static void set(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        die("setenv");
}

static void become(const struct probed *probed, char *const *argv, bool probe)
{
    int out = open(probed->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out < 0 || dup2(out, STDOUT_FILENO) < 0)
        die(probed->out);
    close(out);
    unsetenv(PROBE_ENV_FLAGS);
    if (probe) {
        set("LD_PRELOAD", getenv("PROBE"));
        set(PROBE_ENV_SPOOL, probed->spool);
    }
    for (const char *const *env = probed->env; *env; env++)
        putenv((char *)*env);
    execvp(argv[0], argv);
    die(argv[0]);
}

static void run(struct probed *probed, char *const *argv, bool probe)
{
    probed->pid = fork();
    if (probed->pid == 0)
        become(probed, argv, probe);
    if (probed->pid < 0 || wait4(probed->pid, &probed->status, 0, &probed->usage) != probed->pid)
        die("cannot run the program");
}

void probed_read(struct probed *probed)
{
    struct probed_record record;
    size_t room = 0;
    forget(probed);
    if (spool_open(&probed->reader, probed->spool) != OK)
        return;
    while (spool_next(&probed->reader, &record.kind, &record.body) == OK) {
        if (probed->count == room) {
            room = 2 * room + 64;
            probed->records = realloc(probed->records, room * sizeof record);
            if (!probed->records)
                die("records");
        }
        probed->records[probed->count++] = record;
    }
}

void probed_program(struct probed *probed, char *const *argv)
{
    run(probed, argv, true);
    probed_read(probed);
}

void probed_bare(struct probed *probed, char *const *argv)
{
    run(probed, argv, false);
}

void probed_act(struct probed *probed, const char *what, const char *more)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, getenv("TOOLS"), "acts");
    probed_program(probed, (char *[]){ path, (char *)what, (char *)more, NULL });
}

uint64_t probed_lost(const struct probed *probed)
{
    uint64_t lost = 0;
    int fd = open(probed->lost, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &lost, sizeof lost) != sizeof lost)
        die(probed->lost);
    close(fd);
    return lost;
}

size_t probed_output(const struct probed *probed, char *text, size_t size)
{
    int fd = open(probed->out, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
    if (got < 0)
        die(probed->out);
    close(fd);
    text[got] = '\0';
    return (size_t)got;
}

size_t probed_count(const struct probed *probed, enum record_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < probed->count; i++)
        count += probed->records[i].kind == kind;
    return count;
}

static const struct probed_record *nth(const struct probed *probed, size_t n, enum record_kind kind)
{
    for (size_t i = 0; i < probed->count; i++)
        if (probed->records[i].kind == kind && n-- == 0)
            return &probed->records[i];
    return NULL;
}

#define X(number, name, fields) \
    bool probed_##name(const struct probed *probed, size_t n, struct name##_record *record) \
    { \
        const struct probed_record *found = nth(probed, n, RECORD_KIND_##name); \
        return found && record_unpack_##name(found->body, record) == OK; \
    }
RECORD_KINDS(X)
#undef X
