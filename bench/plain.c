/* A simple probe for comparison: at exit it reads four files below /proc and sends their contents as one datagram to
 * $BENCH_PLAIN_SOCKET. It does not record execs, threads, or programs that are killed or skip their destructors. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char text[8192];

static size_t add_file(size_t at, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text + at, sizeof text - at);
    if (fd >= 0)
        close(fd);
    return got > 0 ? at + (size_t)got : at;
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("BENCH_PLAIN_SOCKET");
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    if (!path || strlen(path) >= sizeof to.sun_path)
        return;
    memcpy(to.sun_path, path, strlen(path) + 1);
    size_t size = add_file(0, "/proc/self/stat");
    size = add_file(size, "/proc/self/io");
    size = add_file(size, "/proc/self/schedstat");
    size = add_file(size, "/proc/self/status");
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (sendto(fd, text, size, MSG_DONTWAIT, (const struct sockaddr *)&to, sizeof to) < 0)
        abort(); /* otherwise its cost would be too low */
    close(fd);
}
