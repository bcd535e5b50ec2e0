/* What the records of a life tell of its use, gathered: no decisions yet. */
#ifndef SONDE_MERGE_EXIT_REPORT_H
#define SONDE_MERGE_EXIT_REPORT_H

#include "merge/process_instance.h"

struct told {
    bool has_wait, has_end, has_tasks, has_alive;
    struct counters wait;  /* of the wait: with the children that it had waited for */
    struct end_record end;
    struct counters tasks; /* taskstats of all threads added */
    uint32_t task_count;
    struct counters alive; /* the latest */
};

void told_read(const struct events *events, const struct life *life, struct told *told);

#endif
