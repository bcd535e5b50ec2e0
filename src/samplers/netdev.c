/* Network devices, from /proc/net/dev: two header lines that name the columns, then "eth0:", 8 receive and 8 transmit
 * counters. Columns are found by name. One sample per device of the network namespace in which the file was opened. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/scan.h"
#include "proc/textfile.h"
#include "samplers/counter.h"
#include "samplers/instances.h"

#include <string.h>

/* X(direction, the kernel's column name, metric, unit, help) */
#define FIELDS(X) \
    X("rx", "bytes", rx_bytes, "B", "bytes received") \
    X("rx", "packets", rx_packets, "1", "packets received") \
    X("rx", "errs", rx_errors, "1", "packets received with an error") \
    X("rx", "drop", rx_dropped, "1", "packets received and dropped") \
    X("rx", "fifo", rx_fifo, "1", "packets lost because a buffer was full") \
    X("rx", "frame", rx_frame, "1", "packets received that were damaged") \
    X("rx", "compressed", rx_compressed, "1", "compressed packets received") \
    X("rx", "multicast", rx_multicast, "1", "multicast packets received") \
    X("tx", "bytes", tx_bytes, "B", "bytes sent") \
    X("tx", "packets", tx_packets, "1", "packets sent") \
    X("tx", "errs", tx_errors, "1", "packets that could not be sent") \
    X("tx", "drop", tx_dropped, "1", "packets to be sent and dropped") \
    X("tx", "fifo", tx_fifo, "1", "packets not sent because a buffer was full") \
    X("tx", "colls", tx_collisions, "1", "collisions") \
    X("tx", "carrier", tx_carrier, "1", "packets not sent because there was no carrier") \
    X("tx", "compressed", tx_compressed, "1", "compressed packets sent")

static const struct metric metrics[] = {
#define X(way, column, name, unit, help) { #name, unit, COUNTER, U64, help, way "_" column },
    FIELDS(X)
#undef X
};

#define METRICS (sizeof metrics / sizeof *metrics)
#define COLUMNS_MAX 32
#define HEADER_MAX 512

static const struct set set = { "netdev", metrics, METRICS, "device" };

struct netdev {
    uint64_t max;
    struct textfile file;
    struct instances devices;
    char header[HEADER_MAX]; /* the header for which places is valid */
    size_t header_size, columns;
    uint8_t places[COLUMNS_MAX]; /* metric of each column; METRICS: unknown column */
};

static const struct setting settings[] = {
    { "max", SETTING_U64, "256", offsetof(struct netdev,
                                          max), "maximum number of devices to read, in the kernel's order" },
    { .key = NULL },
};

static uint8_t place_of(const char *way, const char *name, size_t size)
{
    uint8_t i = 0;
    while (i < METRICS
           && (strncmp(metrics[i].source, way, 3) != 0 || strncmp(metrics[i].source + 3, name, size) != 0
               || metrics[i].source[3 + size]))
        i++;
    return i;
}

/* " face |bytes packets …|bytes packets …": receive columns follow the first bar, transmit columns the second. */
static void find_columns(struct netdev *netdev, const char *line)
{
    const char *way = "";
    netdev->columns = 0;
    while (*line && *line != '\n' && netdev->columns < COLUMNS_MAX) {
        size_t size = strcspn(line, " |\n");
        if (size && *way)
            netdev->places[netdev->columns++] = place_of(way, line, size);
        line += size;
        if (*line == '|')
            way = *way ? "tx_" : "rx_";
        line += strspn(line, " |") ? 1 : 0;
    }
}

/* The text after the header; NULL: unknown header. */
static const char *skip_header(struct netdev *netdev)
{
    const char *text = netdev->file.text, *second = scan_next_line(text);
    if (netdev->header_size && !strncmp(text, netdev->header, netdev->header_size))
        return text + netdev->header_size;
    if (!second || !strchr(second, '|'))
        return NULL;
    find_columns(netdev, second);
    size_t size = (size_t)(second - text) + strcspn(second, "\n") + 1;
    netdev->header_size = 0;
    if (size < HEADER_MAX) {
        memcpy(netdev->header, text, size);
        netdev->header_size = size;
    }
    return text + size;
}

static enum err netdev_open(void *state, const struct sampler_context *context)
{
    struct netdev *netdev = state;
    instances_init(&netdev->devices, METRICS, netdev->max);
    return textfile_open(&netdev->file, context->root, "/proc/net/dev", TEXTFILE_PAGES);
}

static enum err add_device(struct netdev *netdev, const char *line, uint64_t time_ns, struct batch *out)
{
    const char *name = line + strspn(line, " ");
    size_t size = strcspn(name, ":\n");
    if (name[size] != ':')
        return OK;
    struct instance *device = instances_find(&netdev->devices, (struct bytes){ name, size });
    if (!device)
        return OK;
    struct sample *sample = batch_add(out, &set, time_ns, device->name);
    if (!sample)
        return NOMEM;
    const char *at = name + size + 1;
    uint64_t value;
    for (size_t i = 0; i < netdev->columns && scan_u64(&at, &value); i++)
        if (netdev->places[i] < METRICS)
            counter_set(sample, netdev->places[i], value, &device->last[netdev->places[i]]);
    return OK;
}

static enum err netdev_read(void *state, struct batch *out)
{
    struct netdev *netdev = state;
    enum err err = textfile_read(&netdev->file);
    if (err)
        return err;
    const char *line = skip_header(netdev);
    uint64_t time_ns = clock_realtime_ns();
    instances_begin(&netdev->devices);
    for (err = line ? OK : CORRUPT; line && *line && !err; line = scan_next_line(line))
        err = add_device(netdev, line, time_ns, out);
    return err;
}

static void netdev_close(void *state)
{
    struct netdev *netdev = state;
    textfile_close(&netdev->file);
    instances_clear(&netdev->devices);
}

const struct sampler sampler_netdev = {
    .name = "netdev",
    .about = "network devices: bytes, packets, errors",
    .settings = settings,
    .set = &set,
    .state_size = sizeof(struct netdev),
    .open = netdev_open,
    .read = netdev_read,
    .close = netdev_close,
};
