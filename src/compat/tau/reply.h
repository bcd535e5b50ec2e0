/* Replies to LIST_ALL, GET_ALL and GET_ONE of tau's clients, produced piece by piece as they are read: a list of
 * 100,000 metrics has 60 MB, which must not be held for a slow client. From the registry to server.c. */
#ifndef SONDE_COMPAT_TAU_REPLY_H
#define SONDE_COMPAT_TAU_REPLY_H

#include "appmetrics/registry.h"
#include "compat/tau/protocol.h"

#define TAU_REPLY_SIZE 65536u /* bytes of one piece */

/* Zeroed: there is none. */
struct tau_reply {
    int32_t type;       /* enum tau_message_type; TAU_DESC: none */
    size_t next;        /* metric: its index in the registry */
    int32_t left;       /* items to send */
    bool has_head;      /* the number of items was sent */
    char name[TAU_TEXT_MAX]; /* of TAU_GET_ONE */
};

/* Both under the registry's lock. name: TAU_TEXT_MAX bytes, for GET_ONE. */
void tau_reply_begin(struct tau_reply *reply, int32_t type, const char *name);

/* Returns the size of the next piece; 0: the reply is complete, and cleared. capacity is at least TAU_REPLY_SIZE. */
size_t tau_reply_fill(struct tau_reply *reply, struct registry *registry, char *out, size_t capacity);

#endif
