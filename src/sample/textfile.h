/* A text of the kernel that is read at each tick: the file stays open, its text goes into memory that was made for it at
 * open, with one pread where the kernel gives the text in one piece. */
#ifndef SONDE_SAMPLE_TEXTFILE_H
#define SONDE_SAMPLE_TEXTFILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define TEXTFILE_MAX (8u << 20) /* of a longer text only the beginning is read */

/* How the kernel gives the text. */
enum textfile_way {
    TEXTFILE_WHOLE,  /* all at once: a reading that does not fill our memory was all of it (meminfo, stat, files of sysfs) */
    TEXTFILE_PAGES,  /* as many lines as fit into a page, then the next (vmstat, interrupts, diskstats, net/dev) */
};

/* Zeroed, or after textfile_close: closed. */
struct textfile {
    bool is_open;
    int fd;
    enum textfile_way way;
    char *text; /* whole lines, a NUL behind them: a line that was cut off at the end is not there */
    size_t size, room;
    size_t longest; /* line of the first reading */
};

/* Opens and reads it once, so that text is there and its room is known. */
enum err textfile_open(struct textfile *file, const char *root, const char *path, enum textfile_way way);

/* Reads it anew from the beginning. Allocates only when the text has grown by half since it was opened. */
enum err textfile_read(struct textfile *file);

void textfile_close(struct textfile *file);

#endif
