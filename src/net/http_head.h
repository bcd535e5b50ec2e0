/* Writes the head of an HTTP answer. */
#ifndef SONDE_NET_HTTP_HEAD_H
#define SONDE_NET_HTTP_HEAD_H

#include "net/http_server.h"

#define HTTP_HEAD_BYTES_MAX 512

/* "Not Found"; never NULL. */
const char *http_head_reason(int status);

/* Returns the size. is_last: the connection will be closed after this answer. */
size_t http_head_write(char head[HTTP_HEAD_BYTES_MAX], const struct http_answer *answer, bool is_last);

#endif
