/* The runs of a job: what each `sonde run` recorded, on which host, and how its command ended. The job itself has most
 * columns from its first or last run (docs/schema.md). */
#ifndef SONDE_STORE_RUNS_H
#define SONDE_STORE_RUNS_H

#include "store/store.h"

#define STORE_RUN_COMMAND_MAX 4096 /* bytes of a command that are kept: more than fits on a screen */

struct store_run {
    const char *host, *user; /* "": unknown */
    struct bytes command;    /* NUL after each word */
    uint32_t uid;
    uint32_t first_process;
    size_t process_count;    /* its processes have consecutive numbers in the job; 0 for agents */
    uint64_t start_ns, end_ns;
    bool ended, status_known;
    bool by_agent;           /* recorded by an agent, not by sonde run or attach */
    uint8_t exit_code, exit_signal;
    char *memory;            /* holds the strings */
};

/* Sorted by start time. */
struct store_runs {
    struct store_run *list;
    size_t count, capacity;
    size_t last; /* index of the last result: processes are looked up run by run */
};

/* Reads all runs. store_runs_clear frees them, also after an error. */
enum err store_runs_read(struct store_runs *runs, struct store *store, int64_t job_row);
void store_runs_clear(struct store_runs *runs);

/* The run of the process with this number in the job. NULL: none. */
const struct store_run *store_runs_find(struct store_runs *runs, uint32_t number);

/* The name of the process's user. NULL: unknown, e.g. because it is not the user who started the run. */
const char *store_run_user(const struct store_run *run, const struct process *process);

#endif
