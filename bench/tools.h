/* Helpers of the benchmarks: a clock, a private spool, a child process with or without the probe. */
#ifndef SONDE_BENCH_TOOLS_H
#define SONDE_BENCH_TOOLS_H

#include <stdbool.h>
#include <stdint.h>

uint64_t tools_now_ns(void);
double tools_smaller(double a, double b);
void tools_die(const char *message) __attribute__((noreturn));

/* Creates an empty spool below $TMPDIR for the probe library at this path. */
void tools_spool_make(const char *probe_path);
const char *tools_spool_path(void);
uint64_t tools_spool_bytes(void);
void tools_spool_empty(void);
void tools_spool_remove(void);

/* Runs a program and waits for it; exits with an error if it fails. */
void tools_run(char **argv, bool probe);
/* Returns whether it exits with status 0. */
bool tools_succeeds(char **argv);
/* Like tools_run; returns the number that it prints. */
double tools_run_number(char **argv, bool probe);

#endif
