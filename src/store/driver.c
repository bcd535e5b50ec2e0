/* Which paths are URLs, and finding the module for one. */
#include "store/driver.h"

#include "base/install_paths.h"

#include <string.h>

bool driver_is_url(const char *path)
{
    return strncmp(path, "postgresql://", 13) == 0 || strncmp(path, "postgres://", 11) == 0;
}

enum err driver_load(const char *url, const struct driver **driver, char *why, size_t why_size)
{
    static const uint32_t version = DRIVER_VERSION;
    const void *found;
    struct self_module wanted = { "store-postgres.so", DRIVER_SYMBOL, &version, 1, "a store in PostgreSQL needs it" };
    (void)url; /* there is but one so far */
    enum err err = self_load_module(&wanted, &found, why, why_size);
    if (!err)
        *driver = found;
    return err;
}

/* scheme://user:password@host/db; a password may hold an '@' only where it is written %40. */
void driver_url_mask(char *url)
{
    char *from = strstr(url, "://"), *at = from ? strchr(from + 3, '@') : NULL;
    char *colon = at ? memchr(from + 3, ':', (size_t)(at - from - 3)) : NULL;
    if (colon)
        memmove(colon, at, strlen(at) + 1);
}
