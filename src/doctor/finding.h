/* The result of one check. */
#ifndef SONDE_DOCTOR_FINDING_H
#define SONDE_DOCTOR_FINDING_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define FINDING_TEXT_MAX 512

struct finding {
    const char *group, *name;
    bool essential; /* without it nothing is recorded or saved */
    bool there;
    char detail[FINDING_TEXT_MAX]; /* if available: a path, a version, a number; may be "" */
    char reason[FINDING_TEXT_MAX]; /* why it is unavailable, and what is missing without it */
    char fix[FINDING_TEXT_MAX]; /* how to fix it; "": impossible or unnecessary */
};

void finding_available(struct finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
void finding_missing(struct finding *finding, const char *fix, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What to check. Borrows the strings. */
struct doctor_target {
    const char *root; /* prefix of /proc and /sys; "": this node */
    const char *db;   /* path of the job database; NULL: the default */
};

/* One check: sets there, and either detail, or reason and remedy. */
struct check {
    const char *group, *name;
    bool essential;
    void (*check)(const struct doctor_target *target, struct finding *finding);
};

#endif
