/* Rule: so many metadata operations that a shared file system suffers. Thresholds: 100,000 such calls, 1,000 per
 * second. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <string.h>

#define CALLS_MIN 100000
#define RATE_MIN 1000

static bool is_metadata(const struct syscall_stat *call)
{
    static const char *const names[] = {
        "open", "openat", "openat2", "creat", "stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2",
        "unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "readlink", "readlinkat",
        "getdents", "getdents64", "link", "linkat", "symlink", "symlinkat", "chmod", "fchmodat", "utimensat", "truncate",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == call->name_size && strncmp(names[i], call->name, call->name_size) == 0)
            return true;
    return false;
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct syscall_stat *most = NULL;
    double sum = 0, rate;
    for (size_t i = 0; i < facts->calls.count; i++) {
        const struct syscall_stat *call = &facts->calls.list[i];
        if (!is_metadata(call))
            continue;
        sum += call->calls;
        if (!most || call->calls > most->calls)
            most = call;
    }
    rate = sum / facts_duration_s(facts);
    if (!most || sum < CALLS_MIN || rate < RATE_MIN)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.25;
    rule_set_sentence(advice, "%s file metadata operations (open, stat, rename etc.), %s per second, most often %s.",
                      phrase_count(sum).s, phrase_count(rate).s,
                      phrase_name((struct bytes){ most->name, most->name_size }).s);
    rule_set_fix(advice, "On a shared file system each is a request to a server that all jobs share: keep files open, "
                         "pack many small files into one, or work on a local disk.");
    return true;
}

const struct rule rule_metadata_calls = { .name = "metadata-calls", .needs = NEED_DURATION, .judge = judge };
