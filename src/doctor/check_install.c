/* Checks Sonde's own files. Leaves nothing behind. */
#include "doctor/check_install.h"

#include "api/agent_client.h"
#include "api/schema.h"
#include "base/format.h"
#include "base/install_paths.h"
#include "base/mask.h"
#include "base/shell.h"
#include "run/spool_dir.h"
#include "spool/probe_env.h"
#include "store/driver.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define AGENT_ANSWER_MAX (1u << 20)
#define SPACE_FEW_BYTES (64ull << 20)

void check_install_probe(const struct doctor_target *target, struct finding *finding)
{
    (void)target;
    char path[PATH_MAX];
    enum err err = install_paths_find(PROBE_LIBRARY, path, sizeof path);
    if (err)
        finding_missing(finding, "Reinstall Sonde: libsonde-process.so belongs into lib/sonde next to bin/sonde",
                        "The library is missing: only kernel data is recorded");
    else if (access(path, R_OK))
        finding_missing(finding, "Make it readable: chmod a+rx", "Cannot read %s: %s", path, strerror(errno));
    else if (strpbrk(path, " :"))
        finding_missing(finding, "Install Sonde elsewhere", "%s has a space or a colon in its path, which separate "
                                                            "names in LD_PRELOAD: only kernel data is recorded", path);
    else
        finding_available(finding, "%s", path);
}

static uint64_t free_bytes(const char *path)
{
    struct statvfs fs;
    return statvfs(path, &fs) ? 0 : (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* Creates a spool, as sonde run does, and removes it again. */
void check_install_spool(const struct doctor_target *target, struct finding *finding)
{
    (void)target;
    struct spool_dir spool;
    char fault[PATH_MAX], run_id[RUN_ID_MAX];
    spool_dir_run_id("doctor", run_id);
    enum err err = spool_dir_create(&spool, NULL, run_id, fault);
    if (err) {
        finding_missing(finding, "Set $TMPDIR to a directory that you can write to, or use sonde run -o DIR",
                        "Cannot use %s: %s", fault, spool_dir_reason(err));
        return;
    }
    uint64_t free_space = free_bytes(spool.dir);
    char *last = strrchr(spool.dir, '/');
    spool_dir_remove(&spool);
    if (last)
        *last = '\0';
    if (free_space < SPACE_FEW_BYTES)
        finding_missing(finding, "Free space, or use sonde run -o DIR",
                        "%s has only %s left, too little for a long run", spool.dir, format_bytes(free_space).s);
    else
        finding_available(finding, "%s, %s free", spool.dir, format_bytes(free_space).s);
}

/* The lock is free: the run is over. */
static bool is_left_over(int dir_fd, const char *name)
{
    size_t size = strlen(name);
    if (size < 6 || strcmp(name + size - 6, ".spool"))
        return false;
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool is_free = flock(fd, LOCK_SH | LOCK_NB) == 0;
    close(fd);
    return is_free;
}

static size_t count_left_over(const char *path)
{
    size_t count = 0;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += is_left_over(dirfd(dir), entry->d_name);
    if (dir)
        closedir(dir);
    return count;
}

void check_install_left_over(const struct doctor_target *target, struct finding *finding)
{
    (void)target;
    const char *tmp = getenv("TMPDIR");
    char base[PATH_MAX], path[PATH_MAX + 256];
    struct buf fix;
    size_t count = 0;
    snprintf(base, sizeof base, "%s/sonde-%u/spool", tmp && tmp[0] == '/' ? tmp : "/tmp", (unsigned)geteuid());
    DIR *dir = opendir(base);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
        count += count_left_over(path);
    }
    if (dir)
        closedir(dir);
    buf_init(&fix, 5 * PATH_MAX);
    buf_add_text(&fix, "sonde submit ");
    shell_add_args(&fix, bytes_of(base));
    if (count)
        finding_missing(finding, buf_text(&fix), "%zu run%s not saved yet", count, count == 1 ? " is" : "s are");
    else
        finding_available(finding, "none");
    buf_clear(&fix);
}

/* The nearest existing directory above path. */
static void directory_above(char path[PATH_MAX])
{
    for (;;) {
        char *slash = strrchr(path, '/');
        struct stat st;
        if (!slash) {
            snprintf(path, PATH_MAX, ".");
            return;
        }
        *(slash == path ? slash + 1 : slash) = '\0';
        if (!stat(path, &st) || slash == path)
            return;
    }
}

static void check_directory(const char *path, bool exists, struct finding *finding)
{
    char directory[PATH_MAX];
    snprintf(directory, sizeof directory, "%s", path);
    directory_above(directory);
    if ((exists && access(path, W_OK)) || access(directory, W_OK | X_OK))
        finding_missing(finding, "Set $SONDE_DB to a location that you can write to", "Cannot write to %s",
                        exists ? path : directory);
    else if (free_bytes(directory) < SPACE_FEW_BYTES)
        finding_missing(finding, "Free space, or set $SONDE_DB to another location", "%s has only %s left", directory,
                        format_bytes(free_bytes(directory)).s);
    else
        finding_available(finding, "%s%s, %s free", path, exists ? "" : " (will be created)",
                          format_bytes(free_bytes(directory)).s);
}

/* Jobs are sent to the collector instead of a database of this user. */
static void check_agent_store(struct finding *finding)
{
    char path[AGENT_CLIENT_PATH_MAX];
    if (!agent_client_socket(path) && !agent_client_find(path))
        finding_available(finding, STORE_AGENT " sonde run sends jobs to the agent of this node");
    else
        finding_missing(finding, "Start an agent with a collector on this node, or set $SONDE_DB to a file",
                        STORE_AGENT " sonde run would send jobs to the agent of this node, but none is running");
}

static const char *store_fix(enum err err, const char *message)
{
    if (err != USAGE)
        return "Set $SONDE_DB to another location, or move the file away";
    return message && strstr(message, "newer version of Sonde") ? "Use the newer Sonde that created it, or another $SONDE_DB"
                                                     : "Set $SONDE_DB to the name of a file, which is created if missing";
}

void check_install_store(const struct doctor_target *target, struct finding *finding)
{
    char path[PATH_MAX], *message = NULL;
    struct store *store;
    if (target->db)
        snprintf(path, sizeof path, "%s", target->db);
    else if (store_default_path(path, sizeof path)) {
        finding_missing(finding, "Set $HOME or $SONDE_DB", "The location of the job database is unknown");
        return;
    }
    if (!strcmp(path, STORE_AGENT)) {
        check_agent_store(finding);
        return;
    }
    enum err err = store_open(&store, path, STORE_READ, &message);
    store_close(&store);
    bool is_url = driver_is_url(path);
    char *shown = mask_copy(path);
    if (is_url && (!err || (err == ABSENT && message && strstr(message, "is empty"))))
        finding_available(finding, "%s%s", shown ? shown : "", err ? " (its tables will be created)" : "");
    else if (is_url)
        finding_missing(finding, "Start the server and grant access to this user, or set another $SONDE_DB", "%s",
                        message ? message : err_text(err));
    else if (!err || err == ABSENT)
        check_directory(path, !err, finding);
    else
        finding_missing(finding, store_fix(err, message), "%s: %s", path, message ? message : err_text(err));
    free(shown);
    free(message);
}

/* Any response will do: it is running. */
void check_install_agent(const struct doctor_target *target, struct finding *finding)
{
    (void)target;
    char path[AGENT_CLIENT_PATH_MAX];
    struct buf answer;
    int status;
    if (agent_client_socket(path)) {
        finding_missing(finding, "Set $XDG_RUNTIME_DIR or $SONDE_SOCKET_DIR before starting it",
                        "There is no safe directory for the socket of an agent of this user");
        return;
    }
    buf_init(&answer, AGENT_ANSWER_MAX);
    enum err err = agent_client_find(path);
    if (!err)
        err = agent_client_request("", "GET", API_PATH_JOBS, (struct bytes){ 0 }, &answer, &status);
    buf_clear(&answer);
    if (!err || err == FULL)
        finding_available(finding, "running, listening on %s", path);
    else if (err == ABSENT)
        finding_missing(finding, "If you want to monitor the node: systemctl enable --now sonde-agent, or sonde agent",
                        "Not running");
    else
        finding_missing(finding, "See its log: journalctl -u sonde-agent", "It does not respond on %s: %s", path,
                        err_text(err));
}
