/* What the sampler ipmi and its module sample-ipmi.so share: the settings and the metric set. */
#ifndef SONDE_SAMPLERS_IPMI_H
#define SONDE_SAMPLERS_IPMI_H

#include "model/batch.h"

/* The first member of the module's state. */
struct ipmi_settings {
    const char *host, *user, *password, *password_file; /* host "": the BMC of this node, through the kernel's driver */
    const char *privilege; /* the privilege level to request */
    bool sensors;        /* read all sensors, not only the power through DCMI */
    uint64_t timeout_ns; /* for opening a session, and for each answer */
};

/* One sample per sensor, with one of these metrics set. */
enum ipmi_metric {
    IPMI_POWER, IPMI_POWER_AVERAGE, IPMI_POWER_LEAST, IPMI_POWER_MOST, IPMI_POWER_WINDOW,
    IPMI_TEMPERATURE, IPMI_VOLTAGE, IPMI_CURRENT, IPMI_FAN, IPMI_ENERGY, IPMI_PERCENT, IPMI_OTHER, IPMI_METRICS
};

extern const struct set ipmi_set;

#endif
