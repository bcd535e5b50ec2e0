/* The metric set "ipmi", in a file of its own because the module links it too. */
#include "samplers/ipmi.h"

static const struct metric metrics[] = {
    [IPMI_POWER] = { "power", "W", GAUGE, F64, "power; the instance \"\" is the whole node, from DCMI" },
    [IPMI_POWER_AVERAGE] = { "power_average", "W", GAUGE, F64, "average over power_window" },
    [IPMI_POWER_LEAST] = { "power_least", "W", GAUGE, F64, "minimum over power_window" },
    [IPMI_POWER_MOST] = { "power_most", "W", GAUGE, F64, "maximum over power_window" },
    [IPMI_POWER_WINDOW] = { "power_window", "s", GAUGE, F64, "the window of the average, minimum and maximum" },
    [IPMI_TEMPERATURE] = { "temperature", "C", GAUGE, F64, "temperature at the sensor" },
    [IPMI_VOLTAGE] = { "voltage", "V", GAUGE, F64, "voltage at the sensor" },
    [IPMI_CURRENT] = { "current", "A", GAUGE, F64, "current at the sensor" },
    [IPMI_FAN] = { "fan", "rpm", GAUGE, F64, "speed of the fan" },
    [IPMI_ENERGY] = { "energy", "J", GAUGE, F64, "energy reported by the sensor" },
    [IPMI_PERCENT] = { "percent", "%", GAUGE, F64, "level, of 100" },
    [IPMI_OTHER] = { "value", "1", GAUGE, F64, "value of a sensor with another unit" },
};

const struct set ipmi_set = { "ipmi", metrics, IPMI_METRICS, "sensor" };
_Static_assert(sizeof metrics / sizeof *metrics == IPMI_METRICS, "a name for each metric");
