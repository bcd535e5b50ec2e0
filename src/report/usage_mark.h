/* How well the numbers of a process are known: a sign behind its CPU time, a line that explains the sign, keys of JSON. */
#ifndef SONDE_REPORT_USAGE_MARK_H
#define SONDE_REPORT_USAGE_MARK_H

#include "net/json.h"
#include "model/process.h"

/* The bit of sources that its sign stands for: USAGE_WITH_OTHERS, else USAGE_ESTIMATED, else 0. */
unsigned usage_mark_kind(unsigned sources);

/* "*": the numbers hold those of others; "~": part of the CPU time is estimated; "": neither. */
const char *usage_mark(unsigned sources);

/* What the signs of these kinds mean, one line after the other: *at is 0 at first. NULL: that was all. */
const char *usage_mark_next(unsigned kinds, size_t *at);

/* "with_others": true, "estimated": true; only where it is so. */
void usage_mark_json(struct json *json, unsigned sources);

#endif
