/* A sink that waits for others, in a thread of its own: batches go there as records of a stream, through a queue in memory, so
 * that no tick waits for a server. What the sink could not hand over is tried again; when the queue is full, what is read is
 * lost to this sink, and counted. */
#ifndef SONDE_AGENT_ASIDE_H
#define SONDE_AGENT_ASIDE_H

#include "sink/choice.h"

#define ASIDE_QUEUE_MAX (64u << 20)

struct aside;

/* Starts the thread. state is of the sink, which is open; it is borrowed until aside_close, and the thread alone uses it. */
enum err aside_open(struct aside **aside, const struct sink *sink, void *state);

/* Hands the batch over. FULL: the queue is; GONE: nobody reads any more. */
enum err aside_take(struct aside *aside, const struct batch *batch);

/* Waits up to linger_ns until all is durable, and ends the thread. Returns what went wrong then. Takes NULL there. */
enum err aside_close(struct aside **aside, uint64_t linger_ns);

#endif
