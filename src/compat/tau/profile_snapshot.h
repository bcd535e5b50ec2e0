/* The profile of a job for tau's tools: all its metrics, when its last program has ended. From the registry to
 * profile_writer.c. */
#ifndef SONDE_COMPAT_TAU_PROFILE_SNAPSHOT_H
#define SONDE_COMPAT_TAU_PROFILE_SNAPSHOT_H

#include "appmetrics/registry.h"
#include "compat/tau/profile_writer.h"

/* Of a job that is about to be dropped; under the registry's lock. profiles NULL: none are written. False: it was not
 * written. */
bool tau_profile_snapshot_write(struct tau_profile_writer *profiles, const struct scope *scope);

/* When the agent stops: of every job without programs; the next agent still reads those of the others. What is saved
 * for that agent (appmetrics/saved_state.h) is in the profile then, to which it adds only what is new. registry NULL:
 * nothing. */
void tau_profile_snapshot_write_all(struct tau_profile_writer *profiles, struct registry *registry);

#endif
