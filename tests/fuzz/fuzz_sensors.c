/* Arbitrary content of files in /proc and /sys: the first byte selects the sampler, the rest is the content of all its
 * files. The sampler is opened, read, and read again with the first half, like a changing file. */
#include "samplers/all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int fuzz_sensors(const uint8_t *data, size_t size);

static const struct sampler *const samplers[] = {
    &sampler_meminfo, &sampler_vmstat, &sampler_stat, &sampler_loadavg, &sampler_interrupts, &sampler_diskstats,
    &sampler_netdev, &sampler_pressure, &sampler_schedstat, &sampler_numa, &sampler_edac, &sampler_nfs, &sampler_self,
};

static const char *const files[] = {
    "proc/meminfo", "proc/vmstat", "proc/stat", "proc/loadavg", "proc/interrupts", "proc/diskstats", "proc/net/dev",
    "proc/pressure/cpu", "proc/pressure/irq", "proc/schedstat", "sys/devices/system/node/node0/numastat",
    "sys/devices/system/node/node0/meminfo", "sys/devices/system/edac/mc/mc0/ce_count",
    "sys/devices/system/edac/mc/mc0/dimm0/dimm_ce_count", "proc/net/rpc/nfs", "proc/self/statm", "proc/self/io",
};

static char root[4096];
static int content = -1;

static void make_directories(char *path)
{
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

/* All paths are links to one anonymous file. */
static void make_root(void)
{
    const char *dir = getenv("TMPDIR");
    snprintf(root, sizeof root - 256, "%s/fuzz-sensors-XXXXXX", dir ? dir : "/tmp");
    content = mkdtemp(root) ? memfd_create("content", 0) : -1;
    for (size_t i = 0; content >= 0 && i < sizeof files / sizeof *files; i++) {
        char path[sizeof root + 256], target[64];
        snprintf(path, sizeof path, "%s/%s", root, files[i]);
        snprintf(target, sizeof target, "/proc/self/fd/%d", content);
        make_directories(path);
        if (symlink(target, path))
            abort();
    }
}

static void remove_root(void)
{
    char command[sizeof root + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    if (*root && system(command))
        perror(root);
}

static void put(const uint8_t *data, size_t size)
{
    if (ftruncate(content, 0) || pwrite(content, data, size, 0) != (ssize_t)size)
        abort();
}

/* Every sample has a name and can be read. */
static void look(const struct batch *batch)
{
    for (size_t n = 0; n < batch->count; n++) {
        const struct sample *sample = &batch->samples[n];
        if (!sample->set->size || sample->set->size > SET_METRICS_MAX || strlen(sample->instance) > 127)
            abort();
        for (size_t i = 0; i < sample->set->size; i++) {
            const struct metric *metric = &sample->set->metrics[i];
            if (!*metric->name || !strlen(metric->help) || !strlen(metric->unit) || sample->known[i] > 1)
                abort();
            if (!sample->known[i] && sample->values[i].u64)
                abort();
        }
    }
}

int fuzz_sensors(const uint8_t *data, size_t size)
{
    if (content < 0) {
        make_root();
        atexit(remove_root);
    }
    if (content < 0 || !size)
        return 0;
    const struct sampler *sampler = samplers[data[0] % (sizeof samplers / sizeof *samplers)];
    struct sampler_context context = { .root = root };
    struct batch batch;
    void *state = calloc(1, sampler->state_size);
    put(data + 1, size - 1);
    batch_init(&batch);
    if (state && !setting_defaults(sampler->settings, state) && !sampler->open(state, &context)) {
        for (unsigned i = 0; i < 4; i++) {
            batch_reset(&batch);
            put(data + 1, i == 1 ? (size - 1) / 2 : size - 1);
            if (sampler->read(state, &batch))
                break;
            look(&batch);
        }
        sampler->close(state);
    }
    batch_clear(&batch);
    free(state);
    return 0;
}
