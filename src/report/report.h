/* A job on one page of 80 columns: what ran, on what, what it used, who used it, what is not known, and advice. */
#ifndef SONDE_REPORT_REPORT_H
#define SONDE_REPORT_REPORT_H

#include "net/json.h"
#include "analysis/advice.h"
#include "analysis/missing.h"
#include "report/page.h"

struct report {
    const struct facts *facts;
    struct advice_list advice;
    struct unknown_list unknown;
};

/* Judges the facts, which are borrowed. */
void report_init(struct report *report, const struct facts *facts);

void report_print(const struct report *report, struct buf *out, const struct terminal *terminal);

/* The same, and the raw numbers, as one JSON object (report/report_json.c). Units stand in the names; what is not known
 * is left out. */
void report_json(const struct report *report, struct buf *out);

/* Parts of report_print in files of their own. */
void report_head(struct page *page, const struct facts *facts);   /* report/report_head.c */
bool report_runs_differ(const struct facts *facts);               /* report_runs.c: several runs, in place of one command */
void report_runs(struct page *page, const struct facts *facts);
enum colour report_runs_end(const struct facts *facts, char *text, size_t size); /* how they ended, for "ended" */
void report_use(struct page *page, const struct facts *facts);    /* report/report_usage.c: bars, curves, waiting */
void report_tables(struct page *page, const struct facts *facts); /* report/report_tables.c: who cost most */
void report_told(struct page *page, const struct facts *facts);   /* report/report_programs.c: MPI, system calls, own counters */

/* Part of report_json: "mpi", "system_calls", "program", where there is something (report/report_programs_json.c). */
void report_told_json(struct json *json, const struct facts *facts);

#endif
