/* Another preloaded library: appends a line to the file $OTHER_PRELOAD when it is loaded. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void say_so(void)
{
    const char *path = getenv("OTHER_PRELOAD");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (fd >= 0)
        dprintf(fd, "%d\n", (int)getpid());
    close(fd);
}
