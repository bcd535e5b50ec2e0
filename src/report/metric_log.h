/* Values over time, in a file that is valid after every sample: what sonde track writes. JSON is an array with one
 * array per sample, as of tau_metric_client. */
#ifndef SONDE_REPORT_METRIC_LOG_H
#define SONDE_REPORT_METRIC_LOG_H

#include "report/metric_print.h"

struct metric_log {
    int fd;
    bool is_owned;
    bool is_file;   /* the end of the document is overwritten by the next sample */
    uint64_t whole; /* size without the end of the document */
    uint64_t samples;
    enum metric_format format;
    enum metric_columns columns;
    struct terminal terminal;
    struct buf out;
};

/* path NULL or "-": standard output. ABSENT, DENIED, FULL, IO. */
enum err metric_log_open(struct metric_log *log, const char *path, enum metric_format format, enum metric_columns columns);

/* Adds a sample; an empty list adds nothing. GONE: the reader has closed the pipe; FULL, IO: what was written before is
 * intact. */
enum err metric_log_add(struct metric_log *log, const struct metric_list *list);

/* Ends the document and closes the file. */
enum err metric_log_close(struct metric_log *log);

#endif
