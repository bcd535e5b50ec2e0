/* Facts of one process from /proc, for the job table. Any call may return GONE. */
#ifndef SONDE_PROC_PID_H
#define SONDE_PROC_PID_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Start time, which distinguishes processes with the same pid. CLOCK_REALTIME, to 10 ms. */
enum err pid_start_ns(const char *root, pid_t pid, uint64_t *start_ns);

/* It does not exist or is a zombie. */
bool pid_has_ended(const char *root, pid_t pid);

/* Real uid. */
enum err pid_uid(const char *root, pid_t pid, uint32_t *uid);

/* Parent pid; 0: outside of this pid namespace. */
enum err pid_parent(const char *root, pid_t pid, pid_t *parent);

/* Reads the initial environment, and finds a variable in it (NULL: not set). */
enum err pid_environ(const char *root, pid_t pid, char *text, size_t size, size_t *got);
const char *pid_environ_find(const char *text, size_t size, const char *name);

/* The first argument, which is the title if the program sets one. */
enum err pid_title(const char *root, pid_t pid, char *title, size_t size);

/* Calls each for every process in a cgroup directory and those below, until it returns false. Returns false if it
 * did. */
bool pid_each(const char *directory, bool (*each)(void *context, pid_t pid), void *context);

#endif
