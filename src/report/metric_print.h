/* Metrics in the formats of tau_metric_client: a list of what there is, or of values. */
#ifndef SONDE_REPORT_METRIC_PRINT_H
#define SONDE_REPORT_METRIC_PRINT_H

#include "report/metric_list.h"
#include "report/terminal.h"

enum metric_format { METRIC_MD, METRIC_JSON, METRIC_YAML, METRIC_TXT };
#define METRIC_FORMATS "md json yaml txt" /* in the order of the enum */
#define METRIC_NO_WIDTH SIZE_MAX          /* of a terminal that is a file: md's bullets are neither wrapped nor filled up */

enum metric_columns {
    METRIC_DESCRIPTIONS, /* name, doc, type */
    METRIC_VALUES,       /* name, ts, value */
    METRIC_ALL,          /* all that is known */
};

/* A whole document. terminal is asked by md alone. */
void metric_print(struct buf *out, const struct metric_list *list, enum metric_columns columns, enum metric_format format,
                  const struct terminal *terminal);

/* For documents that grow: one item as JSON in one line, as YAML whose lines but the first begin with indent blanks, as a line of
 * text, as a line of Markdown. */
void metric_print_json(struct buf *out, const struct metric_item *item, enum metric_columns columns);
void metric_print_yaml(struct buf *out, const struct metric_item *item, enum metric_columns columns, size_t indent);
void metric_print_txt(struct buf *out, const struct metric_item *item, enum metric_columns columns);
void metric_print_txt_title(struct buf *out, enum metric_columns columns);
void metric_print_md(struct buf *out, const struct metric_item *item, enum metric_columns columns,
                     const struct terminal *terminal);

#endif
