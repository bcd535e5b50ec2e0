/* A fixed amount of work, to measure the overhead of monitoring: work cpu N (N million steps), work io DIR N (N MB written and read
 * back in blocks of 64 KB). */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int burn(long millions)
{
    volatile uint64_t x = 88172645463325252ull;
    for (long i = 0; i < millions * 1000000; i++) {
        uint64_t y = x;
        y ^= y << 13;
        y ^= y >> 7;
        x = y ^ y << 17;
    }
    return x == 0;
}

static int copy(const char *dir, long megabytes)
{
    static char block[65536];
    char path[4096];
    snprintf(path, sizeof path, "%s/work.%d", dir, (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return 1;
    unlink(path);
    for (long round = 0; round < megabytes / 64; round++) {
        for (int i = 0; i < 1024; i++)
            if (pwrite(fd, block, sizeof block, i * (off_t)sizeof block) != sizeof block)
                return 1;
        for (int i = 0; i < 1024; i++)
            if (pread(fd, block, sizeof block, i * (off_t)sizeof block) != sizeof block)
                return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "cpu") == 0)
        return burn(atol(argv[2]));
    if (argc == 4 && strcmp(argv[1], "io") == 0)
        return copy(argv[2], atol(argv[3]));
    fprintf(stderr, "usage: work cpu MILLIONS | work io DIR MEGABYTES\n");
    return 2;
}
