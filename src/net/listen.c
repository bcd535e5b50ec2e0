/* socket, bind, listen; IPv6 with a fallback to IPv4; stale UNIX sockets. */
#include "net/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define QUEUE 128

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

static enum err failed(int *fd)
{
    enum err err = errno == EADDRINUSE ? AGAIN : errno == EADDRNOTAVAIL ? ABSENT : err_from_errno(errno);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return err;
}

static enum err open_at(const union address *address, socklen_t size, int *fd)
{
    int on = 1;
    *fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return failed(fd);
    if (address->any.sa_family != AF_UNIX)
        setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(*fd, &address->any, size) < 0 || listen(*fd, QUEUE) < 0)
        return failed(fd);
    return OK;
}

enum err listen_tcp(const char *address, uint16_t port, int *fd)
{
    union address at = { 0 };
    *fd = -1;
    if (strcmp(address, "localhost") == 0)
        address = "127.0.0.1";
    if (strcmp(address, "*") == 0)
        address = "::";
    if (inet_pton(AF_INET, address, &at.v4.sin_addr) == 1) {
        at.v4.sin_family = AF_INET;
        at.v4.sin_port = htons(port);
        return open_at(&at, sizeof at.v4, fd);
    }
    if (inet_pton(AF_INET6, address, &at.v6.sin6_addr) != 1)
        return USAGE;
    at.v6.sin6_family = AF_INET6;
    at.v6.sin6_port = htons(port);
    enum err err = open_at(&at, sizeof at.v6, fd);
    if (!err || strcmp(address, "::") != 0 || err == AGAIN)
        return err;
    return listen_tcp("0.0.0.0", port, fd); /* a node without IPv6 */
}

uint16_t listen_port(int fd)
{
    union address at = { 0 };
    socklen_t size = sizeof at;
    if (getsockname(fd, &at.any, &size) < 0)
        return 0;
    return at.any.sa_family == AF_INET ? ntohs(at.v4.sin_port) : at.any.sa_family == AF_INET6 ? ntohs(at.v6.sin6_port) : 0;
}

static bool is_in_use(const union address *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is = fd >= 0 && (connect(fd, &at->any, sizeof at->local) == 0 || errno == EAGAIN);
    if (fd >= 0)
        close(fd);
    return is;
}

static void create_directory(const char *path)
{
    char directory[sizeof((struct sockaddr_un *)0)->sun_path];
    const char *slash = strrchr(path, '/');
    if (slash && slash != path) {
        snprintf(directory, sizeof directory, "%.*s", (int)(slash - path), path);
        mkdir(directory, 0755);
    }
}

enum err listen_unix(const char *path, int *fd)
{
    union address at = { .local = { .sun_family = AF_UNIX } };
    struct stat there;
    *fd = -1;
    if (strlen(path) >= sizeof at.local.sun_path)
        return USAGE;
    memcpy(at.local.sun_path, path, strlen(path));
    create_directory(path);
    if (lstat(path, &there) == 0 && S_ISSOCK(there.st_mode)) {
        if (is_in_use(&at))
            return AGAIN;
        unlink(path);
    }
    enum err err = open_at(&at, sizeof at.local, fd);
    if (!err && chmod(path, 0666) < 0)
        return failed(fd);
    return err;
}
