/* The files in a dir of tau's profiles: a job's dump of one node, the profile of the whole job that dumps are merged into.
 * Used by the thread of profile_writer.c alone. */
#ifndef SONDE_COMPAT_TAU_PROFILE_DIR_H
#define SONDE_COMPAT_TAU_PROFILE_DIR_H

#include "compat/tau/profile.h"

/* Makes the dir, and those above it. ABSENT, DENIED, FULL, IO. */
enum err tau_profile_dir_create(const char *dir);

/* Writes DIR/JOB-HOST.PID.taumetric, whole or not at all; one that is there already is left. */
enum err tau_profile_dir_dump(const char *dir, const struct tau_profile *profile);

/* Merges the dumps that lie in it into DIR/profiles/J/JOB.profile, each exactly once, also when it is stopped in between; *merged
 * counts them. One that cannot be read for a minute gets another name, and is told. AGAIN: another leader is at work there. */
enum err tau_profile_dir_merge(const char *dir, uint64_t *merged);

#endif
