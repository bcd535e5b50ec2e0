/* The first record of a spool: identity of the run, its user and node, and its limits. */
#ifndef SONDE_RUN_RUN_RECORD_H
#define SONDE_RUN_RUN_RECORD_H

#include "proc/host.h"
#include "jobs/job_id.h"
#include "jobs/limits.h"
#include "proc/perf.h"
#include "run/run.h"
#include "run/spool_dir.h"
#include "run/spool_writer.h"

struct run_record_facts {
    struct host_facts host;
    struct limits limits;
    struct job_id job;
    char run_id[RUN_ID_MAX];
    char user[256];
    uint64_t time_ns;
};

void run_record_facts(struct run_record_facts *facts, const struct run_settings *settings);

void run_record_write(struct spool_writer *writer, const struct run_settings *settings,
                      const struct run_record_facts *facts,
                      const struct perf_event_spec *specs, size_t spec_count);

#endif
