/* The smallest probe: copy this file to begin a new one. It counts how often a process calls sync() and says so when the
 * process ends; a real one wraps what it is about: MPI, a runtime, I/O. It is built and tested so that it stays right,
 * and is not installed.
 *
 * A probe is a library of its own that is preloaded into programs. In src/probe/meson.build it gets the same flags as
 * libsonde-process.so: all is hidden but what is marked PROBE_EXPORT, it needs libc alone, no sanitizer is built in.
 * What must hold in every line, because the program is not ours:
 *   - no exit, no abort, nothing printed; errno stays as it was (the calls of base/sys.h leave it alone);
 *   - nothing is allocated, no lock is taken where the program passes often, no descriptor stays open;
 *   - a child made by vfork has the memory of its parent: it must change nothing there;
 *   - the spool may be missing, full or gone at any time, and the program does not notice. */
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

static char spool[1024];            /* a copy: programs write over their environment */
static _Atomic unsigned long calls; /* added to from any thread without waiting */

/* The wrapped function. The real one comes first, found behind us (RTLD_NEXT, so that other preloaded libraries get
 * their turn), then our note of it. What the call returns, and its errno, go back as they came. */
PROBE_EXPORT void sync(void)
{
    static _Atomic uintptr_t next;
    if (!next) {
        int kept = errno;
        next = (uintptr_t)dlsym(RTLD_NEXT, "sync");
        errno = kept;
    }
    if (next)
        ((void (*)(void))next)();
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

/* Numbers leave as records (spool/record.h): a kind of their own, or, as here, samples of a set of metrics. A set is
 * described before its samples, under a number that no other has; to describe it again does no harm. */
#define NULL_SET 1000

static void finish(uint8_t *frame, const struct packer *packer, enum record_kind kind)
{
    if (packer->full
        || spool_append(spool, frame, frame_finish(frame, kind, (size_t)(packer->at - frame) - FRAME_HEAD)) != OK)
        spool_count_lost(spool);
}

static struct bytes packed(const uint8_t *from, const struct packer *packer)
{
    return (struct bytes){ (const char *)from, (size_t)(packer->at - from) };
}

static void describe(void)
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
    finish(frame, &packer, RECORD_KIND_set);
}

/* At the end of the process, one sample under the name of its pid. */
static void tell(int status, void *nothing)
{
    (void)status, (void)nothing;
    uint8_t frame[256], values[2 * PACK_NUMBER_MAX];
    char pid[16];
    int size = snprintf(pid, sizeof pid, "%d", (int)sys_getpid());
    struct packer value = { values, values + sizeof values, false };
    pack_number(&value, 1); /* it is known */
    pack_number(&value, calls);
    describe();
    struct packer packer = { frame + FRAME_HEAD, frame + sizeof frame - 7, false };
    record_pack_sample(&packer, &(struct sample_record){ NULL_SET, { pid, (size_t)size }, clock_realtime_ns(),
                                                         packed(values, &value) });
    finish(frame, &packer, RECORD_KIND_sample);
}

/* Before main. Without a spool, or in a set-uid program, a probe does nothing at all. */
__attribute__((constructor)) static void start(void)
{
    const char *path = getenv(PROBE_ENV_SPOOL);
    if (!path || path[0] != '/' || strlen(path) >= sizeof spool || getauxval(AT_SECURE))
        return;
    memcpy(spool, path, strlen(path) + 1);
    on_exit(tell, NULL);
}
