/* Metrics in the formats of tau_metric_client: descriptions or values. */
#ifndef SONDE_REPORT_METRIC_PRINT_H
#define SONDE_REPORT_METRIC_PRINT_H

#include "report/metric_list.h"
#include "report/terminal.h"

enum metric_format { METRIC_MD, METRIC_JSON, METRIC_YAML, METRIC_TXT };
#define METRIC_FORMATS OPTION_CHOICES(METRIC_TXT, "md", "json", "yaml", "txt")
#define METRIC_NO_WIDTH SIZE_MAX          /* for files: bullets of md are neither wrapped nor padded */

enum metric_columns {
    METRIC_DESCRIPTIONS, /* name, doc, type */
    METRIC_VALUES,       /* name, ts, value */
    METRIC_ALL,          /* all fields */
};

/* Prints a complete document. Only md uses terminal. */
void metric_print(struct buf *out, const struct metric_list *list, enum metric_columns columns,
                  enum metric_format format, const struct terminal *terminal);

/* For documents that grow: one item as JSON on one line, as YAML whose further lines are indented, as a line of text,
 * as a line of Markdown. */
void metric_print_json(struct buf *out, const struct metric_item *item, enum metric_columns columns);
void metric_print_yaml(struct buf *out, const struct metric_item *item, enum metric_columns columns, size_t indent);
void metric_print_txt(struct buf *out, const struct metric_item *item, enum metric_columns columns);
void metric_print_txt_title(struct buf *out, enum metric_columns columns);
void metric_print_md(struct buf *out, const struct metric_item *item, enum metric_columns columns,
                     const struct terminal *terminal);

#endif
