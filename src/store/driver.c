/* Recognizes database URLs and loads the driver module. */
#include "store/driver.h"

#include "base/module.h"


#include <string.h>

bool driver_is_url(const char *path)
{
    return strncmp(path, "postgresql://", 13) == 0 || strncmp(path, "postgres://", 11) == 0;
}

enum err driver_load(const char *url, const struct driver **driver, char *error, size_t error_size)
{
    static const uint32_t version = DRIVER_VERSION;
    const void *found;
    struct module wanted = { "store-postgres.so", DRIVER_SYMBOL, &version, 1, "needed for a job database in PostgreSQL" };
    (void)url; /* there is only one so far */
    enum err err = module_load(&wanted, &found, error, error_size);
    if (!err)
        *driver = found;
    return err;
}
