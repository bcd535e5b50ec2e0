/* Never blocks beyond the deadline. The answer ends when the server closes the connection. */
#include "net/http_client.h"

#include "base/clock.h"
#include "base/parse.h"
#include "base/scan.h"
#include "net/fd_pass.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAD_MAX 16384
#define HOST_MAX 256

/* False: the time is up. */
static bool wait_for(int fd, short events, uint64_t until_ns)
{
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= until_ns)
            return false;
        struct pollfd poll_fd = { .fd = fd, .events = events };
        int ready = poll(&poll_fd, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

static enum err connect_err(int number)
{
    return number == ECONNREFUSED || number == EHOSTUNREACH || number == ENETUNREACH ? ABSENT
           : number == ETIMEDOUT                                                     ? AGAIN
                                                                                     : err_from_errno(number);
}

/* If the queue of a UNIX socket is full, because others connect without end, only a blocking socket waits for its turn. */
static enum err connect_waiting(int fd, const struct sockaddr *address, socklen_t size, uint64_t until_ns)
{
    uint64_t now_ns = clock_monotonic_ns(), left_us = until_ns > now_ns ? (until_ns - now_ns) / NS_PER_US : 1;
    struct timeval timeout = { .tv_sec = (time_t)(left_us / 1000000), .tv_usec = (suseconds_t)(left_us % 1000000) };
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout))
        return err_from_errno(errno);
    if (connect(fd, address, size))
        return connect_err(errno);
    return fcntl(fd, F_SETFL, flags) ? err_from_errno(errno) : OK;
}

static enum err connect_to(const struct sockaddr *address, socklen_t size, uint64_t until_ns, int *fd)
{
    int number = 0;
    socklen_t number_size = sizeof number;
    *fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return err_from_errno(errno);
    if (connect(*fd, address, size) == 0)
        return OK;
    enum err err = errno == EINPROGRESS ? OK
                   : errno == EAGAIN    ? connect_waiting(*fd, address, size, until_ns)
                                        : connect_err(errno);
    if (!err && !wait_for(*fd, POLLOUT, until_ns))
        err = AGAIN;
    if (!err && getsockopt(*fd, SOL_SOCKET, SO_ERROR, &number, &number_size) == 0 && number)
        err = connect_err(number);
    if (err) {
        close(*fd);
        *fd = -1;
    }
    return err;
}

enum err http_client_connect_unix(const char *path, uint64_t until_ns, int *fd)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    *fd = -1;
    if (strlen(path) >= sizeof address.sun_path)
        return USAGE;
    memcpy(address.sun_path, path, strlen(path) + 1);
    return connect_to((const struct sockaddr *)&address, sizeof address, until_ns, fd);
}

/* "HOST", "HOST:PORT", "[::1]:PORT", "::1". */
static enum err split(const char *where, uint16_t default_port, char host[HOST_MAX], char port[8])
{
    const char *end = *where == '[' ? strchr(where, ']') : strrchr(where, ':');
    const char *begin = *where == '[' ? where + 1 : where;
    const char *colon = *where == '[' && end ? end + 1 : end;
    uint64_t number = default_port;
    if (*where == '[' && (!end || (*colon && *colon != ':')))
        return USAGE;
    if (*where != '[' && end && strchr(where, ':') != end) /* an IPv6 address without brackets has no port */
        colon = end = NULL;
    if (colon && *colon && (parse_u64(colon + 1, &number) || !number || number > UINT16_MAX))
        return USAGE;
    size_t size = end ? (size_t)(end - begin) : strlen(begin);
    if (!size || size >= HOST_MAX)
        return USAGE;
    memcpy(host, begin, size);
    host[size] = '\0';
    snprintf(port, 8, "%u", (unsigned)number);
    return OK;
}

enum err http_client_connect_tcp(const char *address, uint16_t default_port, uint64_t until_ns, int *fd)
{
    char host[HOST_MAX], port[8];
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    enum err err = split(address, default_port, host, port);
    *fd = -1;
    if (err)
        return err;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return ABSENT;
    err = ABSENT;
    for (const struct addrinfo *at = found; at && err; at = at->ai_next)
        err = connect_to(at->ai_addr, at->ai_addrlen, until_ns, fd);
    freeaddrinfo(found);
    return err;
}

static void add_request(struct buf *out, const struct http_client_request *request)
{
    buf_printf(out, "%s %s HTTP/1.1\r\nHost: sonde\r\nConnection: close\r\n", request->method, request->path);
    if (request->authorization)
        buf_printf(out, "Authorization: %s\r\n", request->authorization);
    if (request->body.size || strcmp(request->method, "POST") == 0)
        buf_printf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", request->body.size);
    buf_add_text(out, "\r\n");
    if (request->body.size)
        buf_add(out, request->body.data, request->body.size);
}

/* file_fd is sent with the first bytes; -1: none. */
static enum err send_all(int fd, const struct buf *request, int file_fd, uint64_t until_ns)
{
    for (size_t sent = 0; sent < request->size;) {
        ssize_t part = file_fd >= 0 && !sent ? fd_pass_send(fd, request->data, request->size, file_fd)
                                             : send(fd, request->data + sent, request->size - sent, MSG_NOSIGNAL);
        if (part > 0)
            sent += (size_t)part;
        else if (part < 0 && errno != EAGAIN && errno != EINTR)
            return errno == EPIPE || errno == ECONNRESET ? ABSENT : err_from_errno(errno);
        else if (!wait_for(fd, POLLOUT, until_ns))
            return AGAIN;
    }
    return OK;
}

/* Until the server closes the connection, as requested. */
static enum err receive_all(int fd, struct buf *text, uint64_t until_ns)
{
    for (;;) {
        char part[16384];
        ssize_t size = recv(fd, part, sizeof part, 0);
        if (size > 0)
            buf_add(text, part, (size_t)size);
        else if (size == 0 || errno == ECONNRESET)
            return OK;
        else if (errno != EAGAIN && errno != EINTR)
            return err_from_errno(errno);
        else if (!wait_for(fd, POLLIN, until_ns))
            return AGAIN;
        if (text->failed)
            return buf_err(text);
    }
}

/* The value of a header; NULL: none. The head ends with an empty line. */
static const char *header(const char *head, const char *name)
{
    size_t size = strlen(name);
    for (const char *line = scan_next_line(head); line && *line != '\r'; line = scan_next_line(line))
        if (!strncasecmp(line, name, size) && line[size] == ':')
            return line + size + 1;
    return NULL;
}

static enum err parse_answer(const struct buf *text, struct buf *answer, int *status)
{
    const char *all = buf_text(text), *end = strstr(all, "\r\n\r\n"), *at = all + 9;
    uint64_t number;
    if (strncmp(all, "HTTP/1.", 7) != 0 || !end || end - all > HEAD_MAX || !scan_u64(&at, &number) || number < 100
        || number > 999)
        return CORRUPT;
    size_t head_size = (size_t)(end + 4 - all), size = text->size - head_size;
    const char *length = header(all, "Content-Length");
    if (length && (!scan_u64(&length, &number) || number > size))
        return CORRUPT; /* truncated */
    at = all + 9;
    size = length ? (size_t)number : size;
    scan_u64(&at, &number);
    *status = (int)number;
    buf_add(answer, end + 4, size);
    return buf_err(answer);
}

enum err http_client_request(int fd, const struct http_client_request *request, uint64_t until_ns, struct buf *answer,
                             int *status)
{
    struct buf out, in;
    *status = 0;
    buf_init(&out, request->body.size + 4096);
    buf_init(&in, answer->max + HEAD_MAX);
    add_request(&out, request);
    enum err err = buf_err(&out);
    if (!err)
        err = send_all(fd, &out, request->file_fd, until_ns);
    if (!err || err == ABSENT) /* a server that refuses early may answer before it has read everything */
        err = receive_all(fd, &in, until_ns);
    if (!err)
        err = parse_answer(&in, answer, status);
    close(fd);
    buf_clear(&out);
    buf_clear(&in);
    return err;
}

void http_client_send(int fd, const struct http_client_request *request)
{
    struct buf out;
    buf_init(&out, request->body.size + 4096);
    add_request(&out, request);
    if (!buf_err(&out))
        (void)!send(fd, out.data, out.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    buf_clear(&out);
    close(fd);
}
