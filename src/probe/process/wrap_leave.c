/* Calls after which the spool and the notice FIFO may be out of reach: chroot, namespaces, set-uid. Notifies sonde
 * run before the call, so that it records later execs from /proc. */
#include "probe/process/probe.h"

#include <sched.h>
#include <unistd.h>

PROBE_EXPORT int chroot(const char *path)
{
    unprobed_notify_leaving();
    return NEXT(chroot)(path);
}

PROBE_EXPORT int unshare(int flags)
{
    unprobed_notify_leaving();
    return NEXT(unshare)(flags);
}

PROBE_EXPORT int setns(int fd, int type)
{
    unprobed_notify_leaving();
    return NEXT(setns)(fd, type);
}

PROBE_EXPORT int setuid(uid_t uid)
{
    unprobed_notify_leaving();
    return NEXT(setuid)(uid);
}

PROBE_EXPORT int setreuid(uid_t real, uid_t effective)
{
    unprobed_notify_leaving();
    return NEXT(setreuid)(real, effective);
}

PROBE_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    unprobed_notify_leaving();
    return NEXT(setresuid)(real, effective, saved);
}
