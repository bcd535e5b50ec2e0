/* Arguments quoted for a shell. */
#ifndef SONDE_BASE_SHELL_H
#define SONDE_BASE_SHELL_H

#include "base/buf.h"

/* Appends arguments, each followed by a NUL in args, separated by spaces and quoted where a POSIX shell needs it: the result
 * splits into the same arguments again (sh, Python's shlex). Bytes are not changed. */
void shell_add_args(struct buf *out, struct bytes args);

#endif
