/* The kernel's proc connector: every fork, exec and exit on this node as it happens. Open to root, and to users since
 * Linux 6.6, in the initial network and pid namespace only. */
#ifndef SONDE_PROC_PROC_CONNECTOR_H
#define SONDE_PROC_PROC_CONNECTOR_H

#include "base/buf.h"
#include "base/err.h"

enum proc_connector_kind { PROC_CONNECTOR_FORK, PROC_CONNECTOR_EXEC, PROC_CONNECTOR_EXIT };

struct proc_connector_event {
    enum proc_connector_kind kind;
    uint32_t pid, tid;   /* the process or thread; a thread has tid != pid */
    uint32_t parent_pid; /* FORK: the parent process; EXIT: its current parent (0 on old kernels). For a thread: the
                          * parent of its process. */
    uint64_t time_ns;    /* CLOCK_REALTIME */
    int status;          /* EXIT: as from wait4 */
};

struct proc_connector {
    int fd;
    unsigned kinds;            /* bits 1 << PROC_CONNECTOR_…: the events to pass on; others are dropped */
    uint64_t lost;             /* events lost to overflow since it was opened */
    uint64_t clock_offset_ns;  /* realtime - monotonic, updated at each read */
};

/* ABSENT: no connector in this kernel, network or pid namespace. DENIED: this user may not subscribe. */
enum err proc_connector_open(struct proc_connector *connector);

/* The same for some kinds of events (bits 1 << PROC_CONNECTOR_…). A caller that must handle execs at once but forks and
 * exits only later opens two. Since Linux 6.6 the kernel filters; before, it sends all events. */
enum err proc_connector_open_kinds(struct proc_connector *connector, unsigned kinds);

/* Is the receive buffer large enough for some thousand processes, so that reading later loses nothing? Not if this user
 * may not have a large buffer. */
bool proc_connector_has_large_buffer(const struct proc_connector *connector);

/* Reads all waiting events, in the order of each CPU; never blocks. Overflows are added to lost. */
enum err proc_connector_read(struct proc_connector *connector,
                             void (*each)(void *context, const struct proc_connector_event *event), void *context);

/* Reads at most PROC_CONNECTOR_READ_MAX events with one system call. Times use the clock offset of the last
 * proc_connector_read, which must not be long ago. AGAIN: there may be more. */
#define PROC_CONNECTOR_READ_MAX 8
enum err proc_connector_read_some(struct proc_connector *connector,
                                  void (*each)(void *context, const struct proc_connector_event *event), void *context);

/* Does nothing if it is closed or was never opened (fd < 0). */
void proc_connector_close(struct proc_connector *connector);

enum proc_connector_message { PROC_CONNECTOR_EVENT, PROC_CONNECTOR_ACK, PROC_CONNECTOR_OTHER };

/* Parses one datagram: an event (time_ns is CLOCK_MONOTONIC, as the kernel sends it), the acknowledgement of our
 * request (status: 0 or an errno), or something else. Accepts any bytes. */
enum proc_connector_message proc_connector_parse(struct bytes datagram, struct proc_connector_event *event);

#endif
