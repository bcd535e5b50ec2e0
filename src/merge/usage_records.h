/* What the wait, end, taskstats and alive records of a process instance report about its resource usage. merge/usage.c
 * decides which of them to use. */
#ifndef SONDE_MERGE_USAGE_RECORDS_H
#define SONDE_MERGE_USAGE_RECORDS_H

#include "merge/process_instance.h"

struct usage_records {
    bool has_wait, has_end, has_tasks, has_alive;
    struct counters wait; /* includes the children that it waited for */
    struct end_record end;
    struct counters tasks; /* sum of the taskstats of all threads */
    uint32_t task_count;
    struct counters alive; /* of the latest alive record */
};

/* The peak memory is known for the last image alone, and not for all that the pid executed. */
static inline bool usage_records_have_own_rss(const struct usage_records *reported)
{
    return (reported->has_tasks && counters_has(&reported->tasks, COUNTER_rssmax))
           || (reported->has_end && reported->end.rss_is_own);
}

void usage_records_read(const struct record_index *records, const struct process_instance *instance,
                        struct usage_records *reported);

#endif
