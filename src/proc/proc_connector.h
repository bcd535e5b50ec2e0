/* The kernel's proc connector: every fork, exec and exit on this node, as it happens. Root may listen, and users since
 * Linux 6.6; both in the initial network and pid namespace only. */
#ifndef SONDE_PROC_PROC_CONNECTOR_H
#define SONDE_PROC_PROC_CONNECTOR_H

#include "base/buf.h"
#include "base/err.h"

enum proc_connector_kind { PROC_CONNECTOR_FORK, PROC_CONNECTOR_EXEC, PROC_CONNECTOR_EXIT };

struct proc_connector_event {
    enum proc_connector_kind kind;
    uint32_t pid, tid;   /* of whom it happened; a thread has tid != pid */
    uint32_t parent_pid; /* the process that made it: FORK; its parent now: EXIT (0 when the kernel is too old to say).
                            For a thread: the parent of its process. */
    uint64_t time_ns;    /* CLOCK_REALTIME */
    int status;          /* EXIT: as from wait4 */
};

struct proc_connector {
    int fd;
    unsigned kinds;            /* bit FORKS_…: what is given; the rest is dropped */
    uint64_t lost;             /* events that overflowed the socket since it was opened */
    uint64_t clock_offset_ns;  /* realtime - monotonic, taken anew at each read */
};

/* ABSENT: no connector in this kernel, network or pid namespace. DENIED: this user may not listen. */
enum err proc_connector_open(struct proc_connector *connector);

/* The same for some kinds of events only (bits 1 << FORKS_…): whoever must act on an exec at once, but can read of
 * forks and exits when there is time, listens to them on two sockets. Since Linux 6.6 the kernel sends no others. */
enum err proc_connector_open_kinds(struct proc_connector *connector, unsigned kinds);

/* Is there room for what some thousand processes cause, so that nothing is lost when it is read a little later? Where
 * this user may not have a large buffer there is not. */
bool proc_connector_has_large_buffer(const struct proc_connector *connector);

/* All that is there, in the order of each CPU; never blocks. What overflowed is added to lost. */
enum err proc_connector_read(struct proc_connector *connector,
                             void (*each)(void *context, const struct proc_connector_event *event), void *context);

/* The few that come with one call, at most PROC_CONNECTOR_READ_MAX, by the clock of the last reading, which must not be long ago.
 * AGAIN: there may be more. */
#define PROC_CONNECTOR_READ_MAX 8
enum err proc_connector_read_some(struct proc_connector *connector,
                                  void (*each)(void *context, const struct proc_connector_event *event), void *context);

/* Harmless on one that is closed or was never opened with success (fd < 0). */
void proc_connector_close(struct proc_connector *connector);

enum proc_connector_message { PROC_CONNECTOR_EVENT, PROC_CONNECTOR_ACK, PROC_CONNECTOR_OTHER };

/* What one datagram of the connector says: an event (time_ns as the kernel gives it: CLOCK_MONOTONIC), the answer to
 * our request (status: 0 or an errno), or something that is not for us. Takes any bytes. */
enum proc_connector_message proc_connector_parse(struct bytes datagram, struct proc_connector_event *event);

#endif
