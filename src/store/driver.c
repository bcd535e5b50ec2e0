/* Which paths are URLs, and finding the module for one. */
#include "store/driver.h"

#include "base/self.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FILE_NAME "store-postgres.so"

bool driver_is_url(const char *path)
{
    return strncmp(path, "postgresql://", 13) == 0 || strncmp(path, "postgres://", 11) == 0;
}

enum err driver_load(const char *url, const struct driver **driver, char *why, size_t why_size)
{
    char path[PATH_MAX];
    (void)url; /* there is but one so far */
    if (self_find_module(FILE_NAME, path, sizeof path)) {
        snprintf(why, why_size, "%s is not installed: a store in PostgreSQL needs it", FILE_NAME);
        return ABSENT;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, why_size, "%s cannot be loaded: %s", FILE_NAME, dlerror());
        return ABSENT;
    }
    *driver = dlsym(library, DRIVER_SYMBOL);
    if (*driver && (*driver)->version == DRIVER_VERSION)
        return OK;
    snprintf(why, why_size, "%s is of another version of Sonde: install both together", path);
    dlclose(library);
    return CORRUPT;
}

/* scheme://user:password@host/db; a password may hold an '@' only where it is written %40. */
void driver_url_mask(char *url)
{
    char *from = strstr(url, "://"), *at = from ? strchr(from + 3, '@') : NULL;
    char *colon = at ? memchr(from + 3, ':', (size_t)(at - from - 3)) : NULL;
    if (colon)
        memmove(colon, at, strlen(at) + 1);
}
