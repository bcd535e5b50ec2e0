/* The files in a directory of tau's profiles: dumps, which are those of a job on one node, and the profiles of whole
 * jobs into which dumps are merged. Used only by the thread of profile_writer.c. */
#ifndef SONDE_COMPAT_TAU_PROFILE_DIR_H
#define SONDE_COMPAT_TAU_PROFILE_DIR_H

#include "compat/tau/profile.h"

/* Creates the directory and its parents. ABSENT, DENIED, FULL, IO. */
enum err tau_profile_dir_create(const char *dir);

/* Writes DIR/JOB-HOST.PID.taumetric atomically; never replaces one. */
enum err tau_profile_dir_dump(const char *dir, const struct tau_profile *profile);

/* Merges the dumps in it into DIR/profiles/J/JOB.profile, each exactly once even if it is interrupted; *merged counts
 * them. A dump that has been unreadable for a minute is renamed, with a warning. AGAIN: another process is merging
 * there. */
enum err tau_profile_dir_merge(const char *dir, uint64_t *merged);

#endif
