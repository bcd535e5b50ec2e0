/* Makes one call fail: the n-th allocation, or the n-th access to a file. A test repeats an operation with n = 1, 2, 3 ... until
 * it ends without a failure, and looks each time at what it left behind.
 *
 *     for (struct fault fault = { .kind = FAULT_MEMORY }; faults_next(&fault);) {
 *         enum err err = operation();
 *         if (!faults_end(&fault))
 *             assert_int_equal(err, OK);
 *         ...
 *     }
 *
 * Only calls of the linked code fail (ld --wrap, see faults_dep in tests/tools/meson.build) and, after faults_init_sqlite, those
 * of SQLite: not those of libc, cmocka and other libraries. For one thread. */
#ifndef SONDE_TESTS_TOOLS_FAULTS_H
#define SONDE_TESTS_TOOLS_FAULTS_H

#include <stdbool.h>

enum fault_kind {
    FAULT_MEMORY, /* malloc, calloc, realloc, strdup */
    FAULT_READ,   /* open to read, read, pread, fstat, mmap, readdir */
    FAULT_WRITE,  /* open to write, write, pwrite, fsync, ftruncate, rename, mkdir */
    FAULT_SQLITE_MEMORY, /* allocations of SQLite */
};

struct fault {
    enum fault_kind kind;
    int error;   /* errno of the call; 0: ENOMEM or EIO */
    bool lasts;  /* calls after it fail too: a disk that stays full */
    bool halves; /* FAULT_WRITE: a write that fails has written the first half, as on a disk that fills up */
    unsigned long step; /* 0: every call in turn; else every so many, where there are thousands */
    /* set by faults_next and faults_end: */
    unsigned long number; /* of the call that fails, from 1 */
    bool is_done;
};

/* Calls from here on count and the next number fails. False: the last turn had no failure. */
bool faults_next(struct fault *fault);

/* Calls succeed again. Did one fail? */
bool faults_end(struct fault *fault);

/* For wrappers: counts a call. Does it fail? Sets errno. */
bool faults_hit(enum fault_kind kind);

/* Before the first use of SQLite. */
void faults_init_sqlite(void);

#endif
