/* The exit status of a job or a process, in one or two words. */
#ifndef SONDE_REPORT_STATUS_H
#define SONDE_REPORT_STATUS_H

#include "base/format.h"

#include <stdbool.h>

/* "ok", "exit 3", "SIGKILL"; "?" if unknown. */
struct format_text status_text(bool known, uint8_t exit_code, uint8_t exit_signal);

#endif
