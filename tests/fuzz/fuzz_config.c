/* A configuration of any text: it is taken or refused, with a reason, and the plan stays whole. */
#include "agent/agent_config.h"

#include <stdlib.h>
#include <string.h>

int fuzz_config(const uint8_t *data, size_t size);

int fuzz_config(const uint8_t *data, size_t size)
{
    struct agent_config plan, copy;
    struct buf why;
    char *text = malloc(size + 1);
    if (!text || agent_config_init(&plan, NULL)) {
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    buf_init(&why, 1 << 16);
    enum err err = agent_config_parse(&plan, "fuzz", text, &why);
    if ((err != OK) != (why.size > 0))
        abort();
    if (agent_config_copy(&copy, &plan) == OK)
        agent_config_clear(&copy);
    agent_config_clear(&plan);
    buf_clear(&why);
    free(text);
    return 0;
}
