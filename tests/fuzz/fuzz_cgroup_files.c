/* Arbitrary content of every file of a cgroup. */
#include "samplers/jobs/cgroup_files.h"

#include <stdlib.h>
#include <string.h>

int fuzz_cgroup_files(const uint8_t *data, size_t size);

static void parse_all(const struct cgroup_files *files, const char *text)
{
    struct cgroup_devices devices = { .root = "/nonexistent" };
    struct cgroup_values values = { 0 };
    for (size_t i = 0; i < files->count; i++)
        cgroup_file_parse(cgroup_file_at(files, i), text, &devices, &values);
    for (size_t i = 0; i < CGROUP_METRICS_SIZE; i++)
        if (values.known[i] > 1)
            abort();
}

int fuzz_cgroup_files(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    parse_all(&cgroup_files_v1, text);
    parse_all(&cgroup_files_v2, text);
    free(text);
    return 0;
}
