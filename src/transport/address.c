/* Parses and resolves addresses, and probes whether one accepts connections. */
#include "transport/address.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TCP "tcp://"

/* The end of the host, where ":PORT" may follow. IPv6 addresses have brackets, or several colons and no port. */
static const char *end_of_host(const char *host)
{
    const char *bracket = *host == '[' ? strchr(host, ']') : NULL, *colon = strchr(host, ':');
    if (*host == '[')
        return bracket ? bracket + 1 : NULL;
    if (colon && strchr(colon + 1, ':'))
        return host + strlen(host);
    return colon ? colon : host + strlen(host);
}

static bool is_port(const char *text)
{
    char *end;
    if (!strcmp(text, "*"))
        return true;
    unsigned long port = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && port >= 1 && port <= 65535;
}

enum err address_normalize(const char *text, unsigned port, char address[ADDRESS_MAX])
{
    static const char odd[] = " \t\r\n,\"'\\@#?";
    const char *scheme = strstr(text, "://"), *host = text;
    if (scheme && strncmp(text, TCP, strlen(TCP)) != 0)
        return snprintf(address, ADDRESS_MAX, "%s", text) < ADDRESS_MAX ? OK : USAGE;
    if (scheme)
        host += strlen(TCP);
    const char *end = end_of_host(host);
    if (!end || end == host || strcspn(host, odd) != strlen(host) || strchr(host, '/'))
        return USAGE;
    if (*end && (*end != ':' || !is_port(end + 1)))
        return USAGE;
    bool is_bare_v6 = *host != '[' && memchr(host, ':', (size_t)(end - host));
    int size = snprintf(address, ADDRESS_MAX, is_bare_v6 ? TCP "[%.*s]" : TCP "%.*s", (int)(end - host), host);
    if (size < ADDRESS_MAX && *end)
        size += snprintf(address + size, ADDRESS_MAX - (size_t)size, "%s", end);
    else if (size < ADDRESS_MAX)
        size += snprintf(address + size, ADDRESS_MAX - (size_t)size, ":%u", port);
    return size < ADDRESS_MAX ? OK : USAGE;
}

/* 127.x.y.z, but not 127.example.org. */
static bool is_loopback_v4(const char *host, size_t size)
{
    return size > 4 && !strncmp(host, "127.", 4) && strspn(host, "0123456789.") >= size;
}

bool address_is_local(const char *address)
{
    if (!strncmp(address, "ipc://", 6) || !strncmp(address, "inproc://", 9))
        return true;
    if (strncmp(address, TCP, strlen(TCP)) != 0)
        return false;
    const char *host = address + strlen(TCP), *end = end_of_host(host);
    size_t size = end ? (size_t)(end - host) : 0;
    return is_loopback_v4(host, size) || (size == 9 && !strncmp(host, "localhost", 9))
           || (size == 5 && !strncmp(host, "[::1]", 5)) || (size == 2 && !strncmp(host, "lo", 2));
}

static bool takes_connections(const struct addrinfo *at, int timeout_ms)
{
    int error = 0, fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof error;
    if (fd < 0)
        return false;
    bool is_up = connect(fd, at->ai_addr, at->ai_addrlen) == 0;
    struct pollfd event = { .fd = fd, .events = POLLOUT };
    if (!is_up && errno == EINPROGRESS && poll(&event, 1, timeout_ms) > 0)
        is_up = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
    close(fd);
    return is_up;
}

enum err address_resolve(const char *address, struct addrinfo **found, char *error, size_t error_size)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV };
    char host[ADDRESS_MAX];
    const char *begin = address + strlen(TCP), *end = strncmp(address, TCP, strlen(TCP)) == 0 ? end_of_host(begin) : NULL;
    *found = NULL;
    if (!end || *end != ':') {
        snprintf(error, error_size, "not a tcp:// address with a port: %s", address);
        return USAGE;
    }
    bool is_bracketed = *begin == '[';
    snprintf(host, sizeof host, "%.*s", (int)(end - begin) - 2 * is_bracketed, begin + is_bracketed);
    int result = getaddrinfo(host, end + 1, &hints, found);
    if (!result)
        return OK;
    snprintf(error, error_size, "cannot resolve host name %s: %s", host, gai_strerror(result));
    return ABSENT;
}

bool address_is_reachable(const char *address, int timeout_ms)
{
    struct addrinfo *found;
    char error[ADDRESS_MAX];
    enum err err = address_resolve(address, &found, error, sizeof error);
    if (err)
        return err == USAGE;
    bool is_up = false;
    for (const struct addrinfo *at = found; at && !is_up; at = at->ai_next)
        is_up = takes_connections(at, timeout_ms);
    freeaddrinfo(found);
    return is_up;
}
