/* Many text files below a directory, to which lines are appended: buffered in memory, and written together in whole
 * lines. An undo log (sinks/csv/undo_log.h) records the size and name of each file at the last commit, so that after
 * a crash the files return to the committed position, and later batches are written again. */
#ifndef SONDE_SINKS_CSV_FILES_H
#define SONDE_SINKS_CSV_FILES_H

#include "base/buf.h"
#include "base/map.h"

#include <sys/types.h>

#define CSV_FILES_PATH_MAX 1024
#define CSV_FILES_OPEN_MAX 32768         /* open at a time; also at most half of RLIMIT_NOFILE */
#define CSV_FILES_BUFFER_MAX (16u << 20) /* buffered bytes of all files */

/* Whose directory a file is in. */
struct csv_user {
    size_t prefix; /* length of its path; 0: none */
    uid_t uid;     /* -1: unknown */
};

struct csv_file {
    struct csv_file *next; /* of all */
    char *path;            /* relative to dir */
    int fd;                /* -1: closed */
    uint64_t size;         /* of the file, including uncommitted lines */
    uint64_t begun_ns;     /* CLOCK_REALTIME, of its first line; 0: empty */
    uint64_t header_hash;  /* of its first line; 0: not read yet */
    uint64_t used;         /* files->clock at the last write */
    size_t open_at;        /* in files->open */
    struct buf out;        /* buffered lines */
    bool is_logged;        /* its size is in the undo log since the last commit */
    struct csv_user user;
};

struct csv_files {
    char *dir;
    int dir_fd, undo_fd;
    uint64_t rotate_bytes, rotate_ns; /* 0: never */
    struct csv_file *all;
    struct map by_path;
    struct csv_file **open; /* ring of open_max files, in the order in which they were opened */
    size_t open_max, open_next;
    uint64_t buffered;      /* bytes */
    uint64_t clock;
    uint64_t position;      /* committed */
    bool for_users;         /* directories of users are readable for them and gid only */
    gid_t gid;              /* -1: none */
    bool is_undoable;       /* batches have positions: keep an undo log */
    char message[512];
};

/* Creates dir; undoes what was not committed before. DENIED, FULL, IO. */
enum err csv_files_open(struct csv_files *files, const char *dir);
void csv_files_close(struct csv_files *files); /* tries to write buffered lines; does not commit */

/* The first line of a file without its line break, and its hash: computed once for many rows. */
struct csv_file_header {
    struct bytes text;
    uint64_t hash;
};
struct csv_file_header csv_file_header_of(struct bytes text);

/* The file at path, whose first line is header. An existing file with another first line is renamed first. NULL:
 * files->message says why. Valid until the next csv_files_commit. */
struct csv_file *csv_files_get(struct csv_files *files, const char *path, const struct csv_user *user,
                               const struct csv_file_header *header);

/* Call after adding lines to file->out. */
void csv_files_added(struct csv_files *files, struct csv_file *file, size_t bytes);

/* Writes the buffered lines. On FULL and IO no partial line remains, and unwritten lines stay buffered. */
enum err csv_files_write(struct csv_files *files);

/* Rotates files that are too large or too old, syncs everything, and stores position for the next csv_files_open. */
enum err csv_files_commit(struct csv_files *files, uint64_t position, uint64_t now_ns);

#endif
