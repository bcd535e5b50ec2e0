/* What is written of an attachment: a spool like that of sonde run, with the process as its command. */
#ifndef SONDE_WATCH_ATTACH_RECORD_H
#define SONDE_WATCH_ATTACH_RECORD_H

#include "model/program_sets.h"
#include "watch/attach.h"
#include "watch/sample_writer.h"
#include "watch/spool_dir.h"
#include "watch/unseen.h"

struct attach_record {
    struct spool_dir spool;
    struct writer writer; /* WRITER_NONE: there is none */
    struct sample_writer samples;
    struct unseen_reader reader;
    struct counters before; /* of the process when the watching began */
    struct writer last;     /* what was seen of the process last */
    pid_t pid;
};

/* Where no spool can be made that is said on stderr, and nothing is recorded. */
void attach_record_begin(struct attach_record *record, const struct attach_settings *settings,
                         const struct attach_target *target, enum syscall_way way);

/* Writes the samples of calls, and looks what the process has used. */
void attach_record_tick(struct attach_record *record, const struct batch *batch);

/* False: there is no spool. Clears. */
bool attach_record_end(struct attach_record *record, char *spool, size_t size);

#endif
