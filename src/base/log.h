/* Log messages on stderr, one line each, after "sonde: " or the name under which sonde was started. They say what failed, on
 * what, why, and what to do. */
#ifndef SONDE_BASE_LOG_H
#define SONDE_BASE_LOG_H

/* Something that the user asked for failed. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Something is degraded; work continues. */
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Only with -v. */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Only with -vv: what happens at each sample. */
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* 0: errors and warnings; 1: info too; 2: debug too; -1: errors only. */
void log_set_level(int level);
int log_level(void);

/* The name before each message, "sonde" by default. Not copied. */
void log_set_name(const char *name);
const char *log_name(void);

/* A module (base/module.h) has its own copy of these functions. It shares the state of the program, so that level and name
 * apply to it too. */
struct log_state {
    int level;
    const char *name;
};

struct log_state *log_shared(void);
void sonde_log_share(struct log_state *shared); /* found with dlsym */

#endif
