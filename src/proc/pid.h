/* What /proc tells of one process that the table of jobs wants to know. Everything may be GONE. */
#ifndef SONDE_PROC_PID_H
#define SONDE_PROC_PID_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* When it began: two processes with the same pid differ in it. CLOCK_REALTIME, to 10 ms. */
enum err pid_start_ns(const char *root, pid_t pid, uint64_t *start_ns);

/* It is not there, or only waits for its parent to hear of its end. */
bool pid_has_ended(const char *root, pid_t pid);

/* Its real user. */
enum err pid_uid(const char *root, pid_t pid, uint32_t *uid);

/* The process that made it, or took it over; 0: nobody here. */
enum err pid_parent(const char *root, pid_t pid, pid_t *parent);

/* The environment that it was started with, and a variable in it: NULL when there is none of that name. */
enum err pid_environ(const char *root, pid_t pid, char *text, size_t size, size_t *got);
const char *pid_environ_find(const char *text, size_t size, const char *name);

/* The first of its arguments, which is its title where the program sets one. */
enum err pid_title(const char *root, pid_t pid, char *title, size_t size);

/* Calls each for every process in a cgroup's folder and in those below, until it returns false. False: it did. */
bool pid_each(const char *directory, bool (*each)(void *context, pid_t pid), void *context);

#endif
