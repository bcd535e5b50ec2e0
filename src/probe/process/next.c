/* Finds the real functions after the wrapped ones with dlsym(RTLD_NEXT), not in libc by name, so that other
 * preloaded libraries that wrap the same function are still called. */
#include "probe/process/probe.h"

#include <dlfcn.h>
#include <stdlib.h>

#pragma weak on_exit /* see process.c */
#pragma weak dlsym

/* Before glibc 2.34, dlsym is in libdl, which small programs do not load. */
void *__libc_dlopen_mode(const char *name, int mode);
void *__libc_dlsym(void *library, const char *name);
#pragma weak __libc_dlopen_mode
#pragma weak __libc_dlsym
#define RTLD_DLOPEN 0x80000000

typedef void *find_function(void *library, const char *name);
static _Atomic(find_function *) late_dlsym;

static _Atomic uintptr_t found[NEXT_SIZE];

/* One string with NULs between the names: an array of pointers would need relocations at every start. */
static const char names[] =
#define X(name) #name "\0"
    NEXT_FIRST(X) NEXT_LATER(X);
#undef X

static const char *name_of(enum next which)
{
    const char *name = names;
    for (int i = 0; i < (int)which; i++)
        name += strlen(name) + 1;
    return name;
}

static find_function *find_dlsym(void)
{
    find_function *find = atomic_load_explicit(&late_dlsym, memory_order_relaxed);
    if (!find) {
        void *library = __libc_dlopen_mode("libdl.so.2", (int)(RTLD_NOW | RTLD_DLOPEN));
        find = library ? (find_function *)(uintptr_t)__libc_dlsym(library, "dlsym") : NULL;
        atomic_store_explicit(&late_dlsym, find, memory_order_relaxed);
    }
    return find;
}

/* The next definition after ours. */
static void *find_symbol(const char *name)
{
    find_function *find = dlsym ? dlsym : find_dlsym();
    return find ? find(RTLD_NEXT, name) : NULL;
}

bool next_needs_libdl(void)
{
    return !dlsym;
}

uintptr_t next_find(enum next which)
{
    uintptr_t function = atomic_load_explicit(&found[which], memory_order_relaxed);
    if (function)
        return function;
    int saved_errno = errno;
    function = (uintptr_t)find_symbol(name_of(which));
    errno = saved_errno;
    atomic_store_explicit(&found[which], function, memory_order_relaxed);
    return function;
}

void next_find_first(void)
{
#define X(name) next_find(NEXT_##name);
    NEXT_FIRST(X)
#undef X
}

void next_find_all(void)
{
    for (int i = 0; i < NEXT_SIZE; i++)
        next_find((enum next)i);
}

/* Also checks for what a cancelled system() needs: before glibc 2.34 that is in libpthread, if the program has it. */
static bool find_libc(enum next which)
{
    Dl_info libc, other;
    int (*address)(const void *, Dl_info *) = (int (*)(const void *, Dl_info *))(uintptr_t)find_symbol("dladdr");
    return address && address((void *)(uintptr_t)on_exit, &libc) && address((void *)next_find(which), &other) &&
           libc.dli_fbase == other.dli_fbase && find_symbol("__pthread_register_cancel");
}

bool next_is_libc(enum next which)
{
    static _Atomic uint8_t answers[NEXT_SIZE]; /* 0: unknown; otherwise 1 + the answer */
    uint8_t answer = atomic_load_explicit(&answers[which], memory_order_relaxed);
    if (!answer) {
        answer = (uint8_t)(1 + find_libc(which));
        atomic_store_explicit(&answers[which], answer, memory_order_relaxed);
    }
    return answer > 1;
}
