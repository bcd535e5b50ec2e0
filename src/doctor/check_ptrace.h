/* Doctor's check of ptrace: whom sonde attach can watch where the kernel does not count for it. */
#ifndef SONDE_DOCTOR_CHECK_PTRACE_H
#define SONDE_DOCTOR_CHECK_PTRACE_H

#include "doctor/finding.h"

void doctor_ptrace(const struct place *place, struct finding *finding);

#endif
