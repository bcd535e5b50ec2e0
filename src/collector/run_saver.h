/* A thread that saves assembled runs to the job database, so that samples do not wait for runs of users, whatever those
 * contain. Users take turns, and a run that takes too long is put aside in the directory "refused". */
#ifndef SONDE_COLLECTOR_RUN_SAVER_H
#define SONDE_COLLECTOR_RUN_SAVER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define RUN_SAVER_CPU_NS 5000000000ull /* processor time for merging a run, and a fifth of it for each MiB */

struct run_saver;

/* Saves dir/HOST/UID/NAME@USER.spool, and removes the file. Copies its arguments. cpu_ns: RUN_SAVER_CPU_NS. */
enum err run_saver_start(struct run_saver **saver, const char *dir, const char *store_path, uint64_t cpu_ns);
void run_saver_stop(struct run_saver **saver); /* one more attempt for those that are left; they stay otherwise */

/* While it is locked, directories are not removed. */
void run_saver_lock(struct run_saver *saver);
void run_saver_unlock(struct run_saver *saver, bool has_new_run);

#endif
