/* Runs of sonde run that arrive in pieces from the agents of their hosts: assembled in a directory, and saved to the job
 * database when complete (run_saver.h). Used by the thread of a sink that is a store. */
#ifndef SONDE_COLLECTOR_RUN_ASSEMBLER_H
#define SONDE_COLLECTOR_RUN_ASSEMBLER_H

#include "model/batch.h"
#include "sinks/sink_choice.h"

#define RUN_ASSEMBLER_RUN_MAX (256u << 20)  /* bytes of one run; agents accept no larger ones */
#define RUN_ASSEMBLER_HOST_MAX (1ull << 30) /* bytes of all runs of a host that are not saved yet */

struct run_assembler;

/* Creates one for a sink, in a directory of the journal: runs are saved where the sink's store is. *assembler is NULL
 * if the sink is not a store. */
enum err run_assembler_open_for_sink(struct run_assembler **assembler, const struct sink_choice *choice,
                                     const char *journal_dir);

/* dir is created with the first piece. store_path: as of store_open; NULL: the default. Both are copied. cpu_ns:
 * RUN_SAVER_CPU_NS. */
enum err run_assembler_open(struct run_assembler **assembler, const char *dir, const char *store_path, uint64_t cpu_ns);
void run_assembler_close(struct run_assembler **assembler); /* saves the complete ones if the database can be written */

/* Adds the next piece of a run that the agent of host has sent; duplicates are ignored. After the last piece the run is
 * on disk, and will be saved. OK also if the run was rejected, which is logged. Otherwise it must be called again with
 * the same piece; error has a message. Signature as in struct sink_worker_settings. */
enum err run_assembler_add(void *context, const char *host, const struct batch_piece *piece, struct buf *error);

#endif
