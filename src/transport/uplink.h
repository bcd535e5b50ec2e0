/* The uplink: a thread that sends the records of a journal to a collector, the first of a list that responds. It sends
 * HELLO, opens each stream with a snapshot, sends records as they are in the journal, and moves its cursor when they
 * are acknowledged. When a collector fails, it continues with the next one after the last acknowledged record. While it
 * uses another collector than the first, it checks regularly whether the first one is back, and returns to it once
 * everything sent is acknowledged, so that no record is sent to both. */
#ifndef SONDE_TRANSPORT_UPLINK_H
#define SONDE_TRANSPORT_UPLINK_H

#include "base/buf.h"
#include "journal/journal.h"

#define UPLINK_PORT 5555
#define UPLINK_COLLECTORS_MAX 16

/* Borrowed until uplink_close, except collectors and keys, which are copied. */
struct uplink_settings {
    struct journal *journal;
    const char *name;                /* of the journal's reader: "uplink" */
    const char *host, *role;         /* our identity, for HELLO */
    const char *const *collectors;   /* "tcp://login1:5555", NULL-terminated */
    const char *key_file;            /* ours; NULL: no encryption */
    const char *const *server_keys;  /* per collector: Z85 or a file that contains it; NULL element: no encryption */
    bool munge;                      /* send a munge credential with HELLO */
    uint64_t return_ns;              /* interval of checks for the first collector, randomly up to 50 % longer; 0: 60 s */
    uint64_t silence_ns;             /* a collector that sends nothing for this long is down; 0: 15 s */
};

enum uplink_state { UPLINK_IDLE, UPLINK_CONNECTING, UPLINK_UP, UPLINK_REFUSED, UPLINK_WAITING };

struct uplink_figures {
    enum uplink_state state;
    char collector[256];                              /* the current one, or the last one tried */
    char error[256];                                  /* why it is not up, or what it could not read; "": no problem */
    uint64_t since_ns;                                /* CLOCK_REALTIME, in this state */
    uint64_t connections;                             /* total */
    uint64_t records_sent, records_acked, bytes_sent; /* repeated records count each time */
    uint64_t acked_ns;                                /* time of the last acknowledgement; 0: never */
    uint64_t lag_bytes, lag_ns;                       /* of the journal: not acknowledged yet */
    uint64_t unreadable;                              /* records that the collector could not read */
};

struct uplink;

/* Loads the ZeroMQ module and starts the thread. ABSENT, CORRUPT: no module; USAGE: invalid address or key. */
enum err uplink_open(struct uplink **uplink, const struct uplink_settings *settings, struct buf *error);

/* Waits up to linger_ns for acknowledgements, then ends the thread. What is left stays in the journal. */
void uplink_close(struct uplink **uplink, uint64_t linger_ns);

void uplink_figures(struct uplink *uplink, struct uplink_figures *figures);
void uplink_reload(struct uplink *uplink); /* the key file may have changed */

#endif
