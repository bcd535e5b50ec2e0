/* Numeric, so that no name server is involved. */
#include "net/tcp_address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static enum err write_address(const struct sockaddr_storage *address, socklen_t size, char text[TCP_ADDRESS_MAX])
{
    static const char mapped[] = "::ffff:";
    char host[64], port[8];
    if ((address->ss_family != AF_INET && address->ss_family != AF_INET6)
        || getnameinfo((const struct sockaddr *)address, size, host, sizeof host, port, sizeof port,
                       NI_NUMERICHOST | NI_NUMERICSERV))
        return USAGE;
    host[strcspn(host, "%")] = '\0'; /* the interface of a link-local address is another at the other end */
    const char *plain = strncmp(host, mapped, strlen(mapped)) == 0 && strchr(host, '.') ? host + strlen(mapped) : host;
    snprintf(text, TCP_ADDRESS_MAX, "%s %s", plain, port);
    return OK;
}

enum err tcp_address_own(int fd, char text[TCP_ADDRESS_MAX])
{
    struct sockaddr_storage address = { 0 };
    socklen_t size = sizeof address;
    return getsockname(fd, (struct sockaddr *)&address, &size) ? err_from_errno(errno) : write_address(&address, size, text);
}

enum err tcp_address_peer(int fd, char text[TCP_ADDRESS_MAX])
{
    struct sockaddr_storage address = { 0 };
    socklen_t size = sizeof address;
    return getpeername(fd, (struct sockaddr *)&address, &size) ? err_from_errno(errno) : write_address(&address, size, text);
}
