/* A program run with the probe and nothing else of Sonde, and the records it left. */
#ifndef SONDE_TESTS_TOOLS_PROBED_H
#define SONDE_TESTS_TOOLS_PROBED_H

#include "tools/temp.h"
#include "spool/spool.h"

#include <sys/resource.h>
#include <sys/types.h>

struct probed_record {
    enum record_kind kind;
    struct bytes body;
};

struct probed {
    char dir[TEMP_PATH_MAX], spool[TEMP_PATH_MAX], lost[TEMP_PATH_MAX], out[TEMP_PATH_MAX];
    const char *env[8]; /* "NAME=value" for the program, in addition to what the probe needs; NULL after the last */
    pid_t pid;          /* of the last program */
    int status;         /* as from wait4 */
    struct rusage usage;
    struct spool_reader reader;
    struct probed_record *records;
    size_t count;
};

/* Creates an empty spool in a directory of its own; removes it. */
void probed_open(struct probed *probed);
void probed_close(struct probed *probed);

/* Runs a program to its end, with output to probed->out, and reads the records. */
void probed_program(struct probed *probed, char *const *argv);
/* Reads them again, for processes that write after the program has ended. */
void probed_read(struct probed *probed);
/* The same program without the probe. */
void probed_bare(struct probed *probed, char *const *argv);

/* $TOOLS/acts WHAT [MORE], with the probe. */
void probed_act(struct probed *probed, const char *what, const char *more);

uint64_t probed_lost(const struct probed *probed);
size_t probed_output(const struct probed *probed, char *text, size_t size);

/* The number of records of a kind, and bool probed_image(probed, n, &record), …: the n-th of its kind. */
size_t probed_count(const struct probed *probed, enum record_kind kind);
#define X(number, name, fields) bool probed_##name(const struct probed *probed, size_t n, struct name##_record *record);
RECORD_KINDS(X)
#undef X

#endif
