/* Messages for errors, and the mapping from errno. */
#include "base/err.h"

#include <errno.h>

const char *err_text(enum err err)
{
    switch (err) {
    case OK: return "no error";
    case AGAIN: return "busy, try again";
    case ABSENT: return "not found";
    case GONE: return "gone";
    case DENIED: return "permission denied";
    case FULL: return "no space left";
    case CORRUPT: return "damaged data";
    case IO: return "input/output error";
    case NOMEM: return "out of memory";
    case USAGE: return "wrong use";
    case NOFILES: return "too many open files";
    }
    return "unknown error";
}

enum err err_from_errno(int number)
{
    switch (number) {
    case 0: return OK;
    case EAGAIN: case EINTR: case EBUSY: return AGAIN;
    case ENOENT: case ENODEV: case ENXIO: case ENOSYS: case ENOTDIR: case EOPNOTSUPP: return ABSENT;
    case ESRCH: return GONE;
    case EACCES: case EPERM: case EROFS: return DENIED;
    case ENOSPC: case EDQUOT: case EFBIG: return FULL;
    case ENOMEM: return NOMEM;
    case EINVAL: return USAGE;
    case EMFILE: case ENFILE: return NOFILES;
    default: return IO;
    }
}
