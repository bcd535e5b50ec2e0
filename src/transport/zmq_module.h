/* Inside the module wire-zmq.so: what its files share. Contexts of libzmq, its errors as ours, and the calls that
 * zmq_module.c puts into the table. */
#ifndef SONDE_TRANSPORT_ZMQ_MODULE_H
#define SONDE_TRANSPORT_ZMQ_MODULE_H

#include "transport/zmq.h"

#define ZMQ_MODULE_MESSAGE_MAX ((int64_t)21 << 20) /* larger ones cost their sender the connection */

/* A context for sockets that connect: shared by as many as one context takes, and gone with the last of them. NULL: none
 * can be had. */
void *zmq_module_context(unsigned sockets);
void zmq_module_leave(void *context, unsigned sockets);

/* errno of libzmq's last call as an error of ours, with its text in why. */
enum err zmq_module_fail(char *why, size_t why_size);

/* Sets an option that is an int. */
void zmq_module_set(void *socket, int option, int value);

/* The keys of one who connects; nothing when there are none. USAGE: not keys. */
enum err zmq_module_protect(void *socket, const struct zmq_keys *keys, char *why, size_t why_size);

int zmq_module_fd(void *socket);

/* The next message, its parts in one. AGAIN, FULL as pull_next. */
enum err zmq_module_next(void *socket, struct buf *message);
enum err zmq_module_send(void *socket, struct bytes message);

enum err pull_open(struct zmq_pull **pull, const char *address, char *why, size_t why_size);
int pull_fd(const struct zmq_pull *pull);
enum err pull_next(struct zmq_pull *pull, struct buf *message);
void pull_close(struct zmq_pull **pull);

enum err push_open(struct zmq_push **push, const char *address, unsigned queued_max, char *why, size_t why_size);
enum err push_send(struct zmq_push *push, struct bytes message);
void push_close(struct zmq_push **push, unsigned linger_ms);

enum err dealer_open(struct zmq_dealer **dealer, const char *address, const struct zmq_keys *keys, char *why, size_t why_size);
int dealer_fd(const struct zmq_dealer *dealer);
enum err dealer_send(struct zmq_dealer *dealer, struct bytes message);
enum err dealer_next(struct zmq_dealer *dealer, struct buf *message);
bool dealer_is_up(struct zmq_dealer *dealer, char *why, size_t why_size);
void dealer_close(struct zmq_dealer **dealer);

enum err router_open(struct zmq_router **router, const char *const *addresses, const struct zmq_keys *keys,
                     const struct zmq_gate *gate, char *why, size_t why_size);
int router_fd(const struct zmq_router *router);
enum err router_next(struct zmq_router *router, struct zmq_peer *peer, struct buf *message);
enum err router_send(struct zmq_router *router, const struct zmq_peer *peer, struct bytes message);
void router_close(struct zmq_router **router);

#endif
