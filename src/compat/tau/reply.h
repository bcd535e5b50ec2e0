/* Answers to LIST_ALL, GET_ALL and GET_ONE of tau's clients, made piece by piece as they are read: a list of 100,000 metrics
 * has 60 MB, and whoever reads slowly must not make us hold them. From the table of programs to server.c. */
#ifndef SONDE_COMPAT_TAU_REPLY_H
#define SONDE_COMPAT_TAU_REPLY_H

#include "appmetrics/registry.h"
#include "compat/tau/protocol.h"

#define TAU_REPLY_SIZE 65536u /* so much of an answer is made at once */

/* Zeroed: there is none. */
struct tau_reply {
    int32_t type;       /* enum tau_message_type; TAU_DESC: none */
    size_t next;        /* of the table's metrics */
    int32_t left;       /* items to come */
    bool has_head;      /* their number was sent */
    struct tau_event one; /* of GET_ONE: the answer */
};

/* Both under the table's lock. name: TAU_TEXT_MAX bytes, of which GET_ONE is asked. */
void tau_reply_begin(struct tau_reply *reply, struct registry *registry, int32_t type, const char *name);

/* The next piece; 0: it is whole, and the reply is none any more. capacity is at least TAU_REPLY_SIZE. */
size_t tau_reply_fill(struct tau_reply *reply, struct registry *registry, char *out, size_t capacity);

#endif
