/* What the records of a life tell of its use, gathered: no decisions yet. */
#ifndef SONDE_COLLECT_TOLD_H
#define SONDE_COLLECT_TOLD_H

#include "collect/lives.h"

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
