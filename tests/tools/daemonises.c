/* daemonises COMMAND…: forks twice, with setsid in between, as daemons do; the first process exits at once. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (fork() != 0)
        _exit(0);
    setsid();
    if (fork() != 0)
        _exit(0);
    umask(0);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    close(null);
    if (argc > 1)
        execvp(argv[1], argv + 1);
    return 127;
}
