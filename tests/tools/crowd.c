/* crowd processes|threads TOTAL AT_ONCE [MS [killed]]: batches of AT_ONCE processes or threads that are alive at the
 * same time, each using MS of CPU time, until TOTAL were created. killed: ends by SIGKILL. */
#include "tools/burn.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long ms;
static pthread_barrier_t barrier;

static void *be_thread(void *nothing)
{
    burn(CLOCK_THREAD_CPUTIME_ID, ms);
    pthread_barrier_wait(&barrier);
    return nothing;
}

static int make_threads(long at_once)
{
    pthread_t *threads = calloc((size_t)at_once, sizeof *threads);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 18);
    pthread_barrier_init(&barrier, NULL, (unsigned)at_once);
    int bad = 0;
    for (long i = 0; i < at_once && !bad; i++)
        bad = pthread_create(&threads[i], &small, be_thread, NULL) != 0;
    for (long i = 0; i < at_once && !bad; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return bad;
}

/* Children end when the other end of the pipe is closed: all are alive until then. */
static int make_processes(long at_once)
{
    int gate[2];
    char nothing;
    if (pipe(gate) != 0)
        return 1;
    for (long i = 0; i < at_once; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return 1;
        if (pid == 0) {
            close(gate[1]);
            burn(CLOCK_PROCESS_CPUTIME_ID, ms);
            _exit(read(gate[0], &nothing, 1) == 0 ? 0 : 1);
        }
    }
    close(gate[0]);
    close(gate[1]);
    int status, bad = 0;
    while (wait(&status) > 0)
        bad |= status != 0;
    return bad;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    long total = strtol(argv[2], NULL, 10), at_once = strtol(argv[3], NULL, 10);
    ms = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
    int (*make)(long) = strcmp(argv[1], "threads") == 0 ? make_threads : make_processes;
    for (; total > 0; total -= at_once)
        if (make(total < at_once ? total : at_once) != 0) {
            perror("crowd");
            return 1;
        }
    if (argc > 5 && strcmp(argv[5], "killed") == 0)
        kill(getpid(), SIGKILL);
    return 0;
}
