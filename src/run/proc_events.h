/* Kernel events of the job while it runs: the proc connector (forks, execs, exits) and taskstats (what each thread
 * had used when it ended). Filters the processes of the job and writes their records to the spool. */
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

/* An exit record of a process whose fork event has not been read yet. */
struct pending_exit {
    struct taskstats_record record;
    char name[32];
};

/* Start time of a thread. Indexed by tid modulo the size: a later thread may overwrite it. */
struct thread_start {
    uint32_t tid;
    uint64_t start_ns;
};

struct proc_events {
    /* fd < 0: unavailable. Read immediately while there are unprobed processes, since /proc has what they exec'd
     * only while they live */
    struct proc_connector execs;
    struct proc_connector forks; /* forks and exits: read whenever we are awake */
    struct taskstats_exits exits;
    struct run_members members;
    struct unprobed unprobed;
    struct proc_snapshot_reader proc;
    struct spool_writer *writer;
    struct perf_counts *perf;
    uint32_t self;  /* sonde run */
    uint32_t other; /* a child of sonde run that does not belong to the job (the sentinel); 0: none */
    uint32_t tracer; /* another one */
    struct proc_connector_event batch[PROC_EVENTS_BATCH]; /* execs that were reported, but not handled yet */
    size_t batch_count;
    struct pending_exit pending[PROC_EVENTS_PENDING];
    size_t pending_count;
    bool has_large_buffers;          /* of the sockets: forks and exits need not wake us */
    struct thread_start *threads; /* PROC_EVENTS_THREADS entries; memory is used only where there are threads */
    unsigned event_count;      /* events since the last reading */
    int pause_ms;        /* until the next reading; grows while nothing happens */
    unsigned quiet_reads;     /* readings without events */
    uint64_t forks_lost; /* at the last resynchronisation */
    uint64_t pruned_ns, checked_ns, counted_ns;
    unsigned exec_count; /* in this second */
    bool is_storm;       /* at the last reading */
    uint64_t read_ns;    /* CLOCK_MONOTONIC_COARSE, of the last full reading */
};

/* Unavailable sources are skipped. Children created by this process from now on are reported. */
void proc_events_open(struct proc_events *events, const char *root, struct spool_writer *writer, struct perf_counts *perf);
void proc_events_close(struct proc_events *events);

/* How long sockets that do not wake us may be left unread; -1: forever. */
int proc_events_timeout_ms(const struct proc_events *events);

/* This run uses the probe: before a program without the probe is executed, a notice is written to this FIFO. */
void proc_events_expect_probe(struct proc_events *events, const char *notices_path);

/* Should the next exec wake us? And the next fork or exit? */
bool proc_events_wants_execs(const struct proc_events *events);
bool proc_events_wants_forks(const struct proc_events *events);

/* An exec woke us: handles it and what is needed for it, and leaves the rest to the next full reading. False: that
 * is due, and nothing was read. */
bool proc_events_read_execs(struct proc_events *events);

/* Reads and records everything that is pending. */
void proc_events_read(struct proc_events *events);

/* Compares the members with /proc: adds descendants of this process that were not reported, ends those that are
 * gone. record_new: write records of the new ones. */
void proc_events_resync(struct proc_events *events, bool record_new);

/* Is pid, or was it a moment ago, a process of the job? */
bool proc_events_has(struct proc_events *events, uint32_t pid);

/* Records what is known about a live member. False: it is gone. */
bool proc_events_record_alive(struct proc_events *events, struct spool_writer *writer, const struct run_member *member);

/* Records each live member; returns their number. */
uint32_t proc_events_record_survivors(struct proc_events *events);

/* Messages that the kernel could not deliver. */
uint64_t proc_events_lost(const struct proc_events *events);

#endif
