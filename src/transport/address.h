/* Addresses of ZeroMQ, as people give them: "tcp://login1:5555", "login1", "tcp://[::1]:5555", "ipc:///run/x". */
#ifndef SONDE_TRANSPORT_ADDRESS_H
#define SONDE_TRANSPORT_ADDRESS_H

#include "base/err.h"

#include <stdbool.h>

#define ADDRESS_MAX 256

/* With "tcp://" before it and port behind it where they are not said. USAGE: it makes no sense, or is too long. */
enum err address_complete(const char *text, unsigned port, char address[ADDRESS_MAX]);

/* Can nobody but this machine reach it? So what is not encrypted may pass there. */
bool address_is_local(const char *address);

/* Does somebody take connections at a tcp:// address? Waits for so long at most, and for the resolver of names. Others: true. */
bool address_answers(const char *address, int timeout_ms);

#endif
