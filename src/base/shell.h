/* Words as one would type them into a shell. */
#ifndef SONDE_BASE_SHELL_H
#define SONDE_BASE_SHELL_H

#include "base/buf.h"

/* Adds words, which has a NUL after each, with a blank between and quotes where a POSIX shell needs them: what is added
 * splits into the same words again (sh, Python's shlex). Bytes are kept as they are. */
void shell_add_args(struct buf *out, struct bytes words);

#endif
