/* A short run from end to end, with a store of its own that is thrown away: what doctor believes in the end. */
#ifndef SONDE_DOCTOR_TRIAL_RUN_H
#define SONDE_DOCTOR_TRIAL_RUN_H

#include "doctor/finding.h"

#define DOCTOR_TRIAL_FINDINGS 3

/* Runs this same binary. Three findings: it ran, the probe was in it, it was filed and read back. */
void doctor_trial(struct finding findings[DOCTOR_TRIAL_FINDINGS]);

#endif
