/* Formats numbers and names for sentences. */
#ifndef SONDE_ANALYSIS_PHRASE_H
#define SONDE_ANALYSIS_PHRASE_H

#include "base/buf.h"
#include "base/format.h"

uint64_t phrase_round(double value);        /* rounded; 0 for negative values and NAN, UINT64_MAX if too large */
struct format_text phrase_count(double count);     /* as format_count */
struct format_text phrase_plural(uint64_t count, const char *one, const char *many); /* "1 process", "4,210 processes" */
struct format_text phrase_percent(double share);     /* 0.524: "52 %"; "under 1 %"; "over 99 %" */
struct format_text phrase_fraction(double share);      /* to start a sentence: "Half (52 %)", "A third (35 %)", "83 %" */
struct format_text phrase_duration(double seconds); /* as format_duration */
struct format_text phrase_cores(double cores);     /* "0.05", "3.1", "16" */
struct format_text phrase_bytes(double bytes);     /* as format_bytes */
struct format_text phrase_name(struct bytes name); /* printable, truncated; "?" if empty */
struct format_text phrase_offset(double seconds);  /* since the start: "0:07", "12:30", "3:00:05" */
struct format_text phrase_interval(double seconds);  /* as an argument of -p: "10ms", "2s" */
struct format_text phrase_signal(int number);      /* "SIGSEGV (segmentation fault)" */

#endif
