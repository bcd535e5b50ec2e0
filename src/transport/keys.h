/* CURVE key files: one key pair per host, and the list of keys that a collector authorizes. Text files, so that they can be
 * read and copied.
 *
 *   a key pair (mode 0600):  public-key = <Z85>   secret-key = <Z85>
 *   a list of authorized keys, one per line:  <public key in Z85> <its host name, or * for any> [# comment] */
#ifndef SONDE_TRANSPORT_KEYS_H
#define SONDE_TRANSPORT_KEYS_H

#include "base/buf.h"
#include "transport/zmq.h"

#define KEYS_PATH_MAX 4096

struct keys_pair {
    char public_key[ZMQ_KEY_MAX], secret_key[ZMQ_KEY_MAX]; /* secret_key "": the file has only the public key */
};

/* Is it 40 characters of Z85? */
bool keys_is_key(const char *text);

/* The default path of a file: /etc/sonde for root, otherwise $XDG_CONFIG_HOME/sonde or ~/.config/sonde. ABSENT: none of
 * them is known. */
enum err keys_path(const char *name, char path[KEYS_PATH_MAX]);

/* ABSENT; CORRUPT: not a key file; DENIED: readable by other users, or not by us. error gets the message. */
enum err keys_read(const char *path, struct keys_pair *pair, struct buf *error);

/* A public key: given literally, or a file that contains it. */
enum err keys_read_public(const char *key_or_path, char public_key[ZMQ_KEY_MAX], struct buf *error);

/* Writes the pair with mode 0600, and the public key alone to PATH.pub; creates directories. AGAIN: the file exists
 * already. */
enum err keys_write(const char *path, const struct keys_pair *pair, bool replace, struct buf *error);

struct keys_list; /* reloaded when its file changes; thread-safe */

enum err keys_list_open(struct keys_list **list, const char *path, struct buf *error);
void keys_list_close(struct keys_list **list);
void keys_list_refresh(struct keys_list *list); /* an invalid file is logged, and the old list stays in effect */

/* Reloads the file first if it has changed. name gets the host of the key; "": any host. */
bool keys_list_authorizes(struct keys_list *list, const char *public_key, char name[256]);
uint64_t keys_list_version(struct keys_list *list); /* changes with each reload: then peers must be checked again */
size_t keys_list_size(struct keys_list *list);

#endif
