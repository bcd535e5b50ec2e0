/* A datagram of the proc connector of any bytes: it is an event, an answer or nothing. */
#include "proc/proc_connector.h"

#include <stdlib.h>

int fuzz_forks(const uint8_t *data, size_t size);

int fuzz_forks(const uint8_t *data, size_t size)
{
    struct fork_event event;
    enum forks_message message = forks_parse((struct bytes){ (const char *)data, size }, &event);
    if (message != FORKS_EVENT && message != FORKS_ACK && message != FORKS_OTHER)
        abort();
    if (message == FORKS_EVENT && event.kind != FORKS_FORK && event.kind != FORKS_EXEC && event.kind != FORKS_EXIT)
        abort();
    return 0;
}
