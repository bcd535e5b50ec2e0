/* What doctor found out about one source of numbers, or one part of Sonde. */
#ifndef SONDE_DOCTOR_FINDING_H
#define SONDE_DOCTOR_FINDING_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define FINDING_TEXT_MAX 512

struct finding {
    const char *group, *name;
    bool essential; /* without it nothing is recorded or filed */
    bool there;
    char detail[FINDING_TEXT_MAX]; /* what there is: a path, a version, a number; may be "" */
    char reason[FINDING_TEXT_MAX]; /* why it is not there, and what is not known without it */
    char remedy[FINDING_TEXT_MAX]; /* what to do; "": nothing */
};

void finding_there(struct finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
void finding_missing(struct finding *finding, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Where to look. Borrowed texts. */
struct place {
    const char *root; /* of /proc and /sys; "": this machine */
    const char *db;   /* path of the store; NULL: the default */
};

/* One thing that doctor looks at: writes there, and detail or reason and remedy. */
struct check {
    const char *group, *name;
    bool essential;
    void (*look)(const struct place *place, struct finding *finding);
};

#endif
