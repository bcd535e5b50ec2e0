/* Calls after which the spool and the bell may be out of reach: another root, another user, other namespaces. The bell
 * rings before, so that sonde run looks itself at what is executed from then on. */
#include "probe/process/probe.h"

#include <sched.h>
#include <unistd.h>

PROBE_EXPORT int chroot(const char *path)
{
    dark_tell_leaving();
    return NEXT(chroot)(path);
}

PROBE_EXPORT int unshare(int flags)
{
    dark_tell_leaving();
    return NEXT(unshare)(flags);
}

PROBE_EXPORT int setns(int fd, int type)
{
    dark_tell_leaving();
    return NEXT(setns)(fd, type);
}

PROBE_EXPORT int setuid(uid_t uid)
{
    dark_tell_leaving();
    return NEXT(setuid)(uid);
}

PROBE_EXPORT int setreuid(uid_t real, uid_t effective)
{
    dark_tell_leaving();
    return NEXT(setreuid)(real, effective);
}

PROBE_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    dark_tell_leaving();
    return NEXT(setresuid)(real, effective, saved);
}
