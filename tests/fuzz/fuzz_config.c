/* A configuration of any text: it is taken or refused, with a reason, and the plan stays whole. */
#include "agent/config.h"

#include <stdlib.h>
#include <string.h>

int fuzz_config(const uint8_t *data, size_t size);

int fuzz_config(const uint8_t *data, size_t size)
{
    struct plan plan, copy;
    struct buf why;
    char *text = malloc(size + 1);
    if (!text || plan_init(&plan, NULL)) {
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    buf_init(&why, 1 << 16);
    enum err err = config_parse(&plan, "fuzz", text, &why);
    if ((err != OK) != (why.size > 0))
        abort();
    if (plan_copy(&copy, &plan) == OK)
        plan_clear(&copy);
    plan_clear(&plan);
    buf_clear(&why);
    free(text);
    return 0;
}
