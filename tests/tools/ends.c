/* ends HOW [NUMBER [MS]]: uses MS of CPU time and ends: return N, exit N, _exit N, group_exit N (the raw system call),
 * thread (pthread_exit of the main thread, another one ends the process), signal N, abort. */
#include "tools/burn.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *end_from_here(void *status)
{
    burn(CLOCK_THREAD_CPUTIME_ID, 20);
    exit(*(int *)status);
}

static void end_from_thread(int status)
{
    static int kept;
    pthread_t thread;
    kept = status;
    pthread_create(&thread, NULL, end_from_here, &kept);
    pthread_exit(NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    int number = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    burn(CLOCK_PROCESS_CPUTIME_ID, argc > 3 ? strtol(argv[3], NULL, 10) : 0);
    if (strcmp(how, "exit") == 0)
        exit(number);
    if (strcmp(how, "_exit") == 0)
        _exit(number);
    if (strcmp(how, "group_exit") == 0)
        syscall(SYS_exit_group, number);
    if (strcmp(how, "thread") == 0)
        end_from_thread(number);
    if (strcmp(how, "signal") == 0) {
        signal(number, SIG_DFL); /* nohup ignores one, background jobs of a shell others */
        raise(number);
    }
    if (strcmp(how, "abort") == 0)
        abort();
    return number;
}
