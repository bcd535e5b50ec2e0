/* A module that logs, for tests/base/log.c: it has its own copy of base/log.c, as all modules have. */
#include "tools/log_module.h"

#include "base/log.h"

static void inform(const char *text)
{
    log_info("%s", text);
}

static void warn(const char *text)
{
    log_warn("%s", text);
}

extern const struct log_module sonde_log_module;
__attribute__((visibility("default"))) const struct log_module sonde_log_module = { LOG_MODULE_MARK, inform, warn };
