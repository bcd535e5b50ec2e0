/* Addresses that a router listens on: "tcp://127.0.0.1:5555", "tcp://[::1]:5555"; instead of the number "*" for all, a
 * host name or a network interface; or "ipc:///run/x". */
#ifndef SONDE_TRANSPORT_ZMTP_LISTEN_H
#define SONDE_TRANSPORT_ZMTP_LISTEN_H

#include "base/err.h"

#include <stddef.h>

/* Returns a non-blocking socket. error gets the message. */
enum err zmtp_listen(const char *address, int *fd, char *error, size_t error_size);

#endif
