/* Power and sensors of the node's BMC. The work is done by the module sample-ipmi.so (ipmi_module.c), which needs
 * freeipmi; it is loaded only where there is a BMC to ask: the kernel's /dev/ipmi0, or a host that the settings name. */
#include "samplers/ipmi.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "samplers/all.h"
#include "samplers/sampler_module.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ipmi {
    struct ipmi_settings settings;
    const struct sampler *module;
    void *state; /* the module's */
};

static const struct setting settings[] = {
    { "host", SETTING_TEXT, "", offsetof(struct ipmi, settings.host),
      "BMC to ask over the network, HOST or HOST:PORT; none: this node's own, by the kernel's driver" },
    { "user", SETTING_TEXT, "", offsetof(struct ipmi, settings.user), "user at that host" },
    { "password", SETTING_TEXT, "", offsetof(struct ipmi, settings.password), "and the password; see password_file" },
    { "password_file", SETTING_TEXT, "", offsetof(struct ipmi, settings.password_file),
      "file whose first line is the password: others cannot see it" },
    { "privilege", SETTING_TEXT, "user", offsetof(struct ipmi, settings.privilege),
      "what to ask for at that host: user, operator or admin; DCMI needs more than user at some" },
    { "sensors", SETTING_FLAG, "yes", offsetof(struct ipmi, settings.sensors),
      "read all sensors; no: only the power of the node, by DCMI" },
    { "timeout", SETTING_DURATION, "5s", offsetof(struct ipmi, settings.timeout_ns), "for an answer of the BMC" },
    { .key = NULL },
};

static enum err find_device(const char *root)
{
    static const char *const devices[] = { "/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0" };
    char path[FILE_PATH_MAX];
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (file_path(path, root, devices[i]) == OK && access(path, F_OK) == 0)
            return access(path, R_OK | W_OK) == 0 ? OK : DENIED;
    return ABSENT;
}

static enum err ipmi_open(void *state, const struct sampler_context *context)
{
    struct ipmi *ipmi = state;
    char error[512];
    enum err err = *ipmi->settings.host ? OK : find_device(context->root);
    if (err)
        return err;
    err = sampler_module_load("ipmi", &ipmi->module, error, sizeof error);
    if (err) {
        log_info("%s", error);
        return err;
    }
    ipmi->state = calloc(1, ipmi->module->state_size);
    if (!ipmi->state)
        return NOMEM;
    memcpy(ipmi->state, &ipmi->settings, sizeof ipmi->settings);
    err = ipmi->module->open(ipmi->state, context);
    if (err)
        free(ipmi->state);
    return err;
}

static enum err ipmi_read(void *state, struct batch *out)
{
    const struct ipmi *ipmi = state;
    return ipmi->module->read(ipmi->state, out);
}

static void ipmi_close(void *state)
{
    struct ipmi *ipmi = state;
    ipmi->module->close(ipmi->state);
    free(ipmi->state);
}

const struct sampler sampler_ipmi = {
    .name = "ipmi",
    .about = "power, temperatures, fans and voltages that the node's BMC measures",
    .settings = settings,
    .set = &ipmi_set,
    .state_size = sizeof(struct ipmi),
    .is_slow = true,
    .period_ns = 10 * NS_PER_S, /* the kernel's driver polls the BMC: each reading costs CPU time, too */
    .absent_reason = "There is no BMC at /dev/ipmi0, or the module sample-ipmi.so or its library libfreeipmi is not installed",
    .absent_fix = "Load the drivers: modprobe ipmi_si ipmi_devintf; or name the BMC in the setting ipmi.host; and see "
                     "that libfreeipmi17 and sample-ipmi.so are installed",
    .denied_fix = "Run the agent as root, or allow it: chgrp and chmod g+rw /dev/ipmi0; with ipmi.host: see user and "
                     "password",
    .open = ipmi_open,
    .read = ipmi_read,
    .close = ipmi_close,
};
