/* How a job or a process ended, in one word or two. */
#ifndef SONDE_REPORT_STATUS_H
#define SONDE_REPORT_STATUS_H

#include "base/text.h"

/* "ok", "exit 3", "SIGKILL"; "?" when it is not known. */
struct text status_text(bool known, uint8_t exit_code, uint8_t exit_signal);

#endif
