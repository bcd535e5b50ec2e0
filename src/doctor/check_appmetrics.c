/* A folder for boards is made and removed, as sonde run does; the socket of tau is looked at as its clients would find it. */
#include "doctor/check_appmetrics.h"

#include "base/text.h"
#include "appmetrics/segment_format.h"
#include "appmetrics/segment_dir.h"
#include "appmetrics/segment_leftovers.h"
#include "compat/tau/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#define LEFT_SHOWN_S 60 /* younger ones may be read by somebody still */
#define BOARDS_FEW_BYTES (16ull << 20)

/* What killed programs of this user left; where an agent runs that is its affair. */
static void tell_room(struct finding *finding, uint64_t room)
{
    struct segment_leftovers left;
    segment_leftovers_find(SEGMENT_DIR, LEFT_SHOWN_S, false, &left);
    if (left.count && !left.is_claimed)
        finding_there(finding, "%s free in " SEGMENT_DIR ". Killed programs of yours left %zu boards in it (%s), and no "
                      "agent is there to read them: the next sonde run removes those that are older than a day, sonde agent all",
                      text_bytes(room).s, left.count, text_bytes(left.bytes).s);
    else
        finding_there(finding, "%s free in " SEGMENT_DIR, text_bytes(room).s);
}

void doctor_programs_boards(const struct place *place, struct finding *finding)
{
    char path[SEGMENT_DIR_PATH_MAX];
    struct statvfs fs;
    int lock_fd;
    (void)place;
    enum err err = segment_dir_create(SEGMENT_DIR, path, &lock_fd);
    if (!err)
        segment_dir_delete(path);
    if (lock_fd >= 0)
        close(lock_fd);
    uint64_t room = statvfs(SEGMENT_DIR, &fs) ? 0 : (uint64_t)fs.f_bavail * fs.f_frsize;
    if (err)
        finding_missing(finding, "mount -t tmpfs tmpfs " SEGMENT_DIR,
                        "No folder can be made in " SEGMENT_DIR ": %s. What programs count with libsonde, of MPI and of system "
                        "calls is not seen", err_text(err));
    else if (room < BOARDS_FEW_BYTES)
        finding_missing(finding, "Remove what fills it", SEGMENT_DIR " has no room: what new programs count is not seen");
    else
        tell_room(finding, room);
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

void doctor_programs_tau(const struct place *place, struct finding *finding)
{
    char usual[TAU_PATH_MAX];
    struct stat there;
    const char *path = getenv("TAU_METRIC_PROXY");
    (void)place;
    tau_server_usual_path(usual, getuid());
    path = path && *path ? path : usual;
    bool is_there = lstat(path, &there) == 0;
    if (is_there && there.st_uid != getuid() && there.st_uid != 0)
        finding_missing(finding, "Set TAU_METRIC_PROXY to the socket of an agent that you trust",
                        "Another user (%u) made %s: clients of tau_metric_proxy would speak to him", (unsigned)there.st_uid,
                        path);
    else if (is_there && is_listened_on(path))
        finding_there(finding, "%s", path);
    else
        finding_missing(finding, "Where clients of tau_metric_proxy are used: run sonde agent, or set TAU_METRIC_PROXY",
                        "Nobody listens at %s", path);
}
