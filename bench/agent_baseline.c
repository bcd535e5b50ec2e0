/* bench-agent-baseline PERIOD_MS [OFFSET_MS [FILE]]: the minimum cost of reading the six sets of LDMS. Keeps the files open,
 * reads them with pread and parses every number into memory, without names, storage or network. Reads at multiples of the period plus the offset
 * until it is killed. With FILE it also appends a record to it and sends it over loopback. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define RECORD_BYTES 160
#define ACK_BYTES 46

static const char *const paths[] = {
    "/proc/meminfo", "/proc/vmstat", "/proc/stat", "/proc/loadavg", "/proc/net/dev", "/proc/diskstats",
};
#define FILES (sizeof paths / sizeof *paths)

static char text[1 << 20];
static uint64_t numbers[1 << 16];

static size_t parse(const char *at, const char *end, size_t count)
{
    while (at < end) {
        unsigned digit = (unsigned)(*at - '0');
        if (digit > 9) {
            at++;
            continue;
        }
        uint64_t value = 0;
        for (; at < end && (digit = (unsigned)(*at - '0')) <= 9; at++)
            value = value * 10 + digit;
        numbers[count++ & 0xffff] = value;
    }
    return count;
}

static size_t read_all(const int *fds)
{
    size_t count = 0;
    for (size_t i = 0; i < FILES; i++) {
        size_t used = 0;
        ssize_t part;
        while ((part = pread(fds[i], text + used, sizeof text - used, (off_t)used)) > 0)
            used += (size_t)part;
        count = parse(text, text + used, count);
    }
    return count;
}

/* A connection to a child that answers each message, as a collector acknowledges a record. */
static int connect_peer(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    char message[RECORD_BYTES];
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1)
        || getsockname(listener, (struct sockaddr *)&address, &size) || connect(fd, (struct sockaddr *)&address, size))
        return -1;
    if (fork() == 0) {
        int peer = accept(listener, NULL, NULL);
        close(fd);
        while (read(peer, message, sizeof message) > 0 && write(peer, message, ACK_BYTES) > 0)
            ;
        _exit(0);
    }
    close(listener);
    return fd;
}

/* The minimum of sending: the record is appended to a file and sent, the last acknowledgement is read. */
static void send_record(int file, int peer)
{
    static char record[RECORD_BYTES];
    if (write(file, record, sizeof record) < 0 || send(peer, record, sizeof record, 0) < 0)
        exit(1);
    (void)!recv(peer, record, ACK_BYTES, MSG_DONTWAIT);
}

int main(int argc, char **argv)
{
    int fds[FILES];
    int file = argc > 3 ? open(argv[3], O_WRONLY | O_CREAT | O_APPEND, 0600) : -1, peer = argc > 3 ? connect_peer() : -1;
    uint64_t period_ns = (uint64_t)strtoul(argc > 1 ? argv[1] : "1000", NULL, 10) * 1000000;
    uint64_t offset_ns = (uint64_t)strtoul(argc > 2 ? argv[2] : "0", NULL, 10) * 1000000;
    for (size_t i = 0; i < FILES; i++)
        if ((fds[i] = open(paths[i], O_RDONLY)) < 0) {
            perror(paths[i]);
            return 1;
        }
    for (;;) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - offset_ns;
        uint64_t next_ns = ns - ns % period_ns + period_ns + offset_ns;
        struct timespec next = { (time_t)(next_ns / 1000000000), (long)(next_ns % 1000000000) };
        clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &next, NULL);
        if (!read_all(fds))
            return 1;
        if (argc > 3)
            send_record(file, peer);
    }
}
