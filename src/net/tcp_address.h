/* The addresses of a TCP connection, as both ends see them. */
#ifndef SONDE_NET_TCP_ADDRESS_H
#define SONDE_NET_TCP_ADDRESS_H

#include "base/err.h"

#define TCP_ADDRESS_MAX 80

/* "10.0.0.5 41234": of this end, or of the peer. An IPv4 address in IPv6 form is written as IPv4. */
enum err tcp_address_own(int fd, char text[TCP_ADDRESS_MAX]);
enum err tcp_address_peer(int fd, char text[TCP_ADDRESS_MAX]);

#endif
