/* Feeds a fuzz target with each seed of a directory and with mutations of it. It fails by crashing, by the target's own asserts,
 * or when an input costs too much (cost.h). Usage: replay-<name> SEEDS [MUTATIONS]. After a crash the last input is in
 * $TMPDIR/replay-<name>.last. */
#include "fuzz/cost.h"
#include "fuzz/mutate.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAPACITY (1u << 20)
#define NAME_OF(target) NAME_OF_(target)
#define NAME_OF_(target) #target

fuzz_target FUZZ_TARGET;

static uint8_t seed[CAPACITY], input[CAPACITY];
static size_t input_size;
static char last_path[4096];

/* Only calls that are allowed in a signal handler. */
static void keep_input(int signal)
{
    int fd = open(last_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd >= 0) {
        ssize_t ignored = write(fd, input, input_size);
        (void)ignored;
    }
    raise(signal); /* the handler was set with SA_RESETHAND */
}

static void keep_input_when_it_crashes(void)
{
    const char *dir = getenv("TMPDIR");
    snprintf(last_path, sizeof last_path, "%s/replay-%s.last", dir ? dir : "/tmp", NAME_OF(FUZZ_TARGET));
    struct sigaction action = { .sa_handler = keep_input, .sa_flags = (int)SA_RESETHAND };
    sigaction(SIGABRT, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
}

/* A copy of the exact size, so that a sanitizer sees a read past its end. */
static void feed(void)
{
    uint8_t *copy = malloc(input_size ? input_size : 1);
    memcpy(copy, input, input_size);
    cost_run(FUZZ_TARGET, copy, input_size);
    free(copy);
}

static void feed_seed(size_t size, unsigned mutations)
{
    memcpy(input, seed, size);
    input_size = size;
    feed();
    uint64_t random = 0x9e3779b97f4a7c15ull + size;
    for (unsigned i = 0; i < mutations; i++) {
        memcpy(input, seed, size);
        input_size = mutate(&random, input, size, CAPACITY);
        feed();
    }
}

int main(int argc, char **argv)
{
    unsigned mutations = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5000, count = 0;
    DIR *dir = argc > 1 ? opendir(argv[1]) : NULL;
    keep_input_when_it_crashes();
    feed_seed(0, mutations);
    printf("ok %u - empty input and %u mutations of it\n", ++count, mutations);
    for (struct dirent *entry; dir && (entry = readdir(dir)); ) {
        if (entry->d_name[0] == '.')
            continue;
        int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        ssize_t size = fd < 0 ? -1 : read(fd, seed, CAPACITY);
        close(fd);
        if (size >= 0)
            feed_seed((size_t)size, mutations);
        printf("%sok %u - %s and %u mutations of it\n", size < 0 ? "not " : "", ++count, entry->d_name, mutations);
    }
    if (dir)
        closedir(dir);
    printf("%sok %u - there are seeds\n1..%u\n", count > 1 ? "" : "not ", count + 1, count + 1);
    return count > 1 ? 0 : 1;
}
