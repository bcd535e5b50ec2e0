/* The module sample-ipmi.so: the sampler that queries a BMC. A session that broke, for example after a minute without
 * traffic, is reopened at once. */
#include "samplers/sampler_module.h"

#include "base/clock.h"
#include "samplers/ipmi_bmc.h"

struct ipmi_module {
    struct ipmi_settings settings; /* first member: ipmi.c fills it in */
    struct ipmi_bmc *bmc;
};

static enum err module_open(void *state, const struct sampler_context *context)
{
    struct ipmi_module *module = state;
    (void)context;
    return ipmi_bmc_open(&module->bmc, &module->settings);
}

static void module_close(void *state)
{
    struct ipmi_module *module = state;
    ipmi_bmc_close(&module->bmc);
}

static enum err add_power(struct ipmi_module *module, struct batch *out)
{
    struct ipmi_bmc_power power;
    enum err err = ipmi_bmc_read_power(module->bmc, &power);
    if (err)
        return err == ABSENT || err == AGAIN ? OK : err;
    struct sample *sample = batch_add(out, &ipmi_set, clock_realtime_ns(), "");
    if (!sample)
        return NOMEM;
    sample_set_f64(sample, IPMI_POWER, (double)power.now_w);
    sample_set_f64(sample, IPMI_POWER_LEAST, (double)power.least_w);
    sample_set_f64(sample, IPMI_POWER_MOST, (double)power.most_w);
    sample_set_f64(sample, IPMI_POWER_AVERAGE, (double)power.average_w);
    sample_set_f64(sample, IPMI_POWER_WINDOW, (double)power.window_ms / 1000);
    return OK;
}

static enum err add_sensor(struct ipmi_module *module, size_t i, struct batch *out)
{
    double value;
    enum err err = ipmi_bmc_read_sensor(module->bmc, i, &value);
    if (err)
        return err == AGAIN ? OK : err;
    struct sample *sample = batch_add(out, &ipmi_set, clock_realtime_ns(), ipmi_bmc_sensor_name(module->bmc, i));
    if (!sample)
        return NOMEM;
    sample_set_f64(sample, ipmi_bmc_sensor_metric(module->bmc, i), value);
    return OK;
}

static enum err add_all(struct ipmi_module *module, struct batch *out)
{
    enum err err = add_power(module, out);
    for (size_t i = 0; !err && i < ipmi_bmc_sensor_count(module->bmc); i++)
        err = add_sensor(module, i, out);
    return err;
}

static enum err module_read(void *state, struct batch *out)
{
    struct ipmi_module *module = state;
    size_t count = out->count, values_used = out->values_used;
    if (!module->bmc) /* the last attempt to reopen failed */
        return IO;
    enum err err = add_all(module, out);
    if (err != IO)
        return err;
    out->count = count; /* the samples added so far point to names of the broken session */
    out->values_used = values_used;
    ipmi_bmc_close(&module->bmc);
    err = ipmi_bmc_open(&module->bmc, &module->settings);
    return err ? err : add_all(module, out);
}

static const struct sampler sampler = {
    .name = "ipmi",
    .about = "the BMC, through freeipmi",
    .set = &ipmi_set,
    .state_size = sizeof(struct ipmi_module),
    .is_slow = true,
    .open = module_open,
    .read = module_read,
    .close = module_close,
};

SAMPLER_MODULE_EXPORT(sampler);
