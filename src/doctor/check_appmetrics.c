/* Creates and removes a directory for metrics segments, as sonde run does; checks tau's socket as its clients would
 * find it. */
#include "doctor/check_appmetrics.h"

#include "appmetrics/segment_dir.h"
#include "appmetrics/segment_format.h"
#include "appmetrics/segment_leftovers.h"
#include "base/format.h"
#include "compat/tau/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#define LEFT_SHOWN_S 60 /* younger segments may still be read */
#define SEGMENTS_FREE_MIN (16ull << 20)

/* Reports segments left by killed programs of this user, unless an agent is running, which handles them. */
static void report_space(struct finding *finding, uint64_t free_space)
{
    struct segment_leftovers left;
    segment_leftovers_find(SEGMENT_DIR, LEFT_SHOWN_S, false, &left);
    if (left.count && !left.is_claimed)
        finding_available(finding,
                          "%s free in " SEGMENT_DIR ". Killed programs left %zu metrics segments in it (%s), and no "
                          "agent is running to read them: the next sonde run removes those older than a day, sonde agent "
                          "all of them",
                          format_bytes(free_space).s, left.count, format_bytes(left.bytes).s);
    else
        finding_available(finding, "%s free in " SEGMENT_DIR, format_bytes(free_space).s);
}

void check_appmetrics_segments(const struct doctor_target *target, struct finding *finding)
{
    char path[SEGMENT_DIR_PATH_MAX];
    struct statvfs fs;
    int lock_fd;
    (void)target;
    enum err err = segment_dir_create(SEGMENT_DIR, path, &lock_fd);
    if (!err)
        segment_dir_delete(path);
    if (lock_fd >= 0)
        close(lock_fd);
    uint64_t free_space = statvfs(SEGMENT_DIR, &fs) ? 0 : (uint64_t)fs.f_bavail * fs.f_frsize;
    if (err)
        finding_missing(finding, "mount -t tmpfs tmpfs " SEGMENT_DIR,
                        "Cannot create a directory in " SEGMENT_DIR ": %s. Metrics of libsonde, MPI calls and system "
                        "calls of programs are unavailable",
                        err_text(err));
    else if (free_space < SEGMENTS_FREE_MIN)
        finding_missing(finding, "Free space in it", SEGMENT_DIR " is full: metrics of new programs are unavailable");
    else
        report_space(finding, free_space);
}

static bool is_listened_on(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(at.sun_path, path, strnlen(path, sizeof at.sun_path - 1));
    bool is = fd >= 0 && (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0 || errno == EAGAIN);
    if (fd >= 0)
        close(fd);
    return is;
}

void check_appmetrics_tau(const struct doctor_target *target, struct finding *finding)
{
    char usual[TAU_PATH_MAX];
    struct stat there;
    const char *path = getenv("TAU_METRIC_PROXY");
    (void)target;
    tau_server_default_path(usual, getuid());
    path = path && *path ? path : usual;
    bool is_there = lstat(path, &there) == 0;
    if (is_there && there.st_uid != getuid() && there.st_uid != 0)
        finding_missing(finding, "Set TAU_METRIC_PROXY to the socket of an agent that you trust",
                        "%s belongs to another user (%u), who would receive the data of tau's clients", path,
                        (unsigned)there.st_uid);
    else if (is_there && is_listened_on(path))
        finding_available(finding, "%s", path);
    else
        finding_missing(finding, "If you use tau's clients: run sonde agent, or set TAU_METRIC_PROXY",
                        "No server is listening on %s", path);
}
