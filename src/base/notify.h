/* Tells systemd how the agent is: ready, reloading, stopping, alive. Without systemd nothing happens. */
#ifndef SONDE_BASE_NOTIFY_H
#define SONDE_BASE_NOTIFY_H

#include <stdint.h>

struct notify {
    int fd;               /* -1: nobody wants to know */
    uint64_t watchdog_ns; /* it wants to hear of us so often; 0: it does not */
    uint64_t sent_ns;     /* CLOCK_MONOTONIC */
};

/* From $NOTIFY_SOCKET and $WATCHDOG_USEC, which are taken out of the environment. */
void notify_open(struct notify *notify);
void notify_close(struct notify *notify);

/* "READY=1", "STOPPING=1", lines of KEY=VALUE. */
void notify_send(const struct notify *notify, const char *text);
void notify_reloading(const struct notify *notify);

/* Called at least once a second: says that we are alive, as often as is wanted. */
void notify_alive(struct notify *notify, uint64_t monotonic_ns);

#endif
