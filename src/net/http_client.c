/* A client of HTTP/1.1 that is just large enough for an agent. Never blocks for longer than its time. */
#include "net/http_client.h"

#include "base/clock.h"
#include "net/fd_pass.h"
#include "base/scan.h"
#include "base/text.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAD_MAX 16384
#define HOST_MAX 256
#define SYSTEM_DIR "/run/sonde"

static enum err socket_in(const char *dir, const char *below, const char *name, char path[ASK_PATH_MAX])
{
    int size = snprintf(path, ASK_PATH_MAX, "%s%s/%s", dir, below, name);
    return size > 0 && size < ASK_PATH_MAX ? OK : ABSENT;
}

/* Not there yet, or a folder into which nobody else can put a socket. */
static bool is_safe(const char *folder)
{
    struct stat st;
    if (lstat(folder, &st) < 0)
        return errno == ENOENT;
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Of a user whom nobody told of XDG_RUNTIME_DIR (su, a batch job): systemd's folder of that user where there is one, else
 * the one in which sonde run keeps its spool. */
static enum err socket_of_user(const char *name, char path[ASK_PATH_MAX])
{
    char folder[64];
    snprintf(folder, sizeof folder, "/run/user/%u", (unsigned)geteuid());
    if (access(folder, W_OK) == 0 && is_safe(folder))
        return socket_in(folder, "/sonde", name, path);
    snprintf(folder, sizeof folder, "/tmp/sonde-%u", (unsigned)geteuid());
    return is_safe(folder) ? socket_in(folder, "", name, path) : ABSENT;
}

enum err ask_socket_named(const char *name, char path[ASK_PATH_MAX])
{
    const char *dir = getenv("SONDE_SOCKET_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");
    if (dir && *dir)
        return socket_in(dir, "", name, path);
    if (geteuid() == 0)
        return socket_in(SYSTEM_DIR, "", name, path);
    return runtime && *runtime == '/' ? socket_in(runtime, "/sonde", name, path) : socket_of_user(name, path);
}

enum err ask_socket_path(char path[ASK_PATH_MAX])
{
    return ask_socket_named(ASK_SOCKET, path);
}

/* False: the time is over. */
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

/* Nobody listening is an answer of its own. */
static enum err connect_err(int number)
{
    return number == ECONNREFUSED || number == EHOSTUNREACH || number == ENETUNREACH ? ABSENT
           : number == ETIMEDOUT                                                     ? AGAIN
                                                                                     : err_from_errno(number);
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
    enum err err = errno == EINPROGRESS ? OK : connect_err(errno);
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

static enum err connect_socket(const char *path, uint64_t until_ns, int *fd)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    *fd = -1;
    if (strlen(path) >= sizeof address.sun_path)
        return USAGE;
    memcpy(address.sun_path, path, strlen(path) + 1);
    return connect_to((const struct sockaddr *)&address, sizeof address, until_ns, fd);
}

/* The agent of the machine comes first for a user too; then one that the user has started. */
static enum err connect_here(uint64_t until_ns, int *fd, char path[ASK_PATH_MAX])
{
    const char *dir = getenv("SONDE_SOCKET_DIR");
    enum err err = ABSENT;
    snprintf(path, ASK_PATH_MAX, "%s", SYSTEM_DIR "/" ASK_SOCKET);
    if ((!dir || !*dir) && geteuid() != 0)
        err = connect_socket(path, until_ns, fd);
    if (err && !ask_socket_path(path))
        err = connect_socket(path, until_ns, fd);
    return err;
}

enum err ask_find(char path[ASK_PATH_MAX])
{
    int fd;
    enum err err = connect_here(clock_monotonic_ns() + ASK_TIMEOUT_NS, &fd, path);
    if (!err)
        close(fd);
    return err;
}

bool ask_is_there(void)
{
    char path[ASK_PATH_MAX];
    const char *dir = getenv("SONDE_SOCKET_DIR");
    if ((!dir || !*dir) && access(SYSTEM_DIR "/" ASK_SOCKET, F_OK) == 0)
        return true;
    return !ask_socket_path(path) && strcmp(path, SYSTEM_DIR "/" ASK_SOCKET) != 0 && access(path, F_OK) == 0;
}

/* "HOST", "HOST:PORT", "[::1]:PORT", "::1". */
static enum err split(const char *where, char host[HOST_MAX], char port[8])
{
    const char *end = *where == '[' ? strchr(where, ']') : strrchr(where, ':');
    const char *begin = *where == '[' ? where + 1 : where;
    const char *colon = *where == '[' && end ? end + 1 : end;
    uint64_t number = ASK_PORT;
    if (*where == '[' && (!end || (*colon && *colon != ':')))
        return USAGE;
    if (*where != '[' && end && strchr(where, ':') != end) /* an IPv6 address without brackets has no port */
        colon = end = NULL;
    if (colon && *colon && (text_parse_u64(colon + 1, &number) || !number || number > UINT16_MAX))
        return USAGE;
    size_t size = end ? (size_t)(end - begin) : strlen(begin);
    if (!size || size >= HOST_MAX)
        return USAGE;
    memcpy(host, begin, size);
    host[size] = '\0';
    snprintf(port, 8, "%u", (unsigned)number);
    return OK;
}

static enum err connect_host(const char *where, uint64_t until_ns, int *fd)
{
    char host[HOST_MAX], port[8];
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    enum err err = split(where, host, port);
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

static void add_request(struct buf *request, const char *method, const char *path, struct bytes body)
{
    buf_printf(request, "%s %s HTTP/1.1\r\nHost: sonde\r\nConnection: close\r\n", method, path);
    if (body.size || !strcmp(method, "POST"))
        buf_printf(request, "Content-Type: application/json\r\nContent-Length: %zu\r\n", body.size);
    buf_add_text(request, "\r\n");
    if (body.size)
        buf_add(request, body.data, body.size);
}

/* file_fd goes with the first bytes; -1: none. */
static enum err send_all(int fd, const struct buf *request, int file_fd, uint64_t until_ns)
{
    for (size_t sent = 0; sent < request->size;) {
        ssize_t part = file_fd >= 0 && !sent ? hand_send(fd, request->data, request->size, file_fd)
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

/* Until the other side closes: we asked it to. */
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

/* What a header says, NULL when there is none of that name. The head ends with an empty line. */
static const char *header(const char *head, const char *name)
{
    size_t size = strlen(name);
    for (const char *line = scan_next_line(head); line && *line != '\r'; line = scan_next_line(line))
        if (!strncasecmp(line, name, size) && line[size] == ':')
            return line + size + 1;
    return NULL;
}

static enum err take_answer(const struct buf *text, struct buf *answer, int *status)
{
    const char *all = buf_text(text), *end = strstr(all, "\r\n\r\n"), *at = all + 9;
    uint64_t number;
    if (strncmp(all, "HTTP/1.", 7) != 0 || !end || end - all > HEAD_MAX || !scan_u64(&at, &number) || number < 100
        || number > 999)
        return CORRUPT;
    size_t head_size = (size_t)(end + 4 - all), size = text->size - head_size;
    const char *length = header(all, "Content-Length");
    if (length && (!scan_u64(&length, &number) || number > size))
        return CORRUPT; /* cut short */
    at = all + 9;
    size = length ? (size_t)number : size;
    scan_u64(&at, &number);
    *status = (int)number;
    buf_add(answer, end + 4, size);
    return buf_err(answer);
}

struct question {
    const char *method, *path;
    struct bytes body;
    int file_fd; /* -1: none */
};

static enum err ask_until(uint64_t until_ns, const char *where, const struct question *question, struct buf *answer, int *status)
{
    struct buf request, text;
    char found[ASK_PATH_MAX];
    int fd = -1;
    *status = 0;
    enum err err = !*where         ? connect_here(until_ns, &fd, found)
                   : *where == '/' ? connect_socket(where, until_ns, &fd)
                                   : connect_host(where, until_ns, &fd);
    if (err)
        return err;
    buf_init(&request, question->body.size + 4096);
    buf_init(&text, answer->max + HEAD_MAX);
    add_request(&request, question->method, question->path, question->body);
    err = buf_err(&request);
    if (!err)
        err = send_all(fd, &request, question->file_fd, until_ns);
    if (!err || err == ABSENT) /* who refuses early may answer before it has read all */
        err = receive_all(fd, &text, until_ns);
    if (!err)
        err = take_answer(&text, answer, status);
    close(fd);
    buf_clear(&request);
    buf_clear(&text);
    return err;
}

enum err ask(const char *where, const char *method, const char *path, struct bytes body, struct buf *answer, int *status)
{
    struct question question = { method, path, body, -1 };
    return ask_until(clock_monotonic_ns() + ASK_TIMEOUT_NS, where, &question, answer, status);
}

enum err ask_handing(int file_fd, const char *path, struct bytes body, struct buf *answer, int *status)
{
    struct question question = { "POST", path, body, file_fd };
    return ask_until(clock_monotonic_ns() + ASK_TIMEOUT_NS, "", &question, answer, status);
}

enum err ask_here(const char *method, const char *path, struct bytes body, uint64_t timeout_ns, struct buf *answer, int *status)
{
    struct question question = { method, path, body, -1 };
    return ask_until(clock_monotonic_ns() + timeout_ns, "", &question, answer, status);
}

void ask_tell(const char *path, struct bytes body)
{
    struct buf request;
    char found[ASK_PATH_MAX];
    int fd;
    if (connect_here(0, &fd, found))
        return;
    buf_init(&request, body.size + 4096);
    add_request(&request, "POST", path, body);
    if (!buf_err(&request))
        (void)!send(fd, request.data, request.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    buf_clear(&request);
    close(fd);
}
