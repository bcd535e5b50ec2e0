/* Numbers and names as they stand in sentences. */
#ifndef SONDE_ANALYSIS_PHRASE_H
#define SONDE_ANALYSIS_PHRASE_H

#include "base/buf.h"
#include "base/text.h"

uint64_t say_whole(double value);        /* rounded; 0 for what is less or not known, UINT64_MAX for what is too much */
struct text say_count(double count);     /* as text_count */
struct text say_many(uint64_t count, const char *one, const char *many); /* "1 process", "4,210 processes" */
struct text say_share(double share);     /* 0.524: "52 %"; "under 1 %"; "over 99 %" */
struct text say_part(double share);      /* to begin a sentence: "Half (52 %)", "A third (35 %)", "83 %" */
struct text say_seconds(double seconds); /* as text_duration */
struct text say_cores(double cores);     /* "0.05", "3.1", "16" */
struct text say_bytes(double bytes);     /* as text_bytes */
struct text say_name(struct bytes name); /* safe to print, shortened; "?" when empty */
struct text say_offset(double seconds);  /* since the start: "0:07", "12:30", "3:00:05" */
struct text say_period(double seconds);  /* as one would type it behind -p: "10ms", "2s" */
struct text say_signal(int number);      /* "SIGSEGV (segmentation fault)" */

#endif
