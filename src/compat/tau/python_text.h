/* Numbers and texts as Python's json, yaml and str write them: what tools that read tau_metric_client's output compare with. */
#ifndef SONDE_COMPAT_TAU_PYTHON_TEXT_H
#define SONDE_COMPAT_TAU_PYTHON_TEXT_H

#include "base/buf.h"

/* repr of a float: "9.0", "1e+16", "inf". */
void python_text_float(struct buf *out, double value);

/* json.dumps of a text, with its quotes: ASCII alone. Bytes that are not UTF-8 become U+FFFD. */
void python_text_json(struct buf *out, const char *text);

/* json.dumps of a float, but what JSON has no word for is null. */
void python_text_json_float(struct buf *out, double value);

/* The same as yaml.dump writes it as a value of a mapping. column: where the cursor is; indent: of further lines. */
void python_text_yaml(struct buf *out, const char *text, size_t column, size_t indent);
void python_text_yaml_float(struct buf *out, double value);

#endif
