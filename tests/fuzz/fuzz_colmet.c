/* Any bytes as a Colmet configuration message: the result is a JSON request or an error message. */
#include "compat/colmet/node_control.h"
#include "net/json_read.h"

#include <stdlib.h>

int fuzz_colmet(const uint8_t *data, size_t size);

int fuzz_colmet(const uint8_t *data, size_t size)
{
    struct buf request, why;
    buf_init(&request, 1 << 16);
    buf_init(&why, 1 << 12);
    struct colmet_metrics metrics;
    bool taken = colmet_request((struct bytes){ (const char *)data, size }, &request, &metrics, &why);
    if (taken == (why.size > 0))
        abort();
    colmet_metrics_clear(&metrics);
    buf_clear(&request);
    buf_clear(&why);
    return 0;
}
