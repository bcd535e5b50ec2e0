/* Shared by the files of the module wire-zmq.so: libzmq contexts, error conversion, and the functions that zmq_module.c
 * exports in its table. */
#ifndef SONDE_TRANSPORT_ZMQ_MODULE_H
#define SONDE_TRANSPORT_ZMQ_MODULE_H

#include "transport/zmq.h"

#define ZMQ_MODULE_MESSAGE_MAX ((int64_t)21 << 20) /* a larger message closes the sender's connection */

/* A context for sockets that connect: shared by as many as fit, and destroyed with the last of them. NULL: none
 * available. */
void *zmq_module_context(unsigned sockets);
void zmq_module_release_context(void *context, unsigned sockets);

/* Converts the errno of libzmq's last call; error gets the message. */
enum err zmq_module_error(char *error, size_t error_size);

/* Sets an integer option. */
void zmq_module_set(void *socket, int option, int value);

int zmq_module_fd(void *socket);

/* The next message, its parts joined. AGAIN, FULL as zmq_pull_next. */
enum err zmq_module_next(void *socket, struct buf *message);
enum err zmq_module_send(void *socket, struct bytes message);

enum err zmq_pull_open(struct zmq_pull **pull, const char *address, char *error, size_t error_size);
int zmq_pull_fd(const struct zmq_pull *pull);
enum err zmq_pull_next(struct zmq_pull *pull, struct buf *message);
void zmq_pull_close(struct zmq_pull **pull);

enum err zmq_push_open(struct zmq_push **push, const char *address, unsigned queued_max, char *error, size_t error_size);
enum err zmq_push_send(struct zmq_push *push, struct bytes message);
void zmq_push_close(struct zmq_push **push, unsigned linger_ms);

enum err zmq_dealer_open(struct zmq_dealer **dealer, const char *address, const struct zmq_keys *keys, char *error,
                         size_t error_size);
int zmq_dealer_fd(const struct zmq_dealer *dealer);
enum err zmq_dealer_send(struct zmq_dealer *dealer, struct bytes message);
enum err zmq_dealer_next(struct zmq_dealer *dealer, struct buf *message);
bool zmq_dealer_is_up(struct zmq_dealer *dealer, char *error, size_t error_size);
void zmq_dealer_close(struct zmq_dealer **dealer);

enum err zmq_router_open(struct zmq_router **router, const char *const *addresses, const struct zmq_keys *keys,
                         const struct zmq_authorizer *gate, char *error, size_t error_size);
int zmq_router_fd(const struct zmq_router *router);
enum err zmq_router_next(struct zmq_router *router, struct zmq_peer *peer, struct buf *message);
enum err zmq_router_send(struct zmq_router *router, const struct zmq_peer *peer, struct bytes message);
void zmq_router_close(struct zmq_router **router);

#endif
