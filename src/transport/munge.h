/* Credentials of munge, where the site has it: who said it (by uid, among machines that share a key), and that it was said
 * just now and once. libmunge is looked for when it is wanted; $SONDE_MUNGE_SOCKET
 * names another munged than the usual one. */
#ifndef SONDE_TRANSPORT_MUNGE_H
#define SONDE_TRANSPORT_MUNGE_H

#include "base/buf.h"

/* A credential that says that we speak for host. ABSENT: no libmunge; IO: no munged. why gets a sentence. */
enum err munge_say(const char *host, struct buf *credential, struct buf *why);

/* Does it say that somebody speaks for host, who is root or our own user? DENIED: no, it is too old, was shown before, or is
 * of another site. ABSENT, IO as above. */
enum err munge_check(struct bytes credential, const char *host, struct buf *why);

#endif
