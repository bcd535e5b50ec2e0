/* A connection to one BMC through freeipmi: a session that stays open, the list of sensors, and the node's power
 * through DCMI. Part of the module sample-ipmi.so. */
#ifndef SONDE_SAMPLERS_IPMI_BMC_H
#define SONDE_SAMPLERS_IPMI_BMC_H

#include "base/err.h"
#include "samplers/ipmi.h"

#define IPMI_BMC_NAME_MAX 64

struct ipmi_bmc;

/* Opens a session and reads the list of sensors, which takes seconds. DENIED: wrong user, password or privilege;
 * ABSENT: neither sensors nor DCMI; IO: no answer. */
enum err ipmi_bmc_open(struct ipmi_bmc **bmc, const struct ipmi_settings *settings);
void ipmi_bmc_close(struct ipmi_bmc **bmc);

/* The power reading of DCMI. */
struct ipmi_bmc_power {
    uint64_t now_w, least_w, most_w, average_w, window_ms;
};

/* ABSENT: this BMC does not support DCMI power, or does not measure now. */
enum err ipmi_bmc_read_power(struct ipmi_bmc *bmc, struct ipmi_bmc_power *power);

size_t ipmi_bmc_sensor_count(const struct ipmi_bmc *bmc);

/* Valid until ipmi_bmc_close. */
const char *ipmi_bmc_sensor_name(const struct ipmi_bmc *bmc, size_t i);
enum ipmi_metric ipmi_bmc_sensor_metric(const struct ipmi_bmc *bmc, size_t i);

/* AGAIN: the sensor has no value now; IO: the session is broken. */
enum err ipmi_bmc_read_sensor(struct ipmi_bmc *bmc, size_t i, double *value);

#endif
