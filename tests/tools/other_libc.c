/* A program to be linked with another C library: starts a thread, and children in three ways, and prints how they
 * ended. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *run_thread(void *value)
{
    return value;
}

static int run_child(void)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        execlp("sh", "sh", "-c", "exit 3", (char *)NULL);
        _exit(9);
    }
    return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    pthread_t thread;
    char line[32] = "";
    void *result = NULL;
    if (pthread_create(&thread, NULL, run_thread, line) != 0 || pthread_join(thread, &result) != 0)
        return 1;
    printf("thread %d\n", result == line);
    printf("child %d\n", run_child());
    printf("system %d\n", WEXITSTATUS(system("exit 5")));
    FILE *pipe = popen("echo said; exit 6", "r");
    if (!pipe || !fgets(line, sizeof line, pipe))
        return 2;
    printf("popen %s", line);
    printf("pclose %d\n", WEXITSTATUS(pclose(pipe)));
    fprintf(stderr, "done\n");
    return 4;
}
