/* libpfm4 through dlopen: not needed to build or to run Sonde. */
#include "proc/perf_pfm.h"

#include "spool/probe_env.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

#define PFM_LIBRARY "libpfm.so.4"
#define PFM_SUCCESS 0
#define PFM_LEVEL_KERNEL 0x01
#define PFM_LEVEL_USER 0x08
#define PFM_FOR_PERF_EVENT_EXT 2

/* pfm_perf_encode_arg_t of the library. */
struct pfm_request {
    struct perf_event_attr *attr;
    char **full_name;
    size_t size;
    int index, cpu, flags, padding;
};

struct pfm_library {
    bool tried, ready;
    int (*initialize)(void);
    int (*encode)(const char *name, int levels, int target, void *request);
    const char *(*error_text)(int code);
};

/* dlsym returns an object pointer; ISO C needs this detour for functions. */
static bool find_function(void *handle, const char *name, void *function)
{
    *(void **)function = dlsym(handle, name);
    return *(void **)function != NULL;
}

/* Loaded once and kept until the process exits. */
static const struct pfm_library *library_get(void)
{
    static struct pfm_library library;
    if (library.tried)
        return &library;
    library.tried = true;
    void *handle = dlopen(PFM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    library.ready = handle && find_function(handle, "pfm_initialize", &library.initialize)
                    && find_function(handle, "pfm_get_os_event_encoding", &library.encode)
                    && find_function(handle, "pfm_strerror", &library.error_text)
                    && library.initialize() == PFM_SUCCESS;
    return &library;
}

bool perf_pfm_is_available(void)
{
    return library_get()->ready;
}

enum err perf_pfm_encode(const char *name, struct perf_event_spec *spec, char *reason, size_t reason_size)
{
    const struct pfm_library *library = library_get();
    if (!library->ready)
        return ABSENT;
    struct perf_event_attr attr = { .size = sizeof attr };
    struct pfm_request request = { .attr = &attr, .size = sizeof request, .cpu = -1 };
    int code = library->encode(name, PFM_LEVEL_USER | PFM_LEVEL_KERNEL, PFM_FOR_PERF_EVENT_EXT, &request);
    if (code != PFM_SUCCESS) {
        snprintf(reason, reason_size, "libpfm4: %s", library->error_text(code));
        return USAGE;
    }
    spec->type = attr.type;
    spec->config = attr.config;
    spec->config1 = attr.config1;
    spec->config2 = attr.config2;
    spec->exclude = (attr.exclude_kernel ? PROBE_EXCLUDE_KERNEL : 0u)
                    | (attr.exclude_hv ? PROBE_EXCLUDE_HYPERVISOR : 0u);
    return OK;
}
