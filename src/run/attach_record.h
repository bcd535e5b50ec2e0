/* What is written of an attachment: a spool like that of sonde run, with the process as its command. */
#ifndef SONDE_RUN_ATTACH_RECORD_H
#define SONDE_RUN_ATTACH_RECORD_H

#include "model/program_sets.h"
#include "run/attach.h"
#include "run/attach_processes.h"
#include "run/sample_writer.h"
#include "run/spool_dir.h"

struct attach_record {
    struct spool_dir spool;
    struct spool_writer writer; /* SPOOL_WRITER_NONE: there is none */
    struct sample_writer samples;
    struct proc_snapshot_reader reader;
    struct attach_processes processes; /* used by the tracer, in its process, or else by ticks */
    struct tracer_listener tracer_listener;
};

/* Where no spool can be made that is said on stderr, and nothing is recorded. */
void attach_record_begin(struct attach_record *record, const struct attach_settings *settings,
                         const struct attach_target *target);

/* The process could not be held: nothing stays. */
void attach_record_drop(struct attach_record *record);

/* For a tracer, which writes what it hears of processes into the spool itself. NULL: there is no spool. */
const struct tracer_listener *attach_record_tracer_listener(const struct attach_record *record);

/* Whom to tell of the kernel's events; NULL: nothing is recorded. */
struct attach_processes *attach_record_processes(struct attach_record *record);

/* It is held. pids: as in attach_record_tick. */
void attach_record_started(struct attach_record *record, enum syscall_way way, const struct pidlist *pids);

/* Writes the samples of calls, and looks what the processes have used; NULL: a tracer does. */
void attach_record_tick(struct attach_record *record, const struct batch *batch, const struct pidlist *pids);

/* status: of the process, as from wait4; NULL: it is not known, or goes on. False: there is no spool. Clears. */
bool attach_record_end(struct attach_record *record, const int *status, char *spool, size_t size);

#endif
