/* What the kernel tells of the job while it runs: the proc connector (who was made, exec'd, ended) and taskstats (what
 * each thread had used when it ended), sifted for the job's processes and written to the spool. */
#ifndef SONDE_RUN_PROC_EVENTS_H
#define SONDE_RUN_PROC_EVENTS_H

#include "proc/taskstats_exits.h"
#include "proc/proc_connector.h"
#include "run/unprobed.h"
#include "run/members.h"
#include "run/perf_counts.h"
#include "run/proc_snapshot.h"

#define KERNEL_BATCH 256
#define KERNEL_HELD 64
#define KERNEL_THREADS 8192 /* a power of two */

/* An exit record of a process that the connector has not told of yet. */
struct kernel_held {
    struct taskstats_record record;
    char name[32];
};

/* When a thread was made; the place is the tid's, so that a later one with the same last bits takes it. */
struct kernel_thread {
    uint32_t tid;
    uint64_t start_ns;
};

struct kernel {
    struct forks execs; /* fd < 0: not there. Read at once while somebody is dark: /proc tells what was exec'd as
                         * long as it lives */
    struct forks forks; /* forks and exits: read when we are awake */
    struct exits exits;
    struct members members;
    struct dark dark;
    struct unseen_reader unseen;
    struct writer *writer;
    struct perf_counts *perf;
    uint32_t self;  /* sonde run */
    uint32_t other; /* a child of sonde run that is not of the job; 0: none */
    uint32_t tracer; /* another such */
    struct fork_event batch[KERNEL_BATCH]; /* execs that were told and not looked at yet */
    size_t batch_count;
    struct kernel_held held[KERNEL_HELD];
    size_t held_count;
    bool roomy;          /* forks and exits can wait long for us, who need not be woken by the first */
    struct kernel_thread *threads; /* KERNEL_THREADS of them; memory is used only where threads are */
    unsigned heard;      /* events since the last look */
    int pause_ms;        /* until the next look; grows while nothing comes */
    unsigned silent;     /* looks since something came */
    uint64_t forks_lost; /* at the last resynchronisation */
    uint64_t forgot_ns, looked_ns, counted_ns;
    unsigned execs_seen; /* in this second */
    bool is_storm;       /* at the last look */
    uint64_t read_ns;    /* CLOCK_MONOTONIC_COARSE, of the last reading of all */
};

/* Sources that are not there are left out. Events of children that this process makes from now on are seen. */
void kernel_open(struct kernel *kernel, const char *root, struct writer *writer, struct perf_counts *perf);
void kernel_close(struct kernel *kernel);

/* How long the sockets that do not wake us may be left alone; -1: there is none. */
int kernel_timeout_ms(const struct kernel *kernel);

/* The probe is in this run: whoever is to execute something else rings at this path. */
void kernel_expect_probe(struct kernel *kernel, const char *bell_path);

/* Shall the next exec wake us? And the next fork or exit? */
bool kernel_wants_execs(const struct kernel *kernel);
bool kernel_wants_forks(const struct kernel *kernel);

/* An exec woke us: takes it and what is needed for it, and leaves the rest to the next reading. False: that is due, and
 * nothing was taken. */
bool kernel_take_execs(struct kernel *kernel);

/* Reads and records all that is there. */
void kernel_read(struct kernel *kernel);

/* Compares the members with /proc: adds descendants of this process that events did not tell of, ends those that are
 * not there. told: record the new ones as alive. */
void kernel_resync(struct kernel *kernel, bool told);

/* Is pid, or was it a moment ago, a process of the job? */
bool kernel_has(struct kernel *kernel, uint32_t pid);

/* Records everything that is known of a member which is alive. False when it has gone meanwhile. */
bool kernel_record_alive(struct kernel *kernel, struct writer *writer, const struct member *member);

/* Records each member that is alive; how many. */
uint32_t kernel_record_survivors(struct kernel *kernel);

/* Messages that the kernel could not deliver. */
uint64_t kernel_lost(const struct kernel *kernel);

#endif
