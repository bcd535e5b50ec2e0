/* The report: a job on one page of 80 columns. What ran and where, resource usage, the most expensive parts, missing
 * data, advice. */
#ifndef SONDE_REPORT_REPORT_H
#define SONDE_REPORT_REPORT_H

#include "net/json.h"
#include "analysis/advice.h"
#include "analysis/missing.h"
#include "report/page.h"

struct report {
    const struct facts *facts;
    struct advice_list advice;
    struct missing_list missing;
};

/* Evaluates the rules. The facts are borrowed. */
void report_init(struct report *report, const struct facts *facts);

void report_print(const struct report *report, struct buf *out, const struct terminal *terminal);

/* The same and the raw numbers as one JSON object (report/report_json.c). Units are part of the names; missing values
 * are left out. */
void report_json(const struct report *report, struct buf *out);

/* The sections of report_print, each in a file of its own. */
void report_head(struct page *page, const struct facts *facts);   /* report/report_head.c */
bool report_runs_differ(const struct facts *facts);               /* report_runs.c: list the runs instead of one command */
void report_runs(struct page *page, const struct facts *facts);
enum colour report_runs_end(const struct facts *facts, char *text, size_t size); /* how they ended, for "status" */
void report_usage(struct page *page, const struct facts *facts);    /* report/report_usage.c: bars, timeline, waiting */
void report_tables(struct page *page, const struct facts *facts); /* report/report_tables.c: executables, processes, threads */
void report_programs(struct page *page, const struct facts *facts);   /* report/report_programs.c: MPI, system calls,
    program metrics */

/* Part of report_json: "mpi", "system_calls", "program", if there is data (report/report_programs_json.c). */
void report_programs_json(struct json *json, const struct facts *facts);

#endif
