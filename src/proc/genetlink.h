/* Generic netlink by hand: the messages and attributes of a datagram, the number of a family, requests and their
 * acknowledgement. Used for taskstats. */
#ifndef SONDE_PROC_GENETLINK_H
#define SONDE_PROC_GENETLINK_H

#include "base/buf.h"
#include "base/err.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>

/* Takes the next message off a datagram; false when there is no whole one left. Takes any bytes. */
bool genetlink_next(struct bytes *datagram, struct nlmsghdr *head, struct bytes *body);

/* The bytes behind the generic header, or none. */
struct bytes genetlink_attributes(struct bytes body);

/* The value of the first attribute of that type in a list of them. Takes any bytes. */
bool genetlink_find(struct bytes list, uint16_t type, struct bytes *value);

/* A request with one attribute, a text; the kernel acknowledges it. */
enum err genetlink_send_string(int fd, uint16_t family, uint8_t command, uint16_t attribute, const char *text);

/* Waits for the acknowledgement; what else comes meanwhile is dropped. *family, where not NULL, is that of a description
 * that came with it, else 0. ABSENT when nothing comes. */
enum err genetlink_await(int fd, uint16_t *family);

/* The number of a family. ABSENT: this kernel has none of that name. */
enum err genetlink_find_family(int fd, const char *name, uint16_t *family);

#endif
