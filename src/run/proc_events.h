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

#define PROC_EVENTS_BATCH 256
#define PROC_EVENTS_PENDING 64
#define PROC_EVENTS_THREADS 8192 /* a power of two */

/* An exit record of a process that the connector has not told of yet. */
struct pending_exit {
    struct taskstats_record record;
    char name[32];
};

/* When a thread was made; the place is the tid's, so that a later one with the same last bits takes it. */
struct thread_start {
    uint32_t tid;
    uint64_t start_ns;
};

struct proc_events {
    struct proc_connector execs; /* fd < 0: not there. Read at once while somebody is dark: /proc tells what was exec'd as
                         * long as it lives */
    struct proc_connector forks; /* forks and exits: read when we are awake */
    struct taskstats_exits exits;
    struct run_members members;
    struct unprobed unprobed;
    struct proc_snapshot_reader proc;
    struct spool_writer *writer;
    struct perf_counts *perf;
    uint32_t self;  /* sonde run */
    uint32_t other; /* a child of sonde run that is not of the job; 0: none */
    uint32_t tracer; /* another such */
    struct proc_connector_event batch[PROC_EVENTS_BATCH]; /* execs that were told and not looked at yet */
    size_t batch_count;
    struct pending_exit pending[PROC_EVENTS_PENDING];
    size_t pending_count;
    bool has_large_buffers;          /* forks and exits can wait long for us, who need not be woken by the first */
    struct thread_start *threads; /* PROC_EVENTS_THREADS of them; memory is used only where threads are */
    unsigned event_count;      /* events since the last look */
    int pause_ms;        /* until the next look; grows while nothing comes */
    unsigned quiet_reads;     /* looks since something came */
    uint64_t forks_lost; /* at the last resynchronisation */
    uint64_t pruned_ns, checked_ns, counted_ns;
    unsigned exec_count; /* in this second */
    bool is_storm;       /* at the last look */
    uint64_t read_ns;    /* CLOCK_MONOTONIC_COARSE, of the last reading of all */
};

/* Sources that are not there are left out. Events of children that this process makes from now on are seen. */
void proc_events_open(struct proc_events *events, const char *root, struct spool_writer *writer, struct perf_counts *perf);
void proc_events_close(struct proc_events *events);

/* How long the sockets that do not wake us may be left alone; -1: there is none. */
int proc_events_timeout_ms(const struct proc_events *events);

/* The probe is in this run: whoever is to execute something else rings at this path. */
void proc_events_expect_probe(struct proc_events *events, const char *notices_path);

/* Shall the next exec wake us? And the next fork or exit? */
bool proc_events_wants_execs(const struct proc_events *events);
bool proc_events_wants_forks(const struct proc_events *events);

/* An exec woke us: takes it and what is needed for it, and leaves the rest to the next reading. False: that is due, and
 * nothing was taken. */
bool proc_events_read_execs(struct proc_events *events);

/* Reads and records all that is there. */
void proc_events_read(struct proc_events *events);

/* Compares the members with /proc: adds descendants of this process that events did not tell of, ends those that are
 * not there. told: record the new ones as alive. */
void proc_events_resync(struct proc_events *events, bool told);

/* Is pid, or was it a moment ago, a process of the job? */
bool proc_events_has(struct proc_events *events, uint32_t pid);

/* Records everything that is known of a member which is alive. False when it has gone meanwhile. */
bool proc_events_record_alive(struct proc_events *events, struct spool_writer *writer, const struct run_member *member);

/* Records each member that is alive; how many. */
uint32_t proc_events_record_survivors(struct proc_events *events);

/* Messages that the kernel could not deliver. */
uint64_t proc_events_lost(const struct proc_events *events);

#endif
