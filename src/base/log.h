/* Messages to people, on stderr, each on one line behind "sonde: ", or another name under which sonde was called. They say what
 * happened, to what, and what to do. */
#ifndef SONDE_BASE_LOG_H
#define SONDE_BASE_LOG_H

/* Something failed that the person asked for. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Something is less than it could be; the work goes on. */
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Shown with -v only. */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* 0: errors and warnings; 1: info too; -1: errors only. */
void log_set_level(int level);
int log_level(void);

/* Who speaks: "sonde" at first. Kept, not copied. */
void log_set_name(const char *name);
const char *log_name(void);

/* A module (base/install_paths.h) has these functions once more: it is handed the state of the program, so that -v
 * and the name that was typed, also as they change later, are told to it too. */
struct log_state {
    int level;
    const char *name;
};

struct log_state *log_shared(void);
void sonde_log_share(struct log_state *shared); /* found with dlsym */

#endif
