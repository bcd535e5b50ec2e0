/* InfiniBand, Omni-Path and RoCE: one sample per port of /sys/class/infiniband/DEVICE/ports/N, from counters/ and
 * hw_counters/. Slow: the driver queries the firmware for many of these files, which can take a millisecond each.
 *
 * Data is counted in words of 4 bytes; some Omni-Path drivers use words of 8. Hardware with 32-bit counters
 * saturates at the largest value, which is then unknown, unless the old directory counters_ext/ has the same counter
 * in 64 bits. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"
#include "base/vec.h"
#include "proc/listing.h"
#include "proc/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLASS "/sys/class/infiniband"
#define PORTS_MAX 32
#define WORD 4

/* X(directory, file, factor, metric, unit, help) */
#define FIELDS(X) \
    X("counters", "port_rcv_data", WORD, receive, "B", "data received") \
    X("counters", "port_xmit_data", WORD, transmit, "B", "data sent") \
    X("counters", "port_rcv_packets", 1, receive_packets, "1", "packets received") \
    X("counters", "port_xmit_packets", 1, transmit_packets, "1", "packets sent") \
    X("counters", "unicast_rcv_packets", 1, unicast_receive_packets, "1", "unicast packets received") \
    X("counters", "unicast_xmit_packets", 1, unicast_transmit_packets, "1", "unicast packets sent") \
    X("counters", "multicast_rcv_packets", 1, multicast_receive_packets, "1", "multicast packets received") \
    X("counters", "multicast_xmit_packets", 1, multicast_transmit_packets, "1", "multicast packets sent") \
    X("counters", "port_xmit_wait", 1, transmit_wait, "1", "ticks with data to send but no credit") \
    X("counters", "port_xmit_discards", 1, transmit_discards, "1", "packets discarded because the port was down or full") \
    X("counters", "port_rcv_errors", 1, receive_errors, "1", "packets received with an error") \
    X("counters", "port_rcv_remote_physical_errors", 1, receive_remote_physical_errors, "1", \
      "packets received that were marked bad by another port") \
    X("counters", "port_rcv_switch_relay_errors", 1, receive_switch_relay_errors, "1", "packets that could not be relayed") \
    X("counters", "port_rcv_constraint_errors", 1, receive_constraint_errors, "1", "received packets that break a constraint") \
    X("counters", "port_xmit_constraint_errors", 1, transmit_constraint_errors, "1", "sent packets that break a constraint") \
    X("counters", "symbol_error", 1, symbol_errors, "1", "symbol errors on the lanes") \
    X("counters", "link_error_recovery", 1, link_recoveries, "1", "times that the link recovered from errors by itself") \
    X("counters", "link_downed", 1, link_downed, "1", "times that the link went down") \
    X("counters", "local_link_integrity_errors", 1, link_integrity_errors, "1", "times that local errors exceeded a threshold") \
    X("counters", "excessive_buffer_overrun_errors", 1, buffer_overruns, "1", "times that buffer overruns exceeded a limit") \
    X("counters", "VL15_dropped", 1, vl15_dropped, "1", "management packets dropped for lack of resources") \
    X("hw_counters", "duplicate_request", 1, duplicate_requests, "1", "requests received twice") \
    X("hw_counters", "out_of_sequence", 1, out_of_sequence, "1", "packets received out of order") \
    X("hw_counters", "packet_seq_err", 1, sequence_errors, "1", "NAK sequence errors received") \
    X("hw_counters", "local_ack_timeout_err", 1, ack_timeouts, "1", "acknowledgements that timed out") \
    X("hw_counters", "rnr_nak_retry_err", 1, receiver_not_ready, "1", "times that the receiver was not ready") \
    X("hw_counters", "out_of_buffer", 1, out_of_buffer, "1", "packets dropped for lack of a receive buffer") \
    X("hw_counters", "rx_read_requests", 1, read_requests, "1", "RDMA reads received") \
    X("hw_counters", "rx_write_requests", 1, write_requests, "1", "RDMA writes received") \
    X("hw_counters", "rx_atomic_requests", 1, atomic_requests, "1", "atomic operations received") \
    X("hw_counters", "np_ecn_marked_roce_packets", 1, ecn_packets, "1", "packets received with a congestion mark (ECN)") \
    X("hw_counters", "np_cnp_sent", 1, congestion_notices_sent, "1", "congestion notifications sent") \
    X("hw_counters", "rp_cnp_handled", 1, congestion_notices_handled, "1", "congestion notifications handled")

struct infiniband_field {
    const char *directory, *file;
    unsigned factor;
};

static const struct infiniband_field fields[] = {
#define X(directory, file, factor, name, unit, help) { directory, file, factor },
    FIELDS(X)
#undef X
};

#define FIELD_COUNT (sizeof fields / sizeof *fields)
#define WIDE_FIELDS 4 /* the first fields, which counters_ext/ has too */

static const struct metric metrics[] = {
#define X(directory, file, factor, name, unit, help) { #name, unit, COUNTER, U64, help, file },
    FIELDS(X)
#undef X
    { "state", "1", GAUGE, U64, "of the link: 1 down, 2 initialising, 3 armed, 4 active" },
    { "physical_state", "1", GAUGE, U64, "2 polling, 3 disabled, 4 training, 5 up, 6 recovering", "phys_state" },
    { "rate", "B/s", GAUGE, F64, "capacity of the link in each direction" },
};

enum { STATE = FIELD_COUNT, PHYSICAL_STATE, RATE, METRICS };

static const struct set set = { "infiniband", metrics, METRICS, "port" };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

struct infiniband_port {
    char instance[LISTING_NAME_MAX + 16]; /* "mlx5_0/1" */
    int fds[METRICS];                     /* -1: this port does not have it */
};

struct infiniband {
    uint64_t word; /* setting */
    struct infiniband_port *ports;
    size_t count;
};

static const struct setting settings[] = {
    { "word", SETTING_U64, "4", offsetof(struct infiniband, word),
      "bytes of a word in which data is counted; 8 where perfquery shows half of what was sent, as on some Omni-Path" },
    { .key = NULL },
};

static int open_file(const char *root, const char *port, const char *directory, const char *file)
{
    char path[512];
    int fd;
    snprintf(path, sizeof path, "%s/%s%s%s", port, directory, *directory ? "/" : "", file);
    return file_open(root, path, &fd) == OK ? fd : -1;
}

static int open_field(const char *root, const char *port, size_t i)
{
    if (i < WIDE_FIELDS) {
        char wide[64];
        snprintf(wide, sizeof wide, "%s_64", fields[i].file);
        int fd = open_file(root, port, "counters_ext", wide);
        if (fd >= 0)
            return fd;
    }
    return open_file(root, port, fields[i].directory, fields[i].file);
}

static void close_port(struct infiniband_port *port)
{
    for (size_t i = 0; i < METRICS; i++)
        if (port->fds[i] >= 0)
            close(port->fds[i]);
}

/* False: nothing can be read there. */
static bool open_port(const char *root, const char *directory, struct infiniband_port *port)
{
    size_t opened = 0;
    for (size_t i = 0; i < FIELD_COUNT; i++)
        port->fds[i] = open_field(root, directory, i);
    port->fds[STATE] = open_file(root, directory, "", "state");
    port->fds[PHYSICAL_STATE] = open_file(root, directory, "", "phys_state");
    port->fds[RATE] = open_file(root, directory, "", "rate");
    for (size_t i = 0; i < METRICS; i++)
        opened += port->fds[i] >= 0;
    return opened > 0;
}

static enum err add_port(struct infiniband *infiniband, const char *root, const char *device, const char *number)
{
    char directory[3 * LISTING_NAME_MAX];
    struct infiniband_port port;
    if (infiniband->count == PORTS_MAX)
        return FULL;
    snprintf(directory, sizeof directory, CLASS "/%s/ports/%s", device, number);
    if (!open_port(root, directory, &port))
        return OK;
    if (array_resize(infiniband->ports, infiniband->count + 1)) {
        close_port(&port);
        return NOMEM;
    }
    snprintf(port.instance, sizeof port.instance, "%s/%.8s", device, number);
    infiniband->ports[infiniband->count++] = port;
    return OK;
}

static enum err add_device(struct infiniband *infiniband, const char *root, const char *device)
{
    char directory[2 * LISTING_NAME_MAX];
    struct listing ports = { 0 };
    snprintf(directory, sizeof directory, CLASS "/%s/ports", device);
    enum err err = listing_read(&ports, root, directory, "");
    for (size_t i = 0; !err && i < ports.count; i++)
        err = add_port(infiniband, root, device, ports.names[i]);
    listing_clear(&ports);
    return err == NOMEM ? NOMEM : OK;
}

static void infiniband_close(void *state)
{
    struct infiniband *infiniband = state;
    for (size_t i = 0; i < infiniband->count; i++)
        close_port(&infiniband->ports[i]);
    free(infiniband->ports);
}

static enum err infiniband_open(void *state, const struct sampler_context *context)
{
    struct infiniband *infiniband = state;
    struct listing devices = { 0 };
    if (!infiniband->word)
        return USAGE;
    enum err err = listing_read(&devices, context->root, CLASS, "");
    for (size_t i = 0; !err && i < devices.count; i++)
        err = add_device(infiniband, context->root, devices.names[i]);
    listing_clear(&devices);
    if (!err && infiniband->count)
        return OK;
    infiniband_close(infiniband);
    return err ? err : ABSENT;
}

static void set_counter(struct sample *sample, const struct infiniband *infiniband, const struct infiniband_port *port,
                        size_t i)
{
    uint64_t value, factor = fields[i].factor == WORD ? infiniband->word : fields[i].factor;
    if (port->fds[i] < 0 || number_read_u64(port->fds[i], &value))
        return;
    if (i < WIDE_FIELDS && value == UINT32_MAX) /* saturated */
        return;
    if (value <= UINT64_MAX / factor)
        sample_set_u64(sample, i, value * factor);
}

/* "4: ACTIVE" */
static void set_state(struct sample *sample, const struct infiniband_port *port, size_t i)
{
    char text[64];
    const char *at = text;
    uint64_t value;
    if (port->fds[i] >= 0 && file_read_fd(port->fds[i], text, sizeof text, NULL) == OK && scan_u64(&at, &value)
        && *at == ':')
        sample_set_u64(sample, i, value);
}

/* "200 Gb/sec (4X HDR)", "2.5 Gb/sec (1X SDR)" */
static void set_rate(struct sample *sample, const struct infiniband_port *port)
{
    char text[64];
    const char *at = text;
    double gigabits;
    if (port->fds[RATE] >= 0 && file_read_fd(port->fds[RATE], text, sizeof text, NULL) == OK
        && scan_decimal(&at, &gigabits) && !strncmp(at, " Gb/sec", strlen(" Gb/sec")))
        sample_set_f64(sample, RATE, gigabits * 1e9 / 8);
}

static enum err infiniband_read(void *state, struct batch *out)
{
    const struct infiniband *infiniband = state;
    for (size_t p = 0; p < infiniband->count; p++) {
        const struct infiniband_port *port = &infiniband->ports[p];
        struct sample *sample = batch_add(out, &set, clock_realtime_ns(), port->instance);
        if (!sample)
            return NOMEM;
        for (size_t i = 0; i < FIELD_COUNT; i++)
            set_counter(sample, infiniband, port, i);
        set_state(sample, port, STATE);
        set_state(sample, port, PHYSICAL_STATE);
        set_rate(sample, port);
    }
    return OK;
}

const struct sampler sampler_infiniband = {
    .name = "infiniband",
    .about = "InfiniBand, Omni-Path and RoCE: data, packets, errors and state of each port",
    .set = &set,
    .settings = settings,
    .state_size = sizeof(struct infiniband),
    .is_slow = true,
    .absent_reason = "There is no port below " CLASS,
    .absent_fix = "If there is an adapter, load its driver (mlx5_ib, hfi1) and check with ibstat; otherwise nothing is missing",
    .open = infiniband_open,
    .read = infiniband_read,
    .close = infiniband_close,
};
