/* A file of the kernel that is read at each tick: it stays open, and one pread suffices where the kernel returns all of
 * it at once. All but large files share one buffer per thread, which stays in the cache during a tick. */
#ifndef SONDE_PROC_TEXTFILE_H
#define SONDE_PROC_TEXTFILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define TEXTFILE_MAX (8u << 20)     /* longer files are truncated */
#define TEXTFILE_SHARED (64u << 10) /* larger files have a buffer of their own */

/* How the kernel returns the content. */
enum textfile_mode {
    TEXTFILE_WHOLE,  /* all at once: a short read was everything (meminfo, stat, files of sysfs) */
    TEXTFILE_PAGES,  /* page by page, in whole lines (vmstat, interrupts, diskstats, net/dev) */
};

/* Zeroed, or after textfile_close: closed. */
struct textfile {
    bool is_open;
    int fd;
    enum textfile_mode mode;
    const char *text; /* complete lines, NUL-terminated; a truncated last line is dropped. Valid until this thread opens
                       * or reads another file */
    size_t size;
    char *own; /* buffer of a large file; NULL: in the shared buffer */
    size_t capacity;
    size_t longest_line; /* length of the longest line of the first reading */
};

/* Opens and reads it once, so that text is valid and the size is known. */
enum err textfile_open(struct textfile *file, const char *root, const char *path, enum textfile_mode mode);

/* Reads it again. Allocates only if a large file has grown by half since it was opened. */
enum err textfile_read(struct textfile *file);

void textfile_close(struct textfile *file);

#endif
