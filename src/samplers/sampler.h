/* The sampler contract. A sensor is a source of numbers: hardware, a driver, a file of the kernel. A sampler is the code
 * that reads one sensor at each tick. A metric set describes what it outputs (model/metric.h), and each reading adds
 * samples of that set to a batch.
 *
 * docs/add-a-sampler.md lists the steps to add one; samplers/null.c is the file to copy. */
#ifndef SONDE_SAMPLERS_SAMPLER_H
#define SONDE_SAMPLERS_SAMPLER_H

#include "base/err.h"
#include "model/batch.h"
#include "model/job.h"
#include "model/setting.h"

#include <sys/types.h>

/* Bytes that the probe has written inside the processes of a run. The kernel counts them as the processes' own. */
struct sampler_probe_io {
    uint64_t written_bytes;
    uint64_t dirty_bytes; /* upper bound of what reached storage: whole pages */
};

/* Where to read. Borrowed; valid as long as the sampler is open. */
struct sampler_context {
    const char *root; /* prefix of /proc and /sys: "" is this node, tests pass a captured tree. Never NULL */
    bool is_brief;    /* for `sonde run`: of long lists read only what its report needs */

    /* The rest is set by `sonde run` only, for the sampler process_tree. */
    pid_t pid;             /* the process whose descendants are the run; 0: there is no run */
    pid_t helper, tracer;  /* children of pid that are not part of the run; 0: none */
    void (*probe_io)(void *callback_context, struct sampler_probe_io *probe_io); /* NULL: no probe is loaded */

    /* Iterates over the processes of the run (*at is 0 at first). Needed after pid has exited and a process forked from it
     * continues to monitor what the command left behind. */
    bool (*next_process)(void *callback_context, size_t *at, uint32_t *pid);
    void *callback_context;
};

/* A constant with designated initialisers, in a file of its own. open and read are required; the other functions may be
 * NULL. */
struct sampler {
    const char *name, *about;       /* "meminfo", which is also the file's name; one line for `sonde doctor` and docs */
    const struct setting *settings; /* their offsets are into the state; NULL: none */
    const struct set *set;          /* the metric set; NULL: built at open, because the kernel decides what is in it */
    size_t state_size;              /* the caller allocates the state zeroed, fills in the settings, and frees it */
    uint64_t keeps_capabilities;    /* is_slow: its thread drops all others (1 << CAP_...); 0: it drops none */
    bool is_slow;                   /* a reading may take longer than a tick: the agent calls open, read, job and close
                                     * from a thread of its own, one at a time */
    uint64_t period_ns;             /* default interval, where every tick would be too often; 0: every tick */

    /* Shown by `sonde doctor`, as sentences without a full stop; each may be NULL: why the sensor may be absent, and what
     * to do when open returned ABSENT or DENIED. */
    const char *absent_reason, *absent_fix, *denied_fix;
    const char *root_only; /* what only root can read, such as "I/O of other users' processes"; NULL: nothing */

    /* ABSENT: this node does not have the sensor. DENIED: this user may not read it. Both are normal and not logged.
     * On any error the sampler must have closed what it opened; close is not called. */
    enum err (*open)(void *state, const struct sampler_context *context);

    /* Adds the current samples to out. A series without a sample in this reading counts as ended, unless the sampler sets
     * out->is_part. AGAIN, GONE: no samples this time, not logged. Any other error: the caller discards what was added,
     * logs the error once, closes the sampler, and opens it again later. Must not allocate once it is warm. */
    enum err (*read)(void *state, struct batch *out);

    /* Called before the last read: that reading must not postpone anything. NULL: the sampler never postpones. */
    void (*before_last_read)(void *state);

    /* For a counter that wraps: reads the sensor between two ticks without adding samples, and returns within what time
     * it must be called again (UINT64_MAX: never). Called at most once a second. NULL: not needed. Not for slow ones. */
    uint64_t (*poll)(void *state);

    /* A job begins, changes or ends. Called between two readings, and once for each running job after open. At JOB_END the
     * sampler adds the job's last sample to out; at JOB_BEGIN it may add a first one, so that a job shorter than an
     * interval has both. out is NULL at JOB_BEGIN when a reading follows anyway or many jobs begin at once, and at
     * JOB_CHANGE unless loses_counts_on_close is set. Errors are handled as those of read. NULL: jobs are irrelevant. */
    enum err (*job)(void *state, const struct job *job, enum job_event event, struct batch *out);
    bool loses_counts_on_close; /* the counts exist only in this sampler: it is read once more before it is closed, and a
                                 * JOB_CHANGE may add a job's last sample */

    void (*close)(void *state);
};

/* All samplers of this build, NULL-terminated. To add one, add a line to samplers/all.c. */
extern const struct sampler *const sampler_all[];

/* The ones that `sonde run` reads. */
extern const struct sampler *const sampler_run[];

#endif
