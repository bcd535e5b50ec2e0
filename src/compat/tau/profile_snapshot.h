/* The profile of a job for tau's tools: all that its programs have told, when the last of them has gone. From the table of
 * programs to profile_writer.c. */
#ifndef SONDE_COMPAT_TAU_PROFILE_SNAPSHOT_H
#define SONDE_COMPAT_TAU_PROFILE_SNAPSHOT_H

#include "appmetrics/registry.h"
#include "compat/tau/profile_writer.h"

/* Of a job that is about to be dropped; under the table's lock. profiles NULL: nothing. False: none is written. */
bool tau_profile_snapshot_write(struct tau_profile_writer *profiles, const struct scope *scope);

/* At the end of the agent, of every job that no program is in: those of others are still read by whoever comes next. What is kept
 * for that one (appmetrics/saved_state.h) stands in the profile then, to which it adds only what is new. table NULL: nothing. */
void tau_profile_snapshot_write_all(struct tau_profile_writer *profiles, struct registry *registry);

#endif
