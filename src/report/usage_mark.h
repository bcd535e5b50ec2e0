/* Marks inexact numbers of a process: a character after the CPU time, a footnote that explains it, JSON keys. */
#ifndef SONDE_REPORT_USAGE_MARK_H
#define SONDE_REPORT_USAGE_MARK_H

#include "net/json.h"
#include "model/process.h"

/* The bit of sources that the mark stands for: USAGE_WITH_OTHERS, else USAGE_ESTIMATED, else 0. */
unsigned usage_mark_kind(unsigned sources);

/* "*": the numbers include others; "~": part of the CPU time is estimated; "": neither. */
const char *usage_mark(unsigned sources);

/* The footnotes of these kinds, one after the other: *at is 0 at first. NULL: no more. */
const char *usage_mark_next(unsigned kinds, size_t *at);

/* "with_others": true, "estimated": true; only if so. */
void usage_mark_json(struct json *json, unsigned sources);

#endif
