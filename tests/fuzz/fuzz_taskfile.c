/* Arbitrary content of files in /proc/PID. */
#include "proc/taskfile.h"

#include <stdlib.h>
#include <string.h>

int fuzz_taskfile(const uint8_t *data, size_t size);

int fuzz_taskfile(const uint8_t *data, size_t size)
{
    struct taskfile_stat stat;
    struct taskfile_io io;
    struct taskfile_switches switches;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (taskfile_parse_stat(text, &stat) == OK && !stat.state)
        abort();
    taskfile_parse_io(text, &io);
    taskfile_parse_switches(text, &switches);
    free(text);
    return 0;
}
