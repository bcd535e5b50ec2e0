/* ZeroMQ addresses as users write them: "tcp://login1:5555", "login1", "tcp://[::1]:5555", "ipc:///run/x". */
#ifndef SONDE_TRANSPORT_ADDRESS_H
#define SONDE_TRANSPORT_ADDRESS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define ADDRESS_MAX 256

/* Adds "tcp://" and the default port if they are missing. USAGE: invalid or too long. */
enum err address_normalize(const char *text, unsigned port, char address[ADDRESS_MAX]);

/* Is it reachable only from this node? Then it may be used without encryption. */
bool address_is_local(const char *address);

/* Addresses of the host of a tcp:// address, for freeaddrinfo. USAGE: not such an address; ABSENT: cannot be resolved. error gets
 * the message. */
struct addrinfo;
enum err address_resolve(const char *address, struct addrinfo **found, char *error, size_t error_size);

/* Does a tcp:// address accept connections? Waits up to timeout_ms, plus the time to resolve the name. Other schemes:
 * true. */
bool address_is_reachable(const char *address, int timeout_ms);

#endif
