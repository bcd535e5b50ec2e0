/* Checks of the installation: probe, spool, job database, agent. */
#ifndef SONDE_DOCTOR_CHECK_INSTALL_H
#define SONDE_DOCTOR_CHECK_INSTALL_H

#include "doctor/finding.h"

void check_install_probe(const struct doctor_target *target, struct finding *finding);
void check_install_spool(const struct doctor_target *target, struct finding *finding);
void check_install_left_over(const struct doctor_target *target, struct finding *finding);
void check_install_agent(const struct doctor_target *target, struct finding *finding);
void check_install_store(const struct doctor_target *target, struct finding *finding);

#endif
