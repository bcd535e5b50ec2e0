/* Corrected and uncorrected memory errors, from /sys/devices/system/edac/mc/mcN of each memory controller and below it
 * of each DIMM (or rank, or csrow on old kernels). Controllers are read at each tick. DIMMs are read only after the
 * count of their controller has changed, which is rare, so that no descriptors are kept open for hundreds of them, and
 * once more after their counters restarted. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"
#include "proc/listing.h"
#include "samplers/counter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIRECTORY "/sys/devices/system/edac/mc"

static const struct metric metrics[] = {
    { "corrected", "1", COUNTER, U64, "corrected memory errors", "ce_count" },
    { "uncorrected", "1", COUNTER, U64, "uncorrected memory errors", "ue_count" },
    { "corrected_elsewhere", "1", COUNTER, U64, "corrected errors of unknown DIMM", "ce_noinfo_count" },
    { "uncorrected_elsewhere", "1", COUNTER, U64, "uncorrected errors of unknown DIMM", "ue_noinfo_count" },
};

enum { CORRECTED, UNCORRECTED, CORRECTED_ELSEWHERE, UNCORRECTED_ELSEWHERE, METRICS, DIMM_METRICS = 2 };

static const struct set set = { "edac", metrics, METRICS, "controller" };
static const struct set dimm_set = { "edac_dimm", metrics, DIMM_METRICS, "dimm" };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

/* The directory name of DIMMs, and the files in it. */
static const struct dimm_kind {
    const char *directory, *files[DIMM_METRICS];
} kinds[] = {
    { "dimm", { "dimm_ce_count", "dimm_ue_count" } },
    { "rank", { "dimm_ce_count", "dimm_ue_count" } },
    { "csrow", { "ce_count", "ue_count" } },
};

#define KINDS (sizeof kinds / sizeof *kinds)

struct edac_dimm {
    char name[2 * LISTING_NAME_MAX]; /* "mc0/dimm3": also its path below DIRECTORY */
    const struct dimm_kind *kind;
    uint64_t values[DIMM_METRICS], last[DIMM_METRICS];
    bool known[DIMM_METRICS];
    bool is_open; /* must be read again: a counter restarted, or could not be read */
};

struct edac_controller {
    char name[LISTING_NAME_MAX];
    int fds[METRICS]; /* -1: no such file */
    uint64_t last[METRICS], raw[METRICS];
    bool has_read;
    struct edac_dimm *dimms;
    size_t dimm_count;
};

struct edac {
    const char *root;
    struct edac_controller *controllers;
    size_t count;
};

static void edac_close(void *state)
{
    struct edac *edac = state;
    for (size_t i = 0; i < edac->count; i++) {
        for (size_t file = 0; file < METRICS; file++)
            if (edac->controllers[i].fds[file] >= 0)
                close(edac->controllers[i].fds[file]);
        free(edac->controllers[i].dimms);
    }
    free(edac->controllers);
}

/* Names that end in a number: "mc0", but not "mc". */
static enum err list(struct listing *listing, const char *root, const char *path, const char *prefix)
{
    size_t kept = 0;
    enum err err = listing_read(listing, root, path, prefix);
    for (size_t i = 0; i < listing->count && !err; i++) {
        char digit = listing->names[i][strlen(prefix)];
        if (digit >= '0' && digit <= '9')
            memmove(listing->names[kept++], listing->names[i], LISTING_NAME_MAX);
    }
    listing->count = err ? 0 : kept;
    return err;
}

static enum err list_dimms(struct edac_controller *controller, const char *root, struct listing *listing)
{
    size_t kind = 0;
    char path[128];
    snprintf(path, sizeof path, "%s/%s", DIRECTORY, controller->name);
    while (kind < KINDS && (list(listing, root, path, kinds[kind].directory) || !listing->count))
        kind++;
    size_t count = kind < KINDS ? listing->count : 0;
    controller->dimms = calloc(count ? count : 1, sizeof *controller->dimms);
    if (!controller->dimms)
        return NOMEM;
    for (size_t i = 0; i < count; i++) {
        struct edac_dimm *dimm = &controller->dimms[controller->dimm_count++];
        dimm->kind = &kinds[kind];
        snprintf(dimm->name, sizeof dimm->name, "%s/%s", controller->name, listing->names[i]);
    }
    return OK;
}

static enum err open_controller(struct edac_controller *controller, const char *root, const char *name)
{
    snprintf(controller->name, sizeof controller->name, "%s", name);
    enum err err = OK;
    for (size_t i = 0; i < METRICS; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s/%s", DIRECTORY, controller->name, metrics[i].source);
        enum err one = file_open(root, path, &controller->fds[i]);
        err = one && one != ABSENT ? one : err;
    }
    return err;
}

static enum err open_controllers(struct edac *edac, const char *root, const struct listing *names)
{
    struct listing dimms = { 0 };
    enum err err = names->count ? OK : ABSENT;
    edac->controllers = calloc(names->count ? names->count : 1, sizeof *edac->controllers);
    if (!edac->controllers)
        return NOMEM;
    for (size_t i = 0; i < names->count && !err; i++) {
        struct edac_controller *controller = &edac->controllers[edac->count++];
        err = open_controller(controller, root, names->names[i]);
        if (!err)
            err = list_dimms(controller, root, &dimms);
    }
    listing_clear(&dimms);
    return err;
}

static enum err edac_open(void *state, const struct sampler_context *context)
{
    struct edac *edac = state;
    struct listing names = { 0 };
    edac->root = context->root;
    enum err err = list(&names, context->root, DIRECTORY, "mc");
    if (!err)
        err = open_controllers(edac, context->root, &names);
    listing_clear(&names);
    if (err)
        edac_close(edac);
    return err;
}

/* Requires the whole line: a truncated number would be wrong. */
static bool read_count(int fd, uint64_t *value)
{
    char text[32];
    ssize_t got = pread(fd, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    const char *at = text;
    return scan_u64(&at, value) && !strcmp(at, "\n");
}

static enum err read_count_at(const char *root, const char *path, uint64_t *value)
{
    int fd;
    enum err err = file_open(root, path, &fd);
    if (err)
        return err;
    bool is_read = read_count(fd, value);
    close(fd);
    return is_read ? OK : CORRUPT;
}

static void read_dimm(const char *root, struct edac_dimm *dimm)
{
    dimm->is_open = false;
    for (size_t i = 0; i < DIMM_METRICS; i++) {
        char path[256];
        uint64_t value;
        snprintf(path, sizeof path, "%s/%s/%s", DIRECTORY, dimm->name, dimm->kind->files[i]);
        enum err err = read_count_at(root, path, &value);
        dimm->known[i] = !err && counter_take(&dimm->last[i], &value);
        if (dimm->known[i])
            dimm->values[i] = value;
        else if (err != ABSENT)
            dimm->is_open = true;
    }
}

/* True: a count has changed. */
static bool read_controller(struct edac_controller *controller, struct sample *sample)
{
    bool has_changed = !controller->has_read;
    for (size_t i = 0; i < METRICS; i++) {
        uint64_t value;
        if (controller->fds[i] < 0 || !read_count(controller->fds[i], &value))
            continue;
        has_changed |= value != controller->raw[i];
        controller->raw[i] = value;
        counter_set(sample, i, value, &controller->last[i]);
    }
    controller->has_read = true;
    return has_changed;
}

static enum err add_dimm(struct edac_dimm *dimm, uint64_t time_ns, struct batch *out)
{
    struct sample *sample = batch_add(out, &dimm_set, time_ns, dimm->name);
    if (!sample)
        return NOMEM;
    for (size_t i = 0; i < DIMM_METRICS; i++) {
        if (dimm->known[i])
            sample_set_u64(sample, i, dimm->values[i]);
    }
    return OK;
}

static enum err add_controller(const char *root, struct edac_controller *controller, struct batch *out)
{
    uint64_t time_ns = clock_realtime_ns();
    struct sample *sample = batch_add(out, &set, time_ns, controller->name);
    if (!sample)
        return NOMEM;
    bool has_changed = read_controller(controller, sample);
    enum err err = OK;
    for (size_t i = 0; i < controller->dimm_count && !err; i++) {
        if (has_changed || controller->dimms[i].is_open)
            read_dimm(root, &controller->dimms[i]);
        err = add_dimm(&controller->dimms[i], time_ns, out);
    }
    return err;
}

static enum err edac_read(void *state, struct batch *out)
{
    struct edac *edac = state;
    enum err err = OK;
    for (size_t i = 0; i < edac->count && !err; i++)
        err = add_controller(edac->root, &edac->controllers[i], out);
    return err;
}

const struct sampler sampler_edac = {
    .name = "edac",
    .about = "corrected and uncorrected memory errors",
    .absent_reason = "No memory controller driver is loaded, or the memory has no error correction",
    .absent_fix = "On a server with ECC memory, load its driver: modprobe skx_edac (Intel), amd64_edac (AMD)",
    .set = &set,
    .state_size = sizeof(struct edac),
    .open = edac_open,
    .read = edac_read,
    .close = edac_close,
};
