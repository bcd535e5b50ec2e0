/* Memory of each NUMA node, from /sys/devices/system/node/nodeN/numastat ("numa_hit 123", pages) and meminfo ("Node 0
 * MemTotal: 123 kB"). One sample per node; every line is a metric. */
#include "samplers/all.h"

#include "base/clock.h"
#include "proc/listing.h"
#include "proc/textfile.h"
#include "samplers/keyed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTORY "/sys/devices/system/node"

struct numa_node {
    char name[LISTING_NAME_MAX], prefix[LISTING_NAME_MAX + 8];
    struct textfile numastat, meminfo;
    struct keyed_last last;
};

struct numa {
    struct keyed keyed;
    struct numa_node **nodes;
    size_t count;
};

static const struct keyed_format numastat_format = { .end = ' ' };

static struct keyed_format meminfo_format(const struct numa_node *node)
{
    return (struct keyed_format){ .prefix = node->prefix, .end = ':' };
}

static void describe(struct bytes key, const char *line, struct keyed_description *description)
{
    size_t size = strcspn(line, "\n");
    if (key.data[key.size] == ' ') {
        snprintf(description->help, sizeof description->help, "pages: %.*s of numastat", (int)key.size, key.data);
        return;
    }
    description->kind = GAUGE;
    description->is_kb = size > 3 && !strncmp(line + size - 3, " kB", 3);
    description->unit = description->is_kb ? "B" : "1";
    snprintf(description->help, sizeof description->help, "%.*s of this node's memory", (int)key.size, key.data);
}

static void numa_close(void *state)
{
    struct numa *numa = state;
    for (size_t i = 0; numa->nodes && i < numa->count; i++) {
        textfile_close(&numa->nodes[i]->numastat);
        textfile_close(&numa->nodes[i]->meminfo);
        keyed_last_clear(&numa->nodes[i]->last);
        free(numa->nodes[i]);
    }
    free(numa->nodes);
    keyed_clear(&numa->keyed);
}

static enum err open_file(struct textfile *file, const char *root, const char *node, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s/%s", DIRECTORY, node, name);
    enum err err = textfile_open(file, root, path, TEXTFILE_WHOLE);
    return err == ABSENT ? OK : err;
}

/* A node without either file yields no sample. */
static enum err open_node(struct numa *numa, const char *root, const char *name)
{
    struct numa_node *node = calloc(1, sizeof *node);
    if (!node)
        return NOMEM;
    numa->nodes[numa->count++] = node;
    snprintf(node->name, sizeof node->name, "%s", name);
    snprintf(node->prefix, sizeof node->prefix, "Node %s ", name + strlen("node"));
    enum err err = open_file(&node->numastat, root, name, "numastat");
    return err ? err : open_file(&node->meminfo, root, name, "meminfo");
}

static enum err add_keys(struct numa *numa)
{
    enum err err = OK;
    for (size_t i = 0; i < numa->count && !err; i++) {
        struct numa_node *node = numa->nodes[i];
        struct keyed_format format = meminfo_format(node);
        if (node->numastat.is_open && textfile_read(&node->numastat) == OK)
            err = keyed_add_keys(&numa->keyed, &numastat_format, node->numastat.text);
        if (!err && node->meminfo.is_open && textfile_read(&node->meminfo) == OK)
            err = keyed_add_keys(&numa->keyed, &format, node->meminfo.text);
    }
    if (!err)
        err = keyed_make_set(&numa->keyed);
    for (size_t i = 0; i < numa->count && !err; i++)
        err = keyed_last_reserve(&numa->nodes[i]->last, &numa->keyed);
    return err;
}

static enum err open_nodes(struct numa *numa, const char *root)
{
    struct listing listing = { 0 };
    enum err err = listing_read(&listing, root, DIRECTORY, "node");
    numa->nodes = err ? NULL : calloc(listing.count ? listing.count : 1, sizeof(struct numa_node *));
    if (!err && !numa->nodes)
        err = NOMEM;
    for (size_t i = 0; i < listing.count && !err; i++) {
        char digit = listing.names[i][strlen("node")];
        if (digit >= '0' && digit <= '9')
            err = open_node(numa, root, listing.names[i]);
    }
    listing_clear(&listing);
    return err;
}

static enum err numa_open(void *state, const struct sampler_context *context)
{
    struct numa *numa = state;
    keyed_init(&numa->keyed, "numa", describe);
    numa->keyed.instances = "node";
    enum err err = open_nodes(numa, context->root);
    if (!err)
        err = add_keys(numa);
    if (err)
        numa_close(numa);
    return err;
}

/* If a file cannot be read now (a node is being removed), its values are unknown; without either there is no sample. */
static enum err add_node(struct numa *numa, struct numa_node *node, uint64_t time_ns, struct batch *out)
{
    const struct keyed_format forms[] = { numastat_format, meminfo_format(node) };
    struct textfile *const files[] = { &node->numastat, &node->meminfo };
    struct sample *sample = NULL;
    size_t expected = 0;
    for (size_t i = 0; i < 2; i++) {
        if (!files[i]->is_open || textfile_read(files[i]) != OK || !files[i]->size)
            continue;
        if (!sample)
            sample = batch_add(out, keyed_set(&numa->keyed), time_ns, node->name);
        if (!sample)
            return NOMEM;
        keyed_fill(&numa->keyed, &forms[i], files[i]->text, sample, &node->last, &expected);
    }
    return OK;
}

static enum err numa_read(void *state, struct batch *out)
{
    struct numa *numa = state;
    enum err err = numa->keyed.has_new_keys ? add_keys(numa) : OK;
    uint64_t time_ns = clock_realtime_ns();
    for (size_t i = 0; i < numa->count && !err; i++)
        err = add_node(numa, numa->nodes[i], time_ns, out);
    return err;
}

const struct sampler sampler_numa = {
    .name = "numa",
    .about = "memory and allocation counters of each NUMA node",
    .state_size = sizeof(struct numa),
    .open = numa_open,
    .read = numa_read,
    .close = numa_close,
};
