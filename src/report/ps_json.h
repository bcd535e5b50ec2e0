/* The processes of a job as JSON, one object each, with its threads if there are any. */
#ifndef SONDE_REPORT_PS_JSON_H
#define SONDE_REPORT_PS_JSON_H

#include "net/json.h"
#include "store/runs.h"

/* run: the run of the process, NULL if unknown. threads: those of the process; may be NULL. */
void ps_json_process(struct json *json, uint32_t number, const struct process *process, const struct store_run *run,
                     const struct thread *threads, size_t thread_count);

/* "ended", "execed", "running", "lost". */
const char *ps_json_state(enum process_state state);

#endif
