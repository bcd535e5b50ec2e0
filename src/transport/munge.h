/* Munge credentials, at sites that use munge: they prove the uid of the sender among nodes that share a key, and that
 * the credential is recent and not a replay. libmunge is loaded when it is needed; $SONDE_MUNGE_SOCKET selects another
 * munged than the default. */
#ifndef SONDE_TRANSPORT_MUNGE_H
#define SONDE_TRANSPORT_MUNGE_H

#include "base/buf.h"

/* A credential for host. ABSENT: no libmunge; IO: no munged. error gets the message. */
enum err munge_create(const char *host, struct buf *credential, struct buf *error);

/* Is it a credential for host, created by root or our own user? DENIED: no, expired, a replay, or from another site.
 * ABSENT, IO as above. */
enum err munge_check(struct bytes credential, const char *host, struct buf *error);

/* The same for an HTTP request of any user. address: of the client's end of the connection (net/tcp_address.h), so that the
 * credential is worth nothing on another one. */
enum err munge_create_request(const char *address, struct buf *credential, struct buf *error);
enum err munge_check_request(struct bytes credential, const char *address, uint32_t *uid, struct buf *error);

#endif
