/* Runs sonde run on a shell that starts another one; then reads the job back from the database. */
#include "doctor/trial_run.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/format.h"
#include "base/install_paths.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIAL_STATUS 7
#define TRIAL_PROCESSES 2
#define TRIAL_SCRIPT "/bin/sh -c 'exit 3'; exit 7"

enum { RAN, PROBED, SAVED };

struct trial {
    char dir[PATH_MAX - 64], db[PATH_MAX], errors[PATH_MAX];
    int status; /* wait status of sonde run */
    uint64_t took_ns;
    unsigned processes, probed, samples;
};

static enum err make_dir(struct trial *trial)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(trial->dir, sizeof trial->dir, "%s/sonde-doctor-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp");
    if (!mkdtemp(trial->dir))
        return err_from_errno(errno);
    snprintf(trial->db, sizeof trial->db, "%s/sonde.db", trial->dir);
    snprintf(trial->errors, sizeof trial->errors, "%s/errors", trial->dir);
    return OK;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void remove_dir(const struct trial *trial)
{
    nftw(trial->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* In the child: spool and job database are in the directory of the trial, stderr goes to a file there. */
static void become_run(const struct trial *trial, const char *binary)
{
    char *arguments[] = { "sonde", "run", "-j", "doctor", "-n", "doctor", "-p", "10ms", "--", "/bin/sh", "-c",
                          TRIAL_SCRIPT, NULL };
    int null = open("/dev/null", O_RDWR), errors = open(trial->errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    setenv("SONDE_DB", trial->db, 1);
    setenv("TMPDIR", trial->dir, 1);
    unsetenv("SONDE_SPOOL");
    execv(binary, arguments);
    _exit(127);
}

static enum err run_binary(struct trial *trial)
{
    char binary[PATH_MAX];
    enum err err = install_paths_executable(binary, sizeof binary);
    if (err)
        return err;
    uint64_t begin_ns = clock_monotonic_ns();
    pid_t pid = fork();
    if (pid == 0)
        become_run(trial, binary);
    if (pid < 0)
        return err_from_errno(errno);
    while (waitpid(pid, &trial->status, 0) < 0)
        if (errno != EINTR)
            return err_from_errno(errno);
    trial->took_ns = clock_monotonic_ns() - begin_ns;
    return OK;
}

static enum err count_process(void *context, uint32_t number, const struct process *process)
{
    struct trial *trial = context;
    (void)number;
    trial->processes++;
    trial->probed += (process->sources & SEEN_PROBE) != 0;
    return OK;
}

static enum err count_samples(void *context, const char *host, const struct run_series *series)
{
    struct trial *trial = context;
    (void)host;
    trial->samples += (unsigned)series->count;
    return OK;
}

/* Also checks that it is the right job: the one with our exit status. */
static enum err read_back(struct trial *trial)
{
    char *message = NULL;
    struct store *store;
    struct store_job job;
    enum err err = store_open(&store, trial->db, STORE_READ, &message);
    free(message);
    if (err)
        return err;
    err = store_job(store, "doctor", &job);
    if (!err) {
        if (!job.status_known || job.exit_code != TRIAL_STATUS)
            err = CORRUPT;
        if (!err)
            err = store_processes(store, job.row, count_process, trial);
        if (!err)
            err = store_series(store, job.row, count_samples, trial);
        store_job_clear(&job);
    }
    if (!err && trial->processes < TRIAL_PROCESSES)
        err = ABSENT;
    store_close(&store);
    return err;
}

/* The first line that sonde run wrote to stderr. */
static void read_message(const struct trial *trial, char *message_text, size_t size)
{
    if (file_read_line("", trial->errors, message_text, size) || !message_text[0])
        snprintf(message_text, size, "no error message");
}

static void report_run(const struct trial *trial, const char *message_text, struct finding *finding)
{
    if (WIFEXITED(trial->status) && WEXITSTATUS(trial->status) == TRIAL_STATUS)
        finding_available(finding, "a program ran and returned its exit status, in %s",
                          format_duration(trial->took_ns).s);
    else if (WIFSIGNALED(trial->status))
        finding_missing(finding, "Report this", "sonde run was terminated by signal %d: %s", WTERMSIG(trial->status),
                        message_text);
    else
        finding_missing(finding, "Report this", "sonde run exited with status %d instead of %d: %s",
                        WEXITSTATUS(trial->status), TRIAL_STATUS, message_text);
}

static void report_probe(const struct trial *trial, struct finding *finding)
{
    if (trial->probed)
        finding_available(finding, "loaded into %u of %u processes", trial->probed, trial->processes);
    else
        finding_missing(finding, "Check that the probe library was found; a static /bin/sh cannot load it either",
                        "Not loaded into any of the %u processes", trial->processes);
}

static void report_saved(const struct trial *trial, enum err err, const char *message_text, struct finding *finding)
{
    if (!err)
        finding_available(finding, "%u processes and %u samples were saved and read back", trial->processes,
                          trial->samples);
    else
        finding_missing(finding, "Check that spool and job database are usable",
                        "Cannot read the job back (%s). Message of sonde run: %s", err_text(err), message_text);
}

static void report_untried(enum err err, struct finding findings[TRIAL_RUN_FINDINGS])
{
    for (int i = 0; i < TRIAL_RUN_FINDINGS; i++)
        finding_missing(&findings[i], "Set $TMPDIR to a directory that you can write to", "Cannot try it: %s",
                        err_text(err));
}

void trial_run(struct finding findings[TRIAL_RUN_FINDINGS])
{
    struct trial trial = { 0 };
    char message_text[FINDING_TEXT_MAX / 2];
    findings[RAN] = (struct finding){ .group = "Trial run", .name = "run", .essential = true };
    findings[PROBED] = (struct finding){ .group = "Trial run", .name = "probe loads" };
    findings[SAVED] = (struct finding){ .group = "Trial run", .name = "store", .essential = true };
    enum err err = make_dir(&trial);
    if (err) {
        report_untried(err, findings);
        return;
    }
    err = run_binary(&trial);
    if (err) {
        report_untried(err, findings);
    } else {
        err = read_back(&trial);
        read_message(&trial, message_text, sizeof message_text);
        report_run(&trial, message_text, &findings[RAN]);
        report_probe(&trial, &findings[PROBED]);
        report_saved(&trial, err, message_text, &findings[SAVED]);
    }
    remove_dir(&trial);
}
