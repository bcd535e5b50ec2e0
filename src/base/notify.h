/* Reports the state of a daemon to systemd: ready, reloading, stopping, alive. Does nothing without systemd. */
#ifndef SONDE_BASE_NOTIFY_H
#define SONDE_BASE_NOTIFY_H

#include <stdint.h>

struct notify {
    int fd;               /* -1: not started by systemd */
    uint64_t watchdog_ns; /* systemd's watchdog timeout; 0: none */
    uint64_t sent_ns;     /* CLOCK_MONOTONIC of the last WATCHDOG=1 */
};

/* Uses $NOTIFY_SOCKET and $WATCHDOG_USEC and removes them from the environment. */
void notify_open(struct notify *notify);
void notify_close(struct notify *notify);

/* "READY=1", "STOPPING=1", lines of KEY=VALUE. */
void notify_send(const struct notify *notify, const char *text);
void notify_reloading(const struct notify *notify);

/* To be called at least once a second: sends WATCHDOG=1 as often as needed. */
void notify_alive(struct notify *notify, uint64_t monotonic_ns);

#endif
