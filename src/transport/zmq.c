/* Loads the module. */
#include "transport/zmq.h"

#include "base/module.h"


enum err zmq_load(const struct zmq_module **module, char *error, size_t error_size)
{
    static const uint32_t version = ZMQ_MODULE_VERSION;
    const void *found;
    struct module wanted = { "wire-zmq.so", ZMQ_MODULE_SYMBOL, &version, 1, NULL };
    enum err err = module_load(&wanted, &found, error, error_size);
    if (!err)
        *module = found;
    return err;
}
