/* The life of a process as the probe sees it: the image that came up, the end. */
#include "probe/process/probe.h"

#include "appmetrics/segment_format.h"
#include "spool/spool.h"

#include <linux/seccomp.h> /* PR_GET_SECCOMP's answer */
#include <link.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>

struct probe probe;

/* musl lacks it, and ends a program at its start for what it lacks. */
#pragma weak on_exit

struct settings {
    const char *spool, *tags, *tags_papiex, *events, *socket, *boards;
    char *flags; /* NULL: none */
};

static void setting_read(struct settings *settings, char *text)
{
    char *value;
    if ((value = PROBE_VALUE(text, PROBE_ENV_SPOOL)))
        settings->spool = value;
    else if ((value = PROBE_VALUE(text, PROBE_ENV_FLAGS)))
        settings->flags = value;
    else if ((value = PROBE_VALUE(text, PROBE_ENV_EVENTS)))
        settings->events = value;
    else if ((value = PROBE_VALUE(text, PROBE_ENV_SOCKET)))
        settings->socket = value;
    else if ((value = PROBE_VALUE(text, BOARD_ENV_FOLDER)))
        settings->boards = value;
    else if ((value = PROBE_VALUE(text, PROBE_TAGS)))
        settings->tags = value;
    else if ((value = PROBE_VALUE(text, PROBE_TAGS_PAPIEX)))
        settings->tags_papiex = value;
}

/* All that we look for begins with one of two words: the rest of a large environment costs three bytes each. */
static struct settings settings_read(char **envp)
{
    struct settings settings = { .tags = "", .tags_papiex = "" };
    for (; *envp; envp++) {
        char *text = *envp;
        if ((text[0] == 'S' && text[1] == 'O' && text[2] == 'N') || (text[0] == 'P' && text[1] == 'A' && text[2] == 'P'))
            setting_read(&settings, text);
    }
    return settings;
}

/* Behind the environment. Not with getauxval: to look a symbol up takes a microsecond. Where the loader has taken names out of
 * the environment (set-uid), nothing is found here. */
static struct probe_auxv auxv_read(char **envp)
{
    struct probe_auxv auxv = { .is_secure = true, .ticks_per_s = 100 };
    while (*envp)
        envp++;
    for (const ElfW(auxv_t) *at = (const void *)(envp + 1); at->a_type != AT_NULL; at++) {
        switch (at->a_type) {
        case AT_SECURE: auxv.is_secure = at->a_un.a_val; break;
        case AT_BASE: auxv.has_loader = at->a_un.a_val; break;
        case AT_EXECFN: auxv.name = (const char *)at->a_un.a_val; break;
        case AT_PHDR: auxv.parts = (const void *)at->a_un.a_val; break;
        case AT_PHNUM: auxv.part_count = at->a_un.a_val; break;
        case AT_UID: auxv.uid = at->a_un.a_val; break;
        case AT_CLKTCK: auxv.ticks_per_s = at->a_un.a_val; break;
        default: break;
        }
    }
    return auxv;
}

static struct bytes cwd_read(char *to)
{
    long size = sys2(SYS_getcwd, to, PATH_MAX); /* with its NUL; "(unreachable)…" when it is outside our root */
    return (struct bytes){ to, size > 1 && to[0] == '/' ? (size_t)size - 1 : 0 };
}

static enum err image_pack(const struct image_record *record, struct room *room, int fd)
{
    struct packer packer = emit_begin(room->data, room->size);
    record_pack_image(&packer, record);
    return emit_end_close(room->data, &packer, RECORD_KIND_image, fd);
}

/* fd: of the spool, or -errno; closed. */
static enum err image_emit(int argc, char **argv, const struct probe_auxv *auxv, const struct settings *settings, int fd)
{
    char texts[2 * PATH_MAX]; /* one behind the other: as a rule in one page of the stack */
    struct bytes path = exe_read(texts, argv, auxv);
    struct image_record record = {
        .pid = (uint64_t)probe.pid,
        .ppid = (uint64_t)sys0(SYS_getppid),
        .pgid = (uint64_t)sys1(SYS_getpgid, 0),
        .sid = (uint64_t)sys1(SYS_getsid, 0),
        .uid = auxv->uid,
        .start_ticks = probe.start_ticks,
        .time_ns = probe_now_ns(),
        .path = path,
        .cwd = cwd_read(texts + path.size),
        .args = args_block(argc, argv),
    };
    read_usage(&record.self, RUSAGE_SELF);
    read_usage(&record.children, RUSAGE_CHILDREN);

    size_t tags_size = args_tags_size(settings->tags, settings->tags_papiex);
    size_t copied_size = record.args.data ? 0 : args_size(argv);
    struct room room;
    if (!room_take(&room, EMIT_BOUND(2) + record.path.size + record.cwd.size + record.args.size + 2 * copied_size +
                              2 * tags_size)) {
        sys_close(fd);
        return NOMEM;
    }
    char *behind = (char *)room.data + room.size - tags_size; /* what the frame is packed from may stand behind it */
    record.tags = args_tags(settings->tags, settings->tags_papiex, behind);
    if (!record.args.data)
        record.args = args_copy(argv, behind - copied_size);
    enum err err = image_pack(&record, &room, fd);
    room_give(&room);
    return err;
}

static uint64_t number_of(const char *digits)
{
    uint64_t number = 0;
    for (; *digits >= '0' && *digits <= '9'; digits++)
        number = 10 * number + (uint64_t)(*digits - '0');
    return number;
}

static char *find_flag(const struct settings *settings, char flag)
{
    return settings->flags ? strchr(settings->flags, flag) : NULL;
}

/* In another pid namespace than sonde run, where that matters. To look below /proc for it took 15 us, so the spool itself
 * is asked first. */
static bool is_elsewhere(const struct settings *settings, int fd)
{
    const char *namespace = find_flag(settings, PROBE_FLAG_NAMESPACE), *holder = find_flag(settings, PROBE_FLAG_HOLDER);
    struct stat st;
    pid_t pid;
    if (!namespace)
        return false;
    if (holder && spool_holder(fd, &pid) == OK)
        return (uint64_t)pid != number_of(holder + 1);
    return sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &st, 0) == 0 && st.st_ino != number_of(namespace + 1);
}

/* What whoever executed this image has done for it. For once: what this process executes in turn past us must do it itself. */
static bool take_flag(const struct settings *settings, char flag)
{
    char *found = find_flag(settings, flag);
    if (!found)
        return false;
    *found = '\0';
    return number_of(found + 1) == (uint64_t)sys_getpid();
}

static void count_image(const struct settings *settings)
{
    perf_start(settings->events, settings->socket);
    if (!take_flag(settings, PROBE_FLAG_COUNTED))
        perf_open_image();
}

static void know_pages(const struct settings *settings)
{
    const char *folder = find_flag(settings, PROBE_FLAG_PAGES) ? settings->boards : NULL;
    if (folder && strlen(folder) < sizeof probe.pages)
        memcpy(probe.pages, folder, strlen(folder) + 1);
}

/* Once per process: what the flags and paths in the environment say. False: do nothing at all. */
static bool settings_apply(const struct settings *settings)
{
    size_t size = settings->spool ? strlen(settings->spool) + 1 : 0;
    if (size < 2 || size > sizeof probe.spool || settings->spool[0] != '/')
        return false;
    memcpy(probe.spool, settings->spool, size); /* a copy: programs write over their environment */
    know_pages(settings);
    probe.kernel_listens = find_flag(settings, PROBE_FLAG_KERNEL);
    probe.delays = find_flag(settings, PROBE_FLAG_DELAYS);
    probe.bell = find_flag(settings, PROBE_FLAG_BELL);
    probe.bound = find_flag(settings, PROBE_FLAG_NAMESPACE);
    probe.filtered = find_flag(settings, PROBE_FLAG_SECCOMP);
    return probe.filtered || sys1(SYS_prctl, PR_GET_SECCOMP) != SECCOMP_MODE_FILTER;
}

static void on_end(int status, void *nothing)
{
    (void)nothing;
    end_emit(status);
}

/* What the loader read to load us: the head of an ELF file, in one call. */
#define LOADER_READ 832

static void know_self(const struct probe_auxv *auxv)
{
    probe.pid = sys_getpid();
    probe.main_thread = probe_thread();
    probe.ticks_per_s = auxv->ticks_per_s;
    emit_own((struct probe_own){ .rchar = LOADER_READ, .syscr = 1 });
}

/* False: there is no spool for us. */
static bool tell_image(int argc, char **argv, const struct probe_auxv *auxv, const struct settings *settings)
{
    int fd = spool_append_open(probe.spool);
    if (is_elsewhere(settings, fd)) {
        sys_close(fd);
        return false;
    }
    know_self(auxv);
    struct read_stat stat;
    if (!probe.bound && read_stat(&stat, AT_FDCWD, "/proc/self/stat")) /* else the kernel has told when it was made */
        probe.start_ticks = stat.field[STAT_START];
    enum err err = image_emit(argc, argv, auxv, settings, fd);
    return err == OK || err == FULL || err == NOMEM || err == NOFILES;
}

static bool begin_image(int argc, char **argv, const struct probe_auxv *auxv, const struct settings *settings)
{
    if (!take_flag(settings, PROBE_FLAG_TOLD))
        return tell_image(argc, argv, auxv, settings);
    know_self(auxv);
    return true;
}

/* Other C libraries load us too (musl, in a container that has our folder and our environment), and tell constructors neither
 * arguments nor environment: then the wrapped calls go on to where they went, and that is all. */
static bool is_our_libc(void)
{
    return on_exit != NULL;
}

__attribute__((constructor)) static void process_start(int argc, char **argv, char **envp)
{
    probe.started = true;
    if (!is_our_libc() || next_is_far())
        next_find_first();
    if (!is_our_libc())
        return;
    struct settings settings = settings_read(envp);
    struct probe_auxv auxv = auxv_read(envp);
    probe.on = !auxv.is_secure && settings_apply(&settings) && begin_image(argc, argv, &auxv, &settings);
    if (probe.on) {
        dark_tell_self(&auxv);
        on_exit(on_end, NULL);
        if (settings.events)
            count_image(&settings);
    } else {
        next_find_first(); /* no fork will come by us */
    }
}
