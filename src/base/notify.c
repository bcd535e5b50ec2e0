/* The protocol of sd_notify(3): datagrams to a UNIX socket. */
#include "base/notify.h"

#include "base/clock.h"
#include "base/parse.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t size = path ? strlen(path) : 0;
    if (!size || size >= sizeof address.sun_path || (*path != '/' && *path != '@'))
        return -1;
    memcpy(address.sun_path, path, size);
    if (*path == '@') /* an abstract name */
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Only if $WATCHDOG_PID is this process. */
static uint64_t watchdog_of_environment(void)
{
    const char *text = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t us, wanted_pid;
    if (!text || parse_u64(text, &us))
        return 0;
    if (pid && (parse_u64(pid, &wanted_pid) || wanted_pid != (uint64_t)getpid()))
        return 0;
    return us * NS_PER_US;
}

void notify_open(struct notify *notify)
{
    *notify = (struct notify){ .fd = connect_to(getenv("NOTIFY_SOCKET")), .watchdog_ns = watchdog_of_environment() };
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify_close(struct notify *notify)
{
    if (notify->fd >= 0)
        close(notify->fd);
    notify->fd = -1;
}

void notify_send(const struct notify *notify, const char *text)
{
    if (notify->fd >= 0)
        (void)!send(notify->fd, text, strlen(text), MSG_NOSIGNAL);
}

void notify_reloading(const struct notify *notify)
{
    char text[80];
    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)(clock_monotonic_ns() / NS_PER_US));
    notify_send(notify, text);
}

void notify_alive(struct notify *notify, uint64_t monotonic_ns)
{
    if (!notify->watchdog_ns || monotonic_ns - notify->sent_ns < notify->watchdog_ns / 4)
        return;
    notify->sent_ns = monotonic_ns;
    notify_send(notify, "WATCHDOG=1");
}
