/* Arbitrary formats of sysfs and event names. */
#include "proc/perf_names.h"
#include "proc/perf_sysfs.h"

#include <stdlib.h>
#include <string.h>

int fuzz_perf_sysfs(const uint8_t *data, size_t size);

int fuzz_perf_sysfs(const uint8_t *data, size_t size)
{
    struct perf_event_spec spec = { 0 };
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    perf_sysfs_apply(text, 0x5555555555555555ull, &spec);
    perf_names_encode(text, &spec);
    perf_sysfs_encode("/nonexistent", text, &spec);
    free(text);
    return 0;
}
