/* Loads the module that contains the consumer. */
#include "transport/kafka.h"

#include "base/module.h"


enum err kafka_load(const struct kafka_module **module, char *error, size_t error_size)
{
    static const uint32_t version = KAFKA_MODULE_VERSION;
    const void *found;
    struct module wanted = { "sink-kafka.so", KAFKA_MODULE_SYMBOL, &version, 1, NULL };
    enum err err = module_load(&wanted, &found, error, error_size);
    if (!err)
        *module = found;
    return err;
}
