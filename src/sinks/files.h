/* Many text files below a folder, to which lines are added: gathered in memory, written whole and together. What was written
 * since the last commit can be taken back: an undo log says how long each file was, and which was renamed, so that after a
 * crash the files are as they were at the position that was committed, and what came later is written again. */
#ifndef SONDE_SINKS_FILES_H
#define SONDE_SINKS_FILES_H

#include "base/buf.h"

#include <sys/types.h>

#define FILES_PATH_MAX 1024
#define FILES_OPEN_MAX 32768         /* descriptors at a time, and at most half of what the process may have */
#define FILES_GATHER_MAX (16u << 20) /* bytes in memory, of all files */

struct files_one {
    struct files_one *next_in_slot, *next; /* next: of all */
    uint64_t hash;
    char *path;            /* below the folder */
    int fd;                /* -1: closed */
    uint64_t size;         /* of the file, with what is not committed */
    uint64_t begun_ns;     /* CLOCK_REALTIME, of its first line; 0: empty */
    uint64_t header_hash;  /* of its first line; 0: not looked at yet */
    uint64_t used;         /* files->clock, when it was last written */
    size_t open_at;        /* in files->open */
    struct buf out;        /* lines to be written */
    bool is_logged;        /* in the undo log since the last commit */
};

struct files {
    char *dir;
    int dir_fd, undo_fd;
    uint64_t rotate_bytes, rotate_ns; /* 0: never */
    struct files_one **slots, *all;
    size_t slot_count, count;
    struct files_one **open; /* open_max of them, in the order in which they were opened, round and round */
    size_t open_max, open_next;
    uint64_t gathered;      /* bytes */
    uint64_t clock;
    uint64_t position;      /* committed */
    bool is_undoable;       /* there are positions: keep an undo log */
    char message[512];
};

/* Makes the folder; takes back what was not committed before. DENIED, FULL, IO. */
enum err files_open(struct files *files, const char *dir);
void files_close(struct files *files); /* writes what is gathered, as far as that goes, and does not commit */

/* The first line of files, without its end, and its hash: made once for many rows. */
struct files_header {
    struct bytes text;
    uint64_t hash;
};
struct files_header files_header_of(struct bytes text);

/* The file at path below the folder, whose first line is header. One that is there with another first line is renamed. NULL:
 * files->message says why. Valid until the next call of files_commit. */
struct files_one *files_get(struct files *files, const char *path, const struct files_header *header);

/* After lines were added to one->out. */
void files_added(struct files *files, struct files_one *one, size_t bytes);

/* Writes all lines that were gathered. On FULL and IO no line is there in part, and what is not written is kept. */
enum err files_write(struct files *files);

/* Files that have grown too large or too old are renamed to PATH.<time of their first line>; all is on the disk; position
 * is what files_open finds. */
enum err files_commit(struct files *files, uint64_t position, uint64_t now_ns);

#endif
