/* The profile of a job for tau's tools: all that its programs have told, when the last of them has gone. From the table of
 * programs to profile_writer.c. */
#ifndef SONDE_COMPAT_TAU_PROFILE_SNAPSHOT_H
#define SONDE_COMPAT_TAU_PROFILE_SNAPSHOT_H

#include "appmetrics/table.h"
#include "compat/tau/profile_writer.h"

/* Of a job that is about to be dropped; under the table's lock. profiles NULL: nothing. False: none is written. */
bool program_profile_put(struct tau_profiles *profiles, const struct program_scope *scope);

/* At the end of the agent, of every job that no program is in: those of others are still read by whoever comes next. What is kept
 * for that one (appmetrics/state.h) stands in the profile then, to which it adds only what is new. table NULL: nothing. */
void program_profile_put_all(struct tau_profiles *profiles, struct program_table *table);

#endif
