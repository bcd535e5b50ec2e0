/* A sink of the collector: a thread that reads the journal at its own speed and writes it there. What cannot be written is
 * tried again, for as long as the journal keeps it; nobody else waits for it. */
#ifndef SONDE_COLLECT_OUTLET_H
#define SONDE_COLLECT_OUTLET_H

#include "sink/choice.h"
#include "wire/journal.h"

struct outlet;

enum outlet_state { OUTLET_OPENING, OUTLET_WRITES, OUTLET_FAILS, OUTLET_CLOSED };

struct outlet_figures {
    enum outlet_state state;
    char name[64];               /* of its cursor */
    char why[256];               /* it fails; "": it does not */
    uint64_t batches, samples, values; /* written, since the start */
    uint64_t gaps;               /* records that were gone before it could read them */
    uint64_t unreadable;         /* records */
    uint64_t refused;            /* samples that the other side will never take */
    uint64_t failures;           /* of writes and flushes */
    uint64_t lag_bytes, lag_ns;  /* what waits for it in the journal */
    uint64_t success_ns;         /* CLOCK_REALTIME, when something was made durable last; 0: never */
    uint64_t read_ns, write_ns, flush_ns, flushes; /* time spent */
    uint64_t streams;            /* that it knows */
};

/* Starts the thread. The choice is copied. dir: that of the journal; runs that come in pieces are put
 * together in a folder of it, where the sink is a store. */
enum err outlet_open(struct outlet **outlet, struct journal *journal, const struct sink_choice *choice, const char *dir);

/* Writes and flushes what there is, for at most so long; what is left stays in the journal. */
void outlet_close(struct outlet **outlet, uint64_t linger_ns);
void outlet_hurry(struct outlet *outlet, uint64_t linger_ns); /* outlet_close follows: several can end at the same time */

/* Closes and opens the sink, since somebody may have moved its files away. */
void outlet_reopen(struct outlet *outlet);

const struct sink_choice *outlet_choice(const struct outlet *outlet);
const char *outlet_instance(const struct outlet *outlet); /* the name of its cursor; as long as it lives */
void outlet_figures(struct outlet *outlet, struct outlet_figures *figures);

/* The name of the cursor of a choice: that of the sink and a hash of its settings, so that it is the same after a restart. */
void outlet_name(const struct sink_choice *choice, char name[64]);

#endif
