/* Key files of CURVE: one key pair per host, and the list of those whom a collector lets in. Text, so that people can read
 * and copy them.
 *
 *   a key pair (mode 0600):  public-key = <Z85>   secret-key = <Z85>
 *   a list of allowed keys:  one line each: <public key in Z85> <name of its host, or * for any> [# comment] */
#ifndef SONDE_TRANSPORT_KEYS_H
#define SONDE_TRANSPORT_KEYS_H

#include "base/buf.h"
#include "transport/zmq.h"

#define KEYS_PATH_MAX 4096

struct keys_pair {
    char public_key[ZMQ_KEY_MAX], secret_key[ZMQ_KEY_MAX]; /* secret "": the file has only the public one */
};

/* Is it 40 characters of Z85? */
bool keys_is_key(const char *text);

/* Where a file of this name is by default: /etc/sonde for root, $XDG_CONFIG_HOME/sonde, else ~/.config/sonde. ABSENT: there is
 * no such place. */
enum err keys_path(const char *name, char path[KEYS_PATH_MAX]);

/* ABSENT; CORRUPT: not a key file; DENIED: it may be read by others too, or not by us. why gets a sentence. */
enum err keys_read(const char *path, struct keys_pair *pair, struct buf *why);

/* A public key: itself, or a file that has it. */
enum err keys_read_public(const char *key_or_path, char public_key[ZMQ_KEY_MAX], struct buf *why);

/* Makes a file of mode 0600 for the pair, and PATH.pub for the public key alone; its folder too, if need be. AGAIN: it is
 * there already. */
enum err keys_write(const char *path, const struct keys_pair *pair, bool replace, struct buf *why);

struct keys_list; /* read again when the file has changed; asked from any thread */

enum err keys_list_open(struct keys_list **list, const char *path, struct buf *why);
void keys_list_close(struct keys_list **list);
void keys_list_refresh(struct keys_list *list); /* a file with a mistake is complained of, and the old list stays */

/* Looks at the file first. name gets "" when the key may speak for any host. */
bool keys_list_allows(struct keys_list *list, const char *public_key, char name[256]);
uint64_t keys_list_version(struct keys_list *list); /* another one: it was read again, and who is in may be out by now */
size_t keys_list_size(struct keys_list *list);

#endif
