/* Runs a command and prints the peak resident memory of that process in KB, without its children, which getrusage would include.
 * Reads VmHWM every millisecond. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long peak_kb(pid_t pid)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    long kb = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    if (file)
        fclose(file);
    return kb;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    usleep(2000); /* until after its exec: before, the memory is ours */
    long most = 0;
    int status;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        long kb = peak_kb(pid);
        if (kb > most)
            most = kb;
        usleep(1000);
    }
    printf("%ld\n", most);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
