/* One BMC, spoken to with freeipmi: a session that stays open, the list of its sensors, the power of the node by DCMI. Part
 * of the module sample-ipmi.so. */
#ifndef SONDE_SAMPLERS_IPMI_BMC_H
#define SONDE_SAMPLERS_IPMI_BMC_H

#include "base/err.h"
#include "samplers/ipmi.h"

#define BMC_NAME_MAX 64

struct bmc;

/* Opens a session and reads the list of sensors, which takes seconds. DENIED: user, password or privilege; ABSENT: it has
 * neither sensors nor DCMI; IO: it does not answer. */
enum err bmc_open(struct bmc **bmc, const struct ipmi_settings *settings);
void bmc_close(struct bmc **bmc);

/* What DCMI tells, all of the same moment. */
struct bmc_power {
    uint64_t now_w, least_w, most_w, average_w, window_ms;
};

/* ABSENT: this BMC does not know DCMI's power, or does not measure at the moment. */
enum err bmc_read_power(struct bmc *bmc, struct bmc_power *power);

size_t bmc_sensor_count(const struct bmc *bmc);

/* Valid until bmc_close. */
const char *bmc_sensor_name(const struct bmc *bmc, size_t i);
enum ipmi_metric bmc_sensor_metric(const struct bmc *bmc, size_t i);

/* AGAIN: the sensor has no value now; IO: the session is broken. */
enum err bmc_read_sensor(struct bmc *bmc, size_t i, double *value);

#endif
