/* Any bytes as JSON: walked to the end or refused, never read beyond. */
#include "net/json_read.h"

#include <stdlib.h>
#include <string.h>

int fuzz_json_read(const uint8_t *data, size_t size);

int fuzz_json_read(const uint8_t *data, size_t size)
{
    char *exact = malloc(size ? size : 1); /* no NUL behind it: the sanitizer sees a byte too far */
    struct json_read read;
    struct buf key;
    if (!exact)
        return 0;
    memcpy(exact, data, size);
    json_read_init(&read, exact, size);
    json_read_skip(&read);
    bool is_whole = json_read_end(&read);
    buf_init(&key, 1 << 16);
    json_read_init(&read, exact, size);
    if (json_read_type(&read) == JSON_OBJECT) {
        json_read_object(&read);
        while (json_read_key(&read, &key))
            json_read_skip(&read);
        if (is_whole != json_read_end(&read) && !key.failed)
            abort();
    }
    buf_clear(&key);
    free(exact);
    return 0;
}
