/* Formats exit statuses. */
#include "report/status.h"

#include <stdio.h>
#include <string.h>

struct format_text status_text(bool known, uint8_t exit_code, uint8_t exit_signal)
{
    struct format_text text = { "ok" };
    if (!known)
        return (struct format_text){ "?" };
    const char *name = exit_signal ? sigabbrev_np(exit_signal) : NULL;
    if (name)
        snprintf(text.s, sizeof text.s, "SIG%s", name);
    else if (exit_signal)
        snprintf(text.s, sizeof text.s, "SIG%u", exit_signal);
    else if (exit_code)
        snprintf(text.s, sizeof text.s, "exit %u", exit_code);
    return text;
}
