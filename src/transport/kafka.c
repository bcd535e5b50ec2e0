/* Finding and loading the module. */
#include "transport/kafka.h"

#include "base/install_paths.h"

enum err kafka_load(const struct kafka_module **module, char *why, size_t why_size)
{
    static const uint32_t version = KAFKA_MODULE_VERSION;
    const void *found;
    struct self_module wanted = { "sink-kafka.so", KAFKA_MODULE_SYMBOL, &version, 1, NULL };
    enum err err = self_load_module(&wanted, &found, why, why_size);
    if (!err)
        *module = found;
    return err;
}
