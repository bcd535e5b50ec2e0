/* Responses of a server that may not be Elasticsearch. */
#include "sinks/elasticsearch/response.h"

#include <stdlib.h>
#include <string.h>

int fuzz_elasticsearch_response(const uint8_t *data, size_t size);

static size_t verdicts;

static void take(void *user, size_t place, unsigned status, const char *type, const char *reason)
{
    (void)user, (void)status;
    if (place != verdicts++ || strlen(type) + strlen(reason) > 1u << 22)
        abort();
}

int fuzz_elasticsearch_response(const uint8_t *data, size_t size)
{
    struct bytes answer = { (const char *)data, size };
    size_t items;
    bool failed;
    unsigned major;
    verdicts = 0;
    enum err err = elasticsearch_response_bulk(answer, take, NULL, &items, &failed);
    if (verdicts != (!err && failed ? items : 0)) /* all of them, or none */
        abort();
    elasticsearch_response_version(answer, &major);
    return 0;
}
