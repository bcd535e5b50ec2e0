/* Writes a value of a sample as JSON, by the type of its metric. */
#ifndef SONDE_SINKS_JSON_VALUE_H
#define SONDE_SINKS_JSON_VALUE_H

#include "net/json.h"
#include "model/metric.h"

/* "name": value */
static inline void json_value_add(struct json *json, const struct metric *metric, union value value)
{
    json_key(json, metric->name);
    switch (metric->type) {
    case U64: json_u64(json, value.u64); break;
    case I64: json_i64(json, value.i64); break;
    case F64: json_f64(json, value.f64); break;
    }
}

#endif
