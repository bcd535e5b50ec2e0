/* The smallest probe: copy this file to write a new one. It counts the calls of sync() in a process and writes the count
 * to the spool when the process exits. A real probe wraps what it is about: MPI, a language runtime, I/O. This one is
 * built and tested, so that it stays correct, but not installed.
 *
 * A probe is a shared library that is preloaded into other people's programs (LD_PRELOAD). src/probe/meson.build builds it
 * with the same flags as libsonde-process.so: everything is hidden except what is marked PROBE_EXPORT, it depends only on
 * libc, and it is never sanitized. Rules for every line of it:
 *   - never exit, abort or print; preserve errno (the functions of base/sys.h do not touch it);
 *   - do not call malloc, do not take a lock on a hot path, do not keep a descriptor open;
 *   - a vfork child shares its parent's memory: do not modify any state there;
 *   - the spool may be missing, full or removed at any time, and the program must run unaffected.
 *
 * To add a probe: copy this file and tests/probe/null.c, add both to their meson.build, and have src/run/run.c add the
 * library to the command's LD_PRELOAD. docs/probe.md describes the existing ones. */
#include "base/clock.h"
#include "base/sys.h"
#include "spool/probe_env.h"
#include "spool/spool.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#define PROBE_EXPORT __attribute__((visibility("default")))

static char spool[1024];            /* path; a copy, because programs overwrite their environment */
static _Atomic unsigned long calls; /* incremented by all threads without locking */

/* The wrapper. It calls the real function first, found with RTLD_NEXT so that other preloaded libraries get their turn,
 * and counts afterwards. Result and errno of the real function are returned unchanged. */
PROBE_EXPORT void sync(void)
{
    static _Atomic uintptr_t next;
    if (!next) {
        int saved_errno = errno;
        next = (uintptr_t)dlsym(RTLD_NEXT, "sync");
        errno = saved_errno;
    }
    if (next)
        ((void (*)(void))next)();
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

/* Data is written as records (spool/record.h): either of a new kind or, as here, as samples of a metric set. The set must be
 * described before its first sample, under a number that no other set uses. Describing it twice is harmless. */
#define NULL_SET 1000

/* Appends a packed record to the spool, or counts it as lost. */
static void append(uint8_t *frame, const struct packer *packer, enum record_kind kind)
{
    if (packer->full
        || spool_append(spool, frame, frame_finish(frame, kind, (size_t)(packer->at - frame) - FRAME_HEAD)) != OK)
        spool_count_lost(spool);
}

static struct bytes packed(const uint8_t *from, const struct packer *packer)
{
    return (struct bytes){ (const char *)from, (size_t)(packer->at - from) };
}

static void write_set(void)
{
    uint8_t frame[256], metrics[128];
    struct packer metric = { metrics, metrics + sizeof metrics, false };
    pack_text(&metric, (struct bytes){ "calls", 5 });
    pack_text(&metric, (struct bytes){ "1", 1 });
    pack_text(&metric, (struct bytes){ "calls of sync by a process", 26 });
    pack_number(&metric, COUNTER);
    pack_number(&metric, U64);
    struct packer packer = { frame + FRAME_HEAD, frame + sizeof frame - 7, false }; /* 7: see frame_finish */
    record_pack_set(&packer, &(struct set_record){ NULL_SET, { "null", 4 }, 1, packed(metrics, &metric) });
    append(frame, &packer, RECORD_KIND_set);
}

/* At exit: writes one sample, with the pid as its instance. */
static void write_sample(int status, void *unused)
{
    (void)status, (void)unused;
    uint8_t frame[256], values[2 * PACK_NUMBER_MAX];
    char pid[16];
    int size = snprintf(pid, sizeof pid, "%d", (int)sys_getpid());
    struct packer value = { values, values + sizeof values, false };
    pack_number(&value, 1); /* the value is known */
    pack_number(&value, calls);
    write_set();
    struct packer packer = { frame + FRAME_HEAD, frame + sizeof frame - 7, false };
    record_pack_sample(&packer, &(struct sample_record){ NULL_SET, { pid, (size_t)size }, clock_realtime_ns(),
                                                         packed(values, &value) });
    append(frame, &packer, RECORD_KIND_sample);
}

/* Runs before main. Without a spool, or in a set-uid program, the probe stays inactive. */
__attribute__((constructor)) static void start(void)
{
    const char *path = getenv(PROBE_ENV_SPOOL);
    if (!path || path[0] != '/' || strlen(path) >= sizeof spool || getauxval(AT_SECURE))
        return;
    memcpy(spool, path, strlen(path) + 1);
    on_exit(write_sample, NULL);
}
