/* Tau's binary profiles: one file with the last value of every metric of a job. Made from what the gateway knows when the
 * last program of a job has gone (profile_writer.h), merged over nodes, read by sonde export. */
#ifndef SONDE_COMPAT_TAU_PROFILE_H
#define SONDE_COMPAT_TAU_PROFILE_H

#include "base/buf.h"
#include "compat/tau/protocol.h"

#define TAU_PROFILE_METRICS_MAX (1u << 20)
#define TAU_PROFILE_BYTES_MAX (sizeof(struct tau_profile_head) + TAU_PROFILE_METRICS_MAX * sizeof(struct tau_snapshot) + 4)

struct tau_profile {
    struct tau_job job;
    struct tau_snapshot *metrics; /* owned; their texts end with a NUL; each name once */
    size_t count, capacity;
};

/* An empty one of a job, whose texts are made to end. */
void tau_profile_init(struct tau_profile *profile, const struct tau_job *job);
void tau_profile_clear(struct tau_profile *profile);

/* Adds a metric of a name that is not yet in it. Longer texts are cut, a name so that its labels still end. FULL, NOMEM. */
enum err tau_profile_add(struct tau_profile *profile, enum tau_metric_type type, const char *name, const char *doc, double value,
                         double update_s);

/* Adds what other tells of the same job: counters are added, gauges averaged over the nodes, other commands stand behind
 * " : ", the first start and the last end count. On an error the profile is as before. */
enum err tau_profile_merge(struct tau_profile *profile, const struct tau_profile *other);

/* The bytes of the file. */
void tau_profile_write(const struct tau_profile *profile, struct buf *out);

/* From the bytes of a file, whoever wrote it. CORRUPT: it is no profile, or cut short. To be cleared in any case. */
enum err tau_profile_read(struct tau_profile *profile, struct bytes bytes);

/* The command of a job as its user would type it: without tau's launcher, whose own options stand before it. */
void tau_profile_real_command(char *command);

/* The same as tau_profile_read from a file. ABSENT, DENIED, IO; FULL: larger than a profile can be. */
enum err tau_profile_load(struct tau_profile *profile, const char *path);

#endif
