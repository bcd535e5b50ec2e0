/* Finding and loading the library of a sink. */
#include "sink/module.h"

#include "base/self.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

const struct sink_in_module sink_modules[] = {
    { "elasticsearch", "sink-http.so", "documents in Elasticsearch or OpenSearch" },
    { "hdf5", "sink-hdf5.so", "an HDF5 file as Colmet's collector writes it, for PyTables and h5py" },
    { "influx", "sink-http.so", "InfluxDB's line protocol: a file, standard output, InfluxDB or VictoriaMetrics" },
    { "kafka", "sink-kafka.so", "messages to Kafka, keyed by job: JSON or MessagePack" },
    { "prometheus", "sink-http.so", "remote write to Prometheus, VictoriaMetrics and others" },
    { 0 },
};

static bool is_ours(const struct sink_module *module)
{
    static const uint32_t sizes[] = SINK_MODULE_SIZES;
    return module->version == SINK_MODULE_VERSION && !memcmp(module->sizes, sizes, sizeof sizes);
}

static const char *file_of(const char *name)
{
    for (const struct sink_in_module *row = sink_modules; row->sink; row++)
        if (strcmp(row->sink, name) == 0)
            return row->module;
    return NULL;
}

static enum err load_from(const char *path, const char *name, const struct sink **sink, char *why, size_t why_size)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, why_size, "the sink %s cannot be loaded: %s", name, dlerror());
        return ABSENT;
    }
    const struct sink_module *module = dlsym(library, SINK_MODULE_SYMBOL);
    for (size_t i = 0; module && is_ours(module) && module->sinks[i]; i++)
        if (strcmp(module->sinks[i]->name, name) == 0) {
            *sink = module->sinks[i];
            return OK;
        }
    snprintf(why, why_size, "%s is of another version of Sonde: install both together", path);
    dlclose(library);
    return CORRUPT;
}

enum err sink_load(const char *name, const struct sink **sink, char *why, size_t why_size)
{
    char path[PATH_MAX];
    *sink = sink_find(name);
    if (*sink)
        return OK;
    const char *file = file_of(name);
    if (!file) {
        snprintf(why, why_size, "there is no sink %s", name);
        return ABSENT;
    }
    if (self_find_module(file, path, sizeof path)) {
        snprintf(why, why_size, "the sink %s needs %s, which is not installed", name, file);
        return ABSENT;
    }
    return load_from(path, name, sink, why, why_size);
}
