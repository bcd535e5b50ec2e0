/* Many text files below a folder, to which lines are added: gathered in memory, written whole and together. What was written
 * since the last commit can be taken back: an undo log says how long each file was, and which was renamed, so that after a
 * crash the files are as they were at the position that was committed, and what came later is written again. */
#ifndef SONDE_SINKS_CSV_FILES_H
#define SONDE_SINKS_CSV_FILES_H

#include "base/buf.h"

#include <sys/types.h>

#define CSV_FILES_PATH_MAX 1024
#define CSV_FILES_OPEN_MAX 32768         /* descriptors at a time, and at most half of what the process may have */
#define CSV_FILES_BUFFER_MAX (16u << 20) /* bytes in memory, of all files */

struct csv_file {
    struct csv_file *next_in_slot, *next; /* next: of all */
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

struct csv_files {
    char *dir;
    int dir_fd, undo_fd;
    uint64_t rotate_bytes, rotate_ns; /* 0: never */
    struct csv_file **slots, *all;
    size_t slot_count, count;
    struct csv_file **open; /* open_max of them, in the order in which they were opened, round and round */
    size_t open_max, open_next;
    uint64_t gathered;      /* bytes */
    uint64_t clock;
    uint64_t position;      /* committed */
    bool is_undoable;       /* there are positions: keep an undo log */
    char message[512];
};

/* Makes the folder; takes back what was not committed before. DENIED, FULL, IO. */
enum err csv_files_open(struct csv_files *files, const char *dir);
void csv_files_close(struct csv_files *files); /* writes what is gathered, as far as that goes, and does not commit */

/* The first line of files, without its end, and its hash: made once for many rows. */
struct csv_file_header {
    struct bytes text;
    uint64_t hash;
};
struct csv_file_header csv_file_header_of(struct bytes text);

/* The file at path below the folder, whose first line is header. One that is there with another first line is renamed. NULL:
 * files->message says error. Valid until the next call of csv_files_commit. */
struct csv_file *csv_files_get(struct csv_files *files, const char *path, const struct csv_file_header *header);

/* After lines were added to one->out. */
void csv_files_added(struct csv_files *files, struct csv_file *one, size_t bytes);

/* Writes all lines that were gathered. On FULL and IO no line is there in part, and what is not written is kept. */
enum err csv_files_write(struct csv_files *files);

/* Files that have grown too large or too old are renamed to PATH.<time of their first line>; all is on the disk; position
 * is what csv_files_open finds. */
enum err csv_files_commit(struct csv_files *files, uint64_t position, uint64_t now_ns);

#endif
