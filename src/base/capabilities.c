/* libc's setuid and its relatives change all threads; capset is a plain system call, which changes one. */
#include "base/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum err capabilities_drop(uint64_t keep)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &head, sets))
        return err_from_errno(errno);
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        uint32_t kept = (uint32_t)(keep >> 32 * i);
        sets[i].effective &= kept;
        sets[i].permitted &= kept;
        sets[i].inheritable = 0;
    }
    return syscall(SYS_capset, &head, sets) ? err_from_errno(errno) : OK;
}
