/* Finds and loads the module of a sink. */
#include "sinks/sink_module.h"

#include "base/module.h"


#include <stdio.h>
#include <string.h>

const struct sink_in_module sink_modules[] = {
    { "elasticsearch", "sink-http.so", "documents in Elasticsearch or OpenSearch" },
    { "hdf5", "sink-hdf5.so", "an HDF5 file in the layout of Colmet's collector, for PyTables and h5py" },
    { "influx", "sink-http.so", "InfluxDB line protocol to a file, standard output, InfluxDB or VictoriaMetrics" },
    { "kafka", "sink-kafka.so", "messages to Kafka, keyed by job: JSON or MessagePack" },
    { "prometheus", "sink-http.so", "remote write to Prometheus, VictoriaMetrics and compatible servers" },
    { 0 },
};

static const char *file_of(const char *name)
{
    for (const struct sink_in_module *row = sink_modules; row->sink; row++)
        if (strcmp(row->sink, name) == 0)
            return row->module;
    return NULL;
}

static enum err load_from(const char *file, const char *name, const struct sink **sink, char *error, size_t error_size)
{
    static const struct { uint32_t version, sizes[7]; } marks = { SINK_MODULE_VERSION, SINK_MODULE_SIZES };
    char hint[128];
    const void *found;
    snprintf(hint, sizeof hint, "required by the sink %s", name);
    struct module wanted = { file, SINK_MODULE_SYMBOL, &marks.version, sizeof marks / sizeof marks.version, hint };
    enum err err = module_load(&wanted, &found, error, error_size);
    if (err)
        return err;
    const struct sink_module *module = found;
    module->set_log_level(log_level());
    for (size_t i = 0; module->sinks[i]; i++)
        if (strcmp(module->sinks[i]->name, name) == 0) {
            *sink = module->sinks[i];
            return OK;
        }
    snprintf(error, error_size, "%s has no sink %s: it belongs to another version of Sonde", file, name);
    return CORRUPT;
}

enum err sink_module_load(const char *name, const struct sink **sink, char *error, size_t error_size)
{
    *sink = sink_find(name);
    if (*sink)
        return OK;
    const char *file = file_of(name);
    if (file)
        return load_from(file, name, sink, error, error_size);
    snprintf(error, error_size, "unknown sink %s", name);
    return ABSENT;
}
