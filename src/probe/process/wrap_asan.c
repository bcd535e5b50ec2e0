/* AddressSanitizer refuses to start a program if another library is loaded before its own. The probe comes first and
 * forwards everything, so disable that check. The sanitizer calls this function for default options; a program's own
 * definition takes precedence. */
#include "probe/process/probe.h"

PROBE_EXPORT const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "verify_asan_link_order=0";
}
