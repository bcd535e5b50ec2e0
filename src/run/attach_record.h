/* The spool of an attachment: like that of sonde run, with the target process as its command. */
#ifndef SONDE_RUN_ATTACH_RECORD_H
#define SONDE_RUN_ATTACH_RECORD_H

#include "model/program_sets.h"
#include "run/attach.h"
#include "run/attach_processes.h"
#include "run/sample_writer.h"
#include "run/spool_dir.h"

struct attach_record {
    struct spool_dir spool;
    struct spool_writer writer; /* SPOOL_WRITER_NONE: no spool */
    struct sample_writer samples;
    struct proc_snapshot_reader reader;
    struct attach_processes processes; /* used by the tracer, in its process, or else by ticks */
    struct tracer_listener tracer_listener;
};

/* If the spool cannot be created, logs a warning; then nothing is recorded. */
void attach_record_begin(struct attach_record *record, const struct attach_settings *settings,
                         const struct attach_target *target);

/* Attaching failed: removes everything. */
void attach_record_drop(struct attach_record *record);

/* For the tracer, which writes process records to the spool itself. NULL: no spool. */
const struct tracer_listener *attach_record_tracer_listener(const struct attach_record *record);

/* The receiver of kernel events; NULL: no spool. */
struct attach_processes *attach_record_processes(struct attach_record *record);

/* Counting has started. pids: as in attach_record_tick. */
void attach_record_started(struct attach_record *record, enum syscall_way way, const struct pidlist *pids);

/* Writes the samples, and reads the usage of the processes; pids is NULL if a tracer does that. */
void attach_record_tick(struct attach_record *record, const struct batch *batch, const struct pidlist *pids);

/* status: of the process, as from wait4; NULL: unknown, or still running. Returns false if there is no spool. Closes
 * everything. */
bool attach_record_end(struct attach_record *record, const int *status, char *spool, size_t size);

#endif
