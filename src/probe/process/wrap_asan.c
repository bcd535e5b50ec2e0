/* Programs that were built with the address sanitizer refuse to start when any library stands before its own. We come
 * first and pass everything on to it, so that its check is not needed; it asks for options by this function, which a
 * program may define itself and then is asked first. */
#include "probe/process/probe.h"

PROBE_EXPORT const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "verify_asan_link_order=0";
}
