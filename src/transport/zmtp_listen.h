/* Where a router listens: "tcp://127.0.0.1:5555", "tcp://[::1]:5555"; in place of the figures a star for all addresses, a
 * name or an interface of this machine; or "ipc:///run/x". */
#ifndef SONDE_TRANSPORT_ZMTP_LISTEN_H
#define SONDE_TRANSPORT_ZMTP_LISTEN_H

#include "base/err.h"

#include <stddef.h>

/* A socket that does not block. why gets the reason of a failure. */
enum err zmtp_listen(const char *address, int *fd, char *why, size_t why_size);

#endif
