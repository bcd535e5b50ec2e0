/* Where Sonde's own files are, and whether they can be used. Nothing is made that stays. */
#include "doctor/check_install.h"

#include "net/http_client.h"
#include "base/install_paths.h"
#include "base/shell.h"
#include "base/text.h"
#include "store/driver.h"
#include "store/store.h"
#include "run/spool_dir.h"

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

void doctor_parts_probe(const struct place *place, struct finding *finding)
{
    (void)place;
    char path[PATH_MAX];
    enum err err = self_find_probe(path, sizeof path);
    if (err)
        finding_missing(finding, "Install Sonde again: libsonde-process.so belongs into lib/sonde beside bin/sonde",
                        "The library is not there: only what the kernel tells is recorded");
    else if (access(path, R_OK))
        finding_missing(finding, "Let everybody read it: chmod a+rx", "%s cannot be read: %s", path, strerror(errno));
    else if (strpbrk(path, " :"))
        finding_missing(finding, "Install or move Sonde elsewhere", "%s has a blank or a colon in its path, which the loader "
                        "takes for the end of a name: only what the kernel tells is recorded", path);
    else
        finding_there(finding, "%s", path);
}

static uint64_t free_bytes(const char *path)
{
    struct statvfs fs;
    return statvfs(path, &fs) ? 0 : (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* A whole spool is made, as sonde run does, and taken away again. */
void doctor_parts_spool(const struct place *place, struct finding *finding)
{
    (void)place;
    struct spool_dir spool;
    char fault[PATH_MAX], run_id[RUN_ID_MAX];
    spool_dir_run_id("doctor", run_id);
    enum err err = spool_dir_make(&spool, NULL, run_id, fault);
    if (err) {
        finding_missing(finding, "Give $TMPDIR a folder that you can write to, or use sonde run -o DIR",
                        "%s cannot be used: %s", fault, spool_dir_reason(err));
        return;
    }
    uint64_t room = free_bytes(spool.dir);
    char *last = strrchr(spool.dir, '/');
    spool_dir_remove(&spool);
    if (last)
        *last = '\0';
    if (room < SPACE_FEW_BYTES)
        finding_missing(finding, "Free space, or use sonde run -o DIR", "%s has %s left: a long run would not fit",
                        spool.dir, text_bytes(room).s);
    else
        finding_there(finding, "%s, %s free", spool.dir, text_bytes(room).s);
}

/* Nobody holds its lock: the run is over. */
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

void doctor_parts_left_over(const struct place *place, struct finding *finding)
{
    (void)place;
    const char *tmp = getenv("TMPDIR");
    char base[PATH_MAX], path[PATH_MAX + 256];
    struct buf remedy;
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
    buf_init(&remedy, 5 * PATH_MAX);
    buf_add_text(&remedy, "sonde submit ");
    shell_add_words(&remedy, bytes_of(base));
    if (count)
        finding_missing(finding, buf_text(&remedy), "%zu run%s not filed yet", count, count == 1 ? " is" : "s are");
    else
        finding_there(finding, "none");
    buf_clear(&remedy);
}

/* The nearest folder above path that is there. */
static void folder_above(char path[PATH_MAX])
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

static void check_folder(const char *path, bool exists, struct finding *finding)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    folder_above(folder);
    if ((exists && access(path, W_OK)) || access(folder, W_OK | X_OK))
        finding_missing(finding, "Give $SONDE_DB a place where you can write", "%s cannot be written",
                        exists ? path : folder);
    else if (free_bytes(folder) < SPACE_FEW_BYTES)
        finding_missing(finding, "Free space, or give $SONDE_DB another place", "%s has %s left", folder,
                        text_bytes(free_bytes(folder)).s);
    else
        finding_there(finding, "%s%s, %s free", path, exists ? "" : " (will be made)",
                      text_bytes(free_bytes(folder)).s);
}

/* No store of this user's, but a good place: the collector's. */
static void check_hand_over(struct finding *finding)
{
    char path[ASK_PATH_MAX];
    if (!ask_socket_path(path) && !ask_find(path))
        finding_there(finding, STORE_AGENT " what sonde run sees goes to the agent of this node");
    else
        finding_missing(finding, "Start an agent that has a collector on this node, or give $SONDE_DB a file",
                        STORE_AGENT " sonde run would hand jobs over to the agent of this node, and none runs");
}

static const char *store_remedy(enum err err, const char *message)
{
    if (err != USAGE)
        return "Give $SONDE_DB another place, or move the file away";
    return message && strstr(message, "newer Sonde") ? "Use the newer Sonde that made it, or another $SONDE_DB"
                                                     : "Give $SONDE_DB the name of a file, which is made when it is missing";
}

void doctor_parts_store(const struct place *place, struct finding *finding)
{
    char path[PATH_MAX], *message = NULL;
    struct store *store;
    if (place->db)
        snprintf(path, sizeof path, "%s", place->db);
    else if (store_default_path(path, sizeof path)) {
        finding_missing(finding, "Set $HOME or $SONDE_DB", "It cannot be told where the store is to be");
        return;
    }
    if (!strcmp(path, STORE_AGENT)) {
        check_hand_over(finding);
        return;
    }
    enum err err = store_open(&store, path, STORE_READ, &message);
    store_close(&store);
    bool is_url = driver_is_url(path);
    if (is_url)
        driver_url_mask(path);
    if (is_url && (!err || (err == ABSENT && message && strstr(message, "is empty"))))
        finding_there(finding, "%s%s", path, err ? " (its tables will be made)" : "");
    else if (is_url)
        finding_missing(finding, "Start the server and allow this user to use it, or set another $SONDE_DB", "%s",
                        message ? message : err_text(err));
    else if (!err || err == ABSENT)
        check_folder(path, !err, finding);
    else
        finding_missing(finding, store_remedy(err, message), "%s: %s", path, message ? message : err_text(err));
    free(message);
}

/* Whoever may ask it is answered: that it listens is enough. */
void doctor_parts_agent(const struct place *place, struct finding *finding)
{
    (void)place;
    char path[ASK_PATH_MAX];
    struct buf answer;
    int status;
    if (ask_socket_path(path)) {
        finding_missing(finding, "Set $XDG_RUNTIME_DIR or $SONDE_SOCKET_DIR before it is started",
                        "There is no safe place for the socket of an agent of this user");
        return;
    }
    buf_init(&answer, AGENT_ANSWER_MAX);
    enum err err = ask_find(path);
    if (!err)
        err = ask("", "GET", "/jobs", (struct bytes){ 0 }, &answer, &status);
    buf_clear(&answer);
    if (!err || err == FULL)
        finding_there(finding, "it runs, and listens at %s", path);
    else if (err == ABSENT)
        finding_missing(finding, "systemctl enable --now sonde-agent, or sonde agent, where the node is to be watched",
                        "None runs here");
    else
        finding_missing(finding, "Look at its messages: journalctl -u sonde-agent", "It does not answer at %s: %s", path,
                        err_text(err));
}
