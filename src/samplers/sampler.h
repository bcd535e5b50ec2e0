/* The contract of a sampler: it reads one sensor of the node, or of the run, at each tick. docs/add-a-sampler.md tells
 * how to make one; samplers/null.c is the file to copy. */
#ifndef SONDE_SAMPLERS_SAMPLER_H
#define SONDE_SAMPLERS_SAMPLER_H

#include "base/err.h"
#include "model/batch.h"
#include "model/job.h"
#include "model/setting.h"

#include <sys/types.h>

/* What the probe in the programs of a run has written so far, which the kernel counts as theirs. */
struct sampler_probe_io {
    uint64_t written_bytes;
    uint64_t dirty_bytes; /* that storage may have got of it, at most: whole pages */
};

/* Where to look. Borrowed: valid as long as the sampler is open. */
struct sampler_context {
    const char *root; /* of /proc and /sys: "" is this machine, a test points it at a captured tree. Never NULL */
    pid_t pid;        /* the process whose descendants are the run; 0: there is none, the node alone is watched */
    pid_t helper;      /* a child of pid that is not of the run: a helper of whoever watches; 0: none */
    pid_t tracer;     /* another such */
    bool is_brief;    /* beside a run: of long lists only what its report needs */
    void (*probe_io)(void *callback_context, struct sampler_probe_io *probe_io); /* NULL: there is no probe */
    bool (*next_process)(void *callback_context, size_t *at, uint32_t *pid); /* walks over the run's processes when pid has ended, and we,
                                                                   * who were forked from it, go on; *at is 0 at first */
    void *callback_context;    /* given to these */
};

/* Constant, with designated initialisers, in a file of its own. All functions but open and read may be NULL. */
struct sampler {
    const char *name, *about;       /* "meminfo": the file's name; one line for doctor and the docs */
    const struct setting *settings; /* offsets are in the state; NULL: none */
    const struct set *set;          /* what it gives; NULL: made at open, where the kernel decides the list */
    size_t state_size;              /* allocated zeroed, settings filled in, and freed by the caller */
    bool is_slow;                   /* a reading may take longer than a tick: the agent gives it a thread of its own, in
                                     * which open, read, job and close are called one after another */
    uint64_t period_ns;             /* it is not read more often than this unless somebody asks for it; 0: at every tick */

    /* For doctor, each NULL where there is nothing to say: why it may not be here, and what to do when it is ABSENT or
     * DENIED; sentences without a full stop. */
    const char *absent_reason, *absent_fix, *denied_fix;
    const char *root_only; /* what of it only root sees, as "I/O of other users' processes"; NULL: nothing */

    /* ABSENT: the hardware, the file or the permission is not there; silent. What was opened is closed again. */
    enum err (*open)(void *state, const struct sampler_context *context);

    /* Adds samples to out: all there are, or it sets out->is_part, and what it gave before is still shown. AGAIN, GONE:
     * nothing this time, silent. Anything else: closed, reported once, tried again later. Allocates nothing once it is
     * warm. */
    enum err (*read)(void *state, struct batch *out);

    /* The next reading is the last before close: nothing may be left for a later one. NULL: nothing ever is. */
    void (*before_last_read)(void *state);

    /* For a sensor that loses count when nobody looks for long, as one that wraps: looks at it without giving samples, and
     * says within what time that must be done again, UINT64_MAX: not at all. Called once a second at most, between two
     * readings. NULL: it may wait. Not for slow ones. */
    uint64_t (*poll)(void *state);

    /* A job begins, changes, ends; called between two readings, for each running job once after open. NULL: jobs do not
     * matter to it. At JOB_END the last sample of the job is added to out, at JOB_BEGIN a first one may be, so that a job
     * shorter than a period has both. out is NULL for JOB_BEGIN where many begin at once or a reading follows, and for
     * JOB_CHANGE where nothing is added then. Errors are as of read. */
    enum err (*job)(void *state, const struct job *job, enum job_event event, struct batch *out);
    bool loses_counts_on_close; /* they are nowhere else: a change may bring a job's last sample, and it is read before it closes */

    void (*close)(void *state);
};

/* All samplers of this build; NULL ends the list. To add one, add a line in samplers/all.c. */
extern const struct sampler *const sampler_all[];

/* Those of them that sonde run reads beside the job that it watches. */
extern const struct sampler *const sampler_run[];

#endif
