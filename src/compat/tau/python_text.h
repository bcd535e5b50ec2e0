/* Numbers and strings as Python prints them, for tools that parse the output of tau_metric_client; and the same as
 * YAML. */
#ifndef SONDE_COMPAT_TAU_PYTHON_TEXT_H
#define SONDE_COMPAT_TAU_PYTHON_TEXT_H

#include "base/buf.h"

/* repr of a float: "9.0", "1e+16", "inf". */
void python_text_float(struct buf *out, double value);

/* json.dumps of a string, with its quotes: ASCII only. Bytes that are not UTF-8 become U+FFFD. */
void python_text_json(struct buf *out, const char *text);

/* json.dumps of a float, but null for NaN and infinities, which JSON lacks. */
void python_text_json_float(struct buf *out, double value);

/* A YAML scalar on one line that every YAML 1.1 or 1.2 parser reads as a string: plain where that is safe, else in
 * double quotes. */
void python_text_yaml(struct buf *out, const char *string);

/* A YAML float. */
void python_text_yaml_float(struct buf *out, double value);

#endif
