/* The runs of a job: what each `sonde run` of it saw, on which host, and how its command ended. A job has one of most
 * things, of its first run or of its last (docs/schema.md); who has to know which run it was asks here. */
#ifndef SONDE_STORE_RUNS_H
#define SONDE_STORE_RUNS_H

#include "store/store.h"

#define STORE_RUN_COMMAND_MAX 4096 /* bytes of a command that are kept: no screen shows more */

struct store_run {
    const char *host, *user; /* "": not known */
    struct bytes command;    /* NUL after each word */
    uint32_t uid;
    uint32_t first_process;
    size_t process_count;    /* numbers of its processes in the job, from the first on; an agent has none */
    uint64_t start_ns, end_ns;
    bool ended, status_known;
    bool by_agent;           /* an agent saw it, not a sonde run or attach */
    uint8_t exit_code, exit_signal;
    char *memory;            /* what the texts point into */
};

/* The first that began comes first. */
struct store_runs {
    struct store_run *list;
    size_t count, room;
    size_t last; /* where a process was found last: they come run by run */
};

/* Reads all of them. store_runs_clear frees, also after an error. */
enum err store_runs_read(struct store_runs *runs, struct store *store, int64_t job_row);
void store_runs_clear(struct store_runs *runs);

/* The run that has the process with this number in the job. NULL: none. */
const struct store_run *store_runs_find(struct store_runs *runs, uint32_t number);

/* The name of the process's user. NULL: not known, as when it is not the one who started the run. */
const char *store_run_user(const struct store_run *run, const struct process *process);

#endif
