/* Generic netlink: messages and attributes of a datagram, family ids, requests and their acknowledgement. Used for
 * taskstats. */
#ifndef SONDE_PROC_GENETLINK_H
#define SONDE_PROC_GENETLINK_H

#include "base/buf.h"
#include "base/err.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>

/* Takes the next message off a datagram; false: no complete one is left. Accepts any bytes. */
bool genetlink_next(struct bytes *datagram, struct nlmsghdr *head, struct bytes *body);

/* The bytes after the generic header, or none. */
struct bytes genetlink_attributes(struct bytes body);

/* Finds the first attribute of a type in a list of attributes. Accepts any bytes. */
bool genetlink_find(struct bytes list, uint16_t type, struct bytes *value);

/* Sends a request with one string attribute; the kernel acknowledges it. */
enum err genetlink_send_string(int fd, uint16_t family, uint8_t command, uint16_t attribute, const char *text);

/* Waits for the acknowledgement and drops other messages. *family, unless NULL, is that of a family description that
 * came with it, else 0. ABSENT: no answer. */
enum err genetlink_await(int fd, uint16_t *family);

/* Looks up the id of a family. ABSENT: this kernel does not have it. */
enum err genetlink_find_family(int fd, const char *name, uint16_t *family);

#endif
