/* The metrics of the set "ipmi". In a file of its own: the module has it too. */
#include "samplers/ipmi.h"

static const struct metric metrics[] = {
    [IPMI_POWER] = { "power", "W", GAUGE, F64, "power; of the instance \"\": of the whole node, by DCMI" },
    [IPMI_POWER_AVERAGE] = { "power_average", "W", GAUGE, F64, "average over power_window" },
    [IPMI_POWER_LEAST] = { "power_least", "W", GAUGE, F64, "least in power_window" },
    [IPMI_POWER_MOST] = { "power_most", "W", GAUGE, F64, "most in power_window" },
    [IPMI_POWER_WINDOW] = { "power_window", "s", GAUGE, F64, "the time that the BMC looks back for the three before" },
    [IPMI_TEMPERATURE] = { "temperature", "C", GAUGE, F64, "temperature at the sensor" },
    [IPMI_VOLTAGE] = { "voltage", "V", GAUGE, F64, "voltage at the sensor" },
    [IPMI_CURRENT] = { "current", "A", GAUGE, F64, "current at the sensor" },
    [IPMI_FAN] = { "fan", "rpm", GAUGE, F64, "speed of the fan, in turns per minute" },
    [IPMI_ENERGY] = { "energy", "J", GAUGE, F64, "energy as the sensor tells it" },
    [IPMI_PERCENT] = { "percent", "%", GAUGE, F64, "level, of 100" },
    [IPMI_OTHER] = { "value", "1", GAUGE, F64, "what a sensor of another unit tells" },
};

const struct set ipmi_set = { "ipmi", metrics, IPMI_METRICS, "sensor" };
_Static_assert(sizeof metrics / sizeof *metrics == IPMI_METRICS, "a name for each metric");
