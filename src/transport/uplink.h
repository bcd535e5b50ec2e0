/* The way up: a thread that reads a journal and hands its records to a collector, the first of a list that answers. It
 * says HELLO, opens each stream that it meets with its state, sends records as they are in the journal, and moves its cursor
 * when they are acknowledged. When the collector goes away it begins anew with the next one, where the last
 * acknowledgement was. With another than the first of the list it looks from time to time whether that is back, and returns to
 * it when all that was sent is acknowledged: so nothing is with both. */
#ifndef SONDE_TRANSPORT_UPLINK_H
#define SONDE_TRANSPORT_UPLINK_H

#include "base/buf.h"
#include "journal/journal.h"

#define UPLINK_PORT 5555
#define UPLINK_COLLECTORS_MAX 16

/* Borrowed until uplink_close, but for collectors and keys, which are copied. */
struct uplink_settings {
    struct journal *journal;
    const char *name;                /* of the journal's reader: "uplink" */
    const char *host, *role;         /* who we are: for HELLO */
    const char *const *collectors;   /* "tcp://login1:5555", NULL at the end */
    const char *key_file;            /* ours; NULL: not encrypted */
    const char *const *server_keys;  /* of each collector, Z85 or a file that has it; NULL at its place: not encrypted */
    bool munge;                      /* send a credential with HELLO */
    uint64_t return_ns;              /* from another one back to the first, after this time or a half more; 0: 60 s */
    uint64_t silence_ns;             /* a collector that says nothing for so long is away; 0: 15 s */
};

enum uplink_state { UPLINK_IDLE, UPLINK_CONNECTING, UPLINK_UP, UPLINK_REFUSED, UPLINK_WAITING };

struct uplink_figures {
    enum uplink_state state;
    char collector[256];        /* the one of now, or tried last */
    char why[256];              /* it is not up, or what it could not read; "": all is well */
    uint64_t since_ns;          /* CLOCK_REALTIME, in this state */
    uint64_t connections;       /* made so far */
    uint64_t records_sent, records_acked, bytes_sent; /* records: those sent again count again */
    uint64_t acked_ns;          /* when something was acknowledged last; 0: never */
    uint64_t lag_bytes, lag_ns; /* of the journal: not yet acknowledged */
    uint64_t unreadable;        /* records that the collector said it cannot read */
};

struct uplink;

/* Loads the transport and starts the thread. ABSENT, CORRUPT: no transport; USAGE: an address or key makes no sense. */
enum err uplink_open(struct uplink **uplink, const struct uplink_settings *settings, struct buf *why);

/* Gives what is there up to linger_ns to be acknowledged, then ends the thread. What is left stays in the journal. */
void uplink_close(struct uplink **uplink, uint64_t linger_ns);

void uplink_figures(struct uplink *uplink, struct uplink_figures *figures);
void uplink_reload(struct uplink *uplink); /* the key file may have changed */

#endif
