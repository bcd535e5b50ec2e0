/* A short run from end to end, with a temporary job database. */
#ifndef SONDE_DOCTOR_TRIAL_RUN_H
#define SONDE_DOCTOR_TRIAL_RUN_H

#include "doctor/finding.h"

#define TRIAL_RUN_FINDINGS 3

/* Runs this same binary. Three findings: it ran, the probe was loaded, it was saved and read back. */
void trial_run(struct finding findings[TRIAL_RUN_FINDINGS]);

#endif
