/* What the sampler ipmi and its module agree on: settings, and the set that it gives. */
#ifndef SONDE_SAMPLERS_IPMI_H
#define SONDE_SAMPLERS_IPMI_H

#include "model/batch.h"

/* At the beginning of the module's state. */
struct ipmi_settings {
    const char *host, *user, *password, *password_file; /* host "": this node's own BMC, by the kernel's driver */
    const char *privilege; /* "user", "operator", "admin": the least that the BMC's commands need */
    bool sensors;        /* all that the BMC has, besides the power that DCMI tells */
    uint64_t timeout_ns; /* for one session to be opened, or one answer */
};

/* A sample per sensor, in which one of these is known. */
enum ipmi_metric {
    IPMI_POWER, IPMI_POWER_AVERAGE, IPMI_POWER_LEAST, IPMI_POWER_MOST, IPMI_POWER_WINDOW,
    IPMI_TEMPERATURE, IPMI_VOLTAGE, IPMI_CURRENT, IPMI_FAN, IPMI_ENERGY, IPMI_PERCENT, IPMI_OTHER, IPMI_METRICS
};

extern const struct set ipmi_set;

#endif
