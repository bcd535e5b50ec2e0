/* Since Linux 5.14 there is a sysctl, off by default. Before, delay accounting is on unless the boot parameter
 * nodelayacct is given. */
#include "proc/delay_accounting.h"

#include "base/file.h"
#include "base/scan.h"

#include <stdbool.h>
#include <string.h>

/* "4.18.0-553.el8_10.x86_64". An unreadable version does not count as old. */
static bool is_before_sysctl(const char *root)
{
    char text[128];
    const char *at = text;
    uint64_t major, minor;
    if (file_read_line(root, "/proc/sys/kernel/osrelease", text, sizeof text) || !scan_u64(&at, &major) || *at++ != '.'
        || !scan_u64(&at, &minor))
        return false;
    return major < 5 || (major == 5 && minor < 14);
}

/* Delay accounting requires scheduler accounting, which a kernel built without either does not show. */
static bool has_scheduler_accounting(const char *root)
{
    char text[128];
    return file_read_line(root, "/proc/self/schedstat", text, sizeof text) == OK && *text;
}

/* The kernel matches the beginning of a parameter only ("nodelayacct=1"). */
static bool has_parameter(const char *text, const char *name)
{
    for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
        if (!strncmp(text, name, strlen(name)))
            return true;
        text += strcspn(text, " \n");
    }
    return false;
}

enum delay_accounting delay_accounting_read(const char *root)
{
    char text[16], parameters[8192];
    enum err err = file_read_line(root, "/proc/sys/kernel/task_delayacct", text, sizeof text);
    if (!err)
        return strcmp(text, "0") != 0 ? DELAY_ACCOUNTING_ON : DELAY_ACCOUNTING_OFF;
    if (err != ABSENT || !is_before_sysctl(root) || !has_scheduler_accounting(root)
        || file_read(root, "/proc/cmdline", parameters, sizeof parameters, NULL))
        return DELAY_ACCOUNTING_UNAVAILABLE;
    return has_parameter(parameters, "nodelayacct") ? DELAY_ACCOUNTING_OFF_AT_BOOT : DELAY_ACCOUNTING_ON;
}
