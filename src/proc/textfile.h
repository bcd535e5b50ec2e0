/* A text of the kernel that is read at each tick: the file stays open, with one pread where the kernel gives the text in one
 * piece. All texts that are not large share the same memory, which is then warm after the first of a tick. */
#ifndef SONDE_PROC_TEXTFILE_H
#define SONDE_PROC_TEXTFILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define TEXTFILE_MAX (8u << 20)     /* of a longer text only the beginning is read */
#define TEXTFILE_SHARED (64u << 10) /* what is longer has memory of its own */

/* How the kernel gives the text. */
enum textfile_mode {
    TEXTFILE_WHOLE,  /* all at once: a reading that does not fill our memory was all of it (meminfo, stat, files of sysfs) */
    TEXTFILE_PAGES,  /* as many lines as fit into a page, then the next (vmstat, interrupts, diskstats, net/dev) */
};

/* Zeroed, or after textfile_close: closed. */
struct textfile {
    bool is_open;
    int fd;
    enum textfile_mode mode;
    const char *text; /* whole lines, a NUL behind them: a line that was cut off at the end is not there. Only until this
                       * thread opens or reads another */
    size_t size;
    char *own; /* memory of a large text; NULL: it is in the shared */
    size_t capacity;
    size_t longest_line; /* line of the first reading */
};

/* Opens and reads it once, so that text is there and it is known how large it is. */
enum err textfile_open(struct textfile *file, const char *root, const char *path, enum textfile_mode mode);

/* Reads it anew from the beginning. Allocates only when a large text has grown by half since it was opened. */
enum err textfile_read(struct textfile *file);

void textfile_close(struct textfile *file);

#endif
