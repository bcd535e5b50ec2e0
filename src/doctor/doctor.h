/* sonde doctor: every source of numbers on this machine, whether it is there, why not, and the remedy. */
#ifndef SONDE_DOCTOR_DOCTOR_H
#define SONDE_DOCTOR_DOCTOR_H

#include "proc/host.h"
#include "jobs/limits.h"
#include "doctor/finding.h"
#include "report/terminal.h"

#define DOCTOR_FINDINGS_MAX 128

struct doctor {
    struct host_facts host;
    struct limits limits;
    struct finding findings[DOCTOR_FINDINGS_MAX];
    size_t count;
};

/* Looks at everything; trial: and does a short run from end to end. */
void doctor_examine(struct doctor *doctor, const struct place *place, bool trial);

/* Can jobs be watched, filed and read? */
bool doctor_is_well(const struct doctor *doctor);

void doctor_print(const struct doctor *doctor, const struct terminal *terminal, struct buf *out);
void doctor_json(const struct doctor *doctor, struct buf *out);

#endif
