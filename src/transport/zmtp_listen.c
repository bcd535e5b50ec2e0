/* Resolves host names and interfaces to addresses to listen on. */
#include "transport/zmtp_listen.h"

#include "base/parse.h"
#include "net/listen.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define BACKLOG 4096 /* after a network outage thousands of agents may reconnect at once */
#define HOST_MAX 256

static bool numeric_host(const struct sockaddr *address, char host[HOST_MAX])
{
    socklen_t size = address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    return getnameinfo(address, size, host, HOST_MAX, NULL, 0, NI_NUMERICHOST) == 0;
}

/* The first address of an interface, preferably IPv4. */
static bool find_interface(const char *name, char host[HOST_MAX])
{
    struct ifaddrs *all = NULL;
    bool is_found = false, is_v4 = false;
    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *at = all; at && !is_v4; at = at->ifa_next) {
        if (!at->ifa_addr || strcmp(at->ifa_name, name) != 0)
            continue;
        is_v4 = at->ifa_addr->sa_family == AF_INET;
        if (is_v4 || (at->ifa_addr->sa_family == AF_INET6 && !is_found))
            is_found = numeric_host(at->ifa_addr, host);
    }
    freeifaddrs(all);
    return is_found;
}

static bool find_name(const char *name, char host[HOST_MAX])
{
    struct addrinfo *found = NULL, hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    bool is_found = getaddrinfo(name, NULL, &hints, &found) == 0 && found && numeric_host(found->ai_addr, host);
    if (found)
        freeaddrinfo(found);
    return is_found;
}

static enum err fail(enum err err, const char *address, const char *reason, char *error, size_t error_size)
{
    snprintf(error, error_size, "%s: %s", reason, address);
    return err;
}

static enum err listen_at(const char *name, uint16_t port, int *fd)
{
    char host[HOST_MAX];
    enum err err = listen_tcp(name, port, fd);
    if (err != USAGE)
        return err;
    return find_interface(name, host) || find_name(name, host) ? listen_tcp(host, port, fd) : ABSENT;
}

/* HOST:PORT or [HOST]:PORT. Port * means any free port, as with libzmq: 0. */
static bool split(const char *text, char host[HOST_MAX], uint64_t *port)
{
    const char *colon = strrchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : 0;
    bool is_bracketed = size > 2 && text[0] == '[' && text[size - 1] == ']';
    if (is_bracketed) {
        text++;
        size -= 2;
    }
    bool is_any = size && !strcmp(colon + 1, "*");
    *port = 0;
    if (size == 0 || size >= HOST_MAX)
        return false;
    if (!is_any && (parse_u64(colon + 1, port) || *port == 0 || *port > UINT16_MAX))
        return false;
    memcpy(host, text, size);
    host[size] = '\0';
    return true;
}

enum err zmtp_listen(const char *address, int *fd, char *error, size_t error_size)
{
    char host[HOST_MAX];
    uint64_t port;
    enum err err;
    *fd = -1;
    if (!strncmp(address, "ipc://", 6) && address[6])
        err = listen_unix(address + 6, fd);
    else if (!strncmp(address, "tcp://", 6) && split(address + 6, host, &port))
        err = listen_at(host, (uint16_t)port, fd);
    else
        return fail(USAGE, address, "not an address to listen on", error, error_size);
    if (!err)
        listen(*fd, BACKLOG);
    const char *reason = err == AGAIN ? "address already in use" : err == ABSENT ? "not an address of this node"
        : err_text(err);
    return err ? fail(err, address, reason, error, error_size) : OK;
}
