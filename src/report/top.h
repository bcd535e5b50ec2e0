/* The page of sonde top: the node on one line, its jobs in a table. */
#ifndef SONDE_REPORT_TOP_H
#define SONDE_REPORT_TOP_H

#include "api/jobs_client.h"
#include "report/terminal.h"

/* In the order of the option --sort; see top_key. */
enum top_sort { TOP_CPU, TOP_MEMORY, TOP_IO, TOP_TIME, TOP_POWER, TOP_SORTS };

struct top_view {
    enum top_sort sort;
    bool reverse;
    bool is_batch;      /* without the list of keys */
    size_t first, rows; /* the first job shown, and how many fit; rows 0: all */
    const char *error; /* why the page could not be updated; NULL: it was */
};

/* Sorts the jobs, largest first. */
void top_sort(struct jobs_answer *now, enum top_sort sort, bool reverse);

/* Adds the page. now must be sorted. */
void top_print(struct buf *out, const struct jobs_answer *now, const struct top_view *view, const struct terminal *terminal);

/* Lines that top_print needs in addition to those of jobs. */
#define TOP_HEAD_LINES 4

/* 'c', 'm', 'i', 't', 'p' select a sort key; false: another key. */
bool top_key(char key, enum top_sort *sort);

#endif
