/* Tau's binary profiles: one file with the last value of every metric of a job. Written when the last program of a job
 * has ended (profile_writer.h), merged over nodes, and read by sonde export. */
#ifndef SONDE_COMPAT_TAU_PROFILE_H
#define SONDE_COMPAT_TAU_PROFILE_H

#include "base/buf.h"
#include "compat/tau/protocol.h"

#define TAU_PROFILE_METRICS_MAX (1u << 20)
#define TAU_PROFILE_BYTES_MAX (sizeof(struct tau_profile_head) + TAU_PROFILE_METRICS_MAX * sizeof(struct tau_snapshot) + 4)

struct tau_profile {
    struct tau_job job;
    struct tau_snapshot *metrics; /* owned; their strings end with NUL, and each name is there once */
    size_t count, capacity;
};

/* An empty one of a job, whose strings are terminated. */
void tau_profile_init(struct tau_profile *profile, const struct tau_job *job);
void tau_profile_clear(struct tau_profile *profile);

/* Adds a metric, whose name is not in it yet. Long strings are cut, a name so that its labels are still closed. FULL,
 * NOMEM. */
enum err tau_profile_add(struct tau_profile *profile, enum tau_metric_type type, const char *name, const char *doc, double value,
                         double update_s);

/* Adds the profile of another node for the same job: counters are added, gauges averaged over nodes, other commands
 * appended after " : "; the first start and the last end count. Unchanged on error. */
enum err tau_profile_merge(struct tau_profile *profile, const struct tau_profile *other);

/* The bytes of the file. */
void tau_profile_write(const struct tau_profile *profile, struct buf *out);

/* From the bytes of a file, which may be any. CORRUPT: not a profile, or truncated. To be cleared in any case. */
enum err tau_profile_read(struct tau_profile *profile, struct bytes bytes);

/* Removes tau's launchers and their options from the command of a job, so that it is what the user has typed. */
void tau_profile_real_command(char *command);

/* The same from a path. ABSENT, DENIED, IO; FULL: too large for a profile. */
enum err tau_profile_load(struct tau_profile *profile, const char *path);

#endif
