/* sonde doctor: checks every data source on this node: whether it is available, why not, and how to fix it. */
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

/* Runs all checks; trial: also a short run from end to end. */
void doctor_check(struct doctor *doctor, const struct doctor_target *target, bool trial);

/* Can jobs be recorded, saved and read? */
bool doctor_is_well(const struct doctor *doctor);

void doctor_print(const struct doctor *doctor, const struct terminal *terminal, struct buf *out);
void doctor_json(const struct doctor *doctor, struct buf *out);

#endif
