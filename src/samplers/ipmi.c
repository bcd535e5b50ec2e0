/* Power and sensors of the node's BMC. The module sample-ipmi.so (ipmi_module.c) does the work, because it needs
 * freeipmi; it is loaded only if there is a BMC: /dev/ipmi0, or a host named in the settings. */
#include "samplers/ipmi.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "samplers/all.h"
#include "samplers/sampler_module.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ipmi {
    struct ipmi_settings settings;
    const struct sampler *module;
    void *state; /* the module's state */
};

static const struct setting settings[] = {
    { "host", SETTING_TEXT, "", offsetof(struct ipmi, settings.host),
      "BMC to query over the network, HOST or HOST:PORT; default: this node's own, through the kernel's driver" },
    { "user", SETTING_TEXT, "", offsetof(struct ipmi, settings.user), "user name on that host" },
    { "password", SETTING_TEXT, "", offsetof(struct ipmi,
                                             settings.password), "password on that host; see password_file" },
    { "password_file", SETTING_TEXT, "", offsetof(struct ipmi, settings.password_file),
      "file whose first line is the password, so that other users cannot read it" },
    { "privilege", SETTING_TEXT, "user", offsetof(struct ipmi, settings.privilege),
      "privilege level to request: user, operator or admin; some BMCs need more than user for DCMI" },
    { "sensors", SETTING_FLAG, "yes", offsetof(struct ipmi, settings.sensors),
      "read all sensors; no: only the power of the node, through DCMI" },
    { "timeout", SETTING_DURATION, "5s", offsetof(struct ipmi,
                                                  settings.timeout_ns), "timeout of a request to the BMC" },
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
    .about = "power, temperatures, fans and voltages measured by the node's BMC",
    .settings = settings,
    .set = &ipmi_set,
    .state_size = sizeof(struct ipmi),
    .is_slow = true,
    .keeps_capabilities = 1ull << CAP_SYS_RAWIO, /* for the BMC's I/O ports; /dev/ipmi0 belongs to root */
    .period_ns = 10 * NS_PER_S, /* the kernel's driver polls the BMC, so each reading costs CPU time */
    .absent_reason = "There is no BMC at /dev/ipmi0, or the module sample-ipmi.so or its library libfreeipmi is not installed",
    .absent_fix = "Load the drivers: modprobe ipmi_si ipmi_devintf; or name the BMC in the setting ipmi.host; and check "
                     "that libfreeipmi17 and sample-ipmi.so are installed",
    .denied_fix = "Run the agent as root, or allow it: chgrp and chmod g+rw /dev/ipmi0; with ipmi.host: check user and "
                     "password",
    .open = ipmi_open,
    .read = ipmi_read,
    .close = ipmi_close,
};
