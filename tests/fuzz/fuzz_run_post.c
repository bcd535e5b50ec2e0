/* What anybody on the machine may say when they hand over a run, to an agent that has nowhere to send it. */
#include "agent/run_post.h"

#include <stdlib.h>
#include <string.h>

int fuzz_run_post(const uint8_t *data, size_t size);

int fuzz_run_post(const uint8_t *data, size_t size)
{
    char *exact = malloc(size ? size : 1); /* no NUL behind it: the sanitizer sees a byte too far */
    struct buf answer;
    if (!exact)
        return 0;
    memcpy(exact, data, size);
    buf_init(&answer, 4096);
    struct run_post post = { .uid = 65534, .fd = -1, .body = { exact, size } };
    enum err err = run_post(NULL, &post, &answer);
    if ((err != USAGE && err != ABSENT) || buf_err(&answer) || !strstr(buf_text(&answer), "\"ok\": false"))
        abort();
    buf_clear(&answer);
    free(exact);
    return 0;
}
