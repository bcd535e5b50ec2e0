/* Will the program that is about to be executed carry the probe? Static ones, those with rights of another user and those
 * without our environment will not: what they execute in turn only sonde run can tell, from /proc, and only while it is
 * there. It sleeps otherwise, so it is told, through a FIFO beside the spool. Wrong guesses cost time, no numbers. */
#include "probe/process/probe.h"

#include <elf.h>
#include <sys/stat.h>

#define HEAD_MAX 1024 /* holds the program headers and the loader's name of nearly all programs */
#define SCRIPTS_MAX 4 /* as many interpreters of interpreters as the kernel follows */

struct head {
    char bytes[HEAD_MAX];
    size_t size;
    struct stat st;
};

static long read_counted(int fd, struct head *head, struct dark_cost *cost)
{
    long got = sys4(SYS_pread64, fd, head->bytes, HEAD_MAX, 0);
    cost->rchar += got > 0 ? (size_t)got : 0;
    cost->syscr++;
    return got;
}

#define LOOK_FLAGS (O_RDONLY | O_NOCTTY | O_NONBLOCK)

/* The beginning of a file, and what it is. fd is closed. */
static bool head_read(struct head *head, int fd, struct dark_cost *cost)
{
    if (fd < 0)
        return false;
    bool is_file = sys4(SYS_newfstatat, fd, "", &head->st, AT_EMPTY_PATH) == 0 && S_ISREG(head->st.st_mode);
    bool has_rights = is_file && sys0(SYS_geteuid) != 0 && sys4(SYS_fgetxattr, fd, "security.capability", NULL, 0) > 0;
    long got = is_file && !has_rights ? read_counted(fd, head, cost) : -1;
    sys_close(fd);
    head->size = got > 0 ? (size_t)got : 0;
    return got > 0;
}

static bool changes_user(const struct stat *st)
{
    return (st->st_mode & S_ISUID && (long)st->st_uid != sys0(SYS_geteuid))
           || (st->st_mode & S_ISGID && (long)st->st_gid != sys0(SYS_getegid));
}

/* Programs of our kind name a loader of the C library that we are linked with: musl's, or that of 32 bits, cannot load us. */
static bool has_our_loader(const struct head *head)
{
    Elf64_Ehdr elf;
    memcpy(&elf, head->bytes, sizeof elf);
    for (size_t i = 0; i < elf.e_phnum; i++) {
        Elf64_Phdr part;
        size_t at = elf.e_phoff + i * sizeof part;
        if (at > head->size - sizeof part)
            return false;
        memcpy(&part, head->bytes + at, sizeof part);
        if (part.p_type != PT_INTERP)
            continue;
        return part.p_offset < head->size && part.p_filesz <= head->size - part.p_offset
               && memmem(head->bytes + part.p_offset, part.p_filesz, "/ld-linux", 9);
    }
    return false;
}

static bool is_elf(const struct head *head)
{
    return head->size >= sizeof(Elf64_Ehdr) && memcmp(head->bytes, ELFMAG, SELFMAG) == 0
           && head->bytes[EI_CLASS] == ELFCLASS64;
}

/* The interpreter of a script, in its place at the beginning of the file. NULL: it is none. */
static const char *interpreter(struct head *head)
{
    char *at = head->bytes + 2, *end = head->bytes + head->size;
    if (head->size < 4 || head->bytes[0] != '#' || head->bytes[1] != '!')
        return NULL;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    char *name = at;
    while (at < end && *at != ' ' && *at != '\t' && *at != '\n' && *at)
        at++;
    if (at == end || at == name)
        return NULL;
    *at = '\0';
    return name;
}

/* Most of an environment begins with another letter. */
struct dark_environment dark_environment(char *const *envp)
{
    struct dark_environment all = { .tags = "", .tags_papiex = "" };
    char *const *flags = NULL;
    bool has_library = false, has_spool = false;
    for (const char *text, *value; envp && (text = envp[all.count]); all.count++) {
        if (text[0] == 'L' && (value = PROBE_VALUE(text, "LD_PRELOAD"))) {
            has_library = strstr(value, "/libsonde-process.so");
        } else if (text[0] == 'P' && (value = PROBE_VALUE(text, PROBE_TAGS_PAPIEX))) {
            all.tags_papiex = value;
        } else if (text[0] == 'S' && (value = PROBE_VALUE(text, PROBE_ENV_SPOOL))) {
            has_spool = strcmp(value, probe.spool) == 0; /* else: of another sonde run */
        } else if (text[0] == 'S' && (value = PROBE_VALUE(text, PROBE_TAGS))) {
            all.tags = value;
        } else if (strncmp(text, PROBE_ENV_FLAGS "=", sizeof PROBE_ENV_FLAGS) == 0) {
            flags = &envp[all.count];
        }
    }
    all.flags_at = flags ? (size_t)(flags - envp) : all.count;
    all.is_ours = has_library && has_spool;
    return all;
}

/* A script is what its interpreter is. */
static bool is_script_ours(struct head *head, struct dark_cost *cost)
{
    for (int i = 0; i < SCRIPTS_MAX; i++) {
        const char *path = interpreter(head);
        if (!path || !head_read(head, sys_open(AT_FDCWD, path, LOOK_FLAGS), cost) || changes_user(&head->st))
            return false;
        if (is_elf(head))
            return has_our_loader(head);
    }
    return false;
}

/* Every user may execute it; or else ask. */
static bool is_for_all(const struct stat *st)
{
    return S_ISREG(st->st_mode) && (st->st_mode & 0111) == 0111;
}

static bool is_missing(long fd)
{
    return fd == -ENOENT || fd == -ENOTDIR;
}

/* Free of links where the path allows it: the same look then tells the name of the file itself. */
static int open_to_look(const char *path, char real[ARGS_PATH_MAX], bool *is_real)
{
    size_t size = strlen(path) + 1;
    long fd = -ELOOP;
    if (size <= ARGS_PATH_MAX) {
        memcpy(real, path, size);
        fd = exe_open(real, LOOK_FLAGS);
    }
    *is_real = fd >= 0;
    return fd >= 0 || is_missing(fd) ? (int)fd : sys_open(AT_FDCWD, path, LOOK_FLAGS);
}

/* On its own, so that nobody has the head on the stack who does not need it. */
__attribute__((noinline)) struct dark_file dark_see(const char *path, char real[ARGS_PATH_MAX])
{
    struct dark_file file = { 0 };
    struct head head;
    int fd = open_to_look(path, real, &file.is_real);
    if (is_missing(fd))
        return file;
    bool is_known = head_read(&head, fd, &file.cost);
    file.can_run = (is_known && is_for_all(&head.st)) || args_executable(path);
    file.is_real = file.is_real && is_known && is_elf(&head);
    if (is_known && !changes_user(&head.st))
        file.is_ours = is_elf(&head) ? has_our_loader(&head) : is_script_ours(&head, &file.cost);
    return file;
}

__attribute__((noinline)) static void ring(pid_t pid, uint64_t time_ns, struct dark_cost *cost)
{
    char path[PROBE_SPOOL_MAX + sizeof SPOOL_BELL_SUFFIX];
    size_t size = strlen(probe.spool);
    memcpy(path, probe.spool, size);
    memcpy(path + size, SPOOL_BELL_SUFFIX, sizeof SPOOL_BELL_SUFFIX);
    /* For reading too: then there is a reader, and no SIGPIPE when sonde run has just died. */
    int fd = sys_open(AT_FDCWD, path, O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return;
    struct probe_ring ring = { .time_ns = time_ns, .pid = (unsigned)pid };
    long written = sys3(SYS_write, fd, &ring, sizeof ring);
    cost->wchar += written > 0 ? (size_t)written : 0;
    cost->syscw++;
    sys_close(fd);
}

static void count_own(const struct dark_cost *cost)
{
    if (probe_mine())
        emit_own((struct probe_own){ cost->rchar, cost->syscr, cost->wchar, cost->syscw });
}

void dark_tell(pid_t pid, uint64_t time_ns, const struct dark_environment *environment, struct dark_file *file)
{
    if (probe.bell && !(environment->is_ours && file->is_ours))
        ring(pid, time_ns, &file->cost);
    count_own(&file->cost);
}

static size_t padded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

/* Go marks its programs with a note. */
static bool is_note_of_go(const char *note, size_t size)
{
    Elf64_Nhdr head;
    while (size >= sizeof head) {
        memcpy(&head, note, sizeof head);
        size_t whole = sizeof head + padded(head.n_namesz) + padded(head.n_descsz);
        if (whole > size)
            return false;
        if (head.n_namesz == 4 && memcmp(note + sizeof head, "Go\0\0", 4) == 0)
            return true;
        note += whole;
        size -= whole;
    }
    return false;
}

/* Notes that are not loaded stand in the file only. */
static bool is_loaded(const Elf64_Phdr *parts, size_t count, const Elf64_Phdr *note)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i].p_type == PT_LOAD && parts[i].p_flags & PF_R && note->p_vaddr >= parts[i].p_vaddr
            && note->p_vaddr + note->p_filesz <= parts[i].p_vaddr + parts[i].p_filesz)
            return true;
    return false;
}

static bool is_go(const struct probe_auxv *auxv)
{
    const Elf64_Phdr *parts = auxv->parts;
    size_t count = parts ? auxv->part_count : 0;
    const Elf64_Phdr *own = NULL; /* the headers tell where they stand themselves, before all others */
    for (size_t i = 0; i < count; i++) {
        if (parts[i].p_type == PT_PHDR)
            own = &parts[i];
        else if (parts[i].p_type == PT_NOTE && own && is_loaded(parts, count, &parts[i])
                 && is_note_of_go((const char *)parts + (parts[i].p_vaddr - own->p_vaddr), parts[i].p_filesz))
            return true;
    }
    return false;
}

void dark_tell_leaving(void)
{
    struct dark_cost cost = { 0 };
    if (!probe_on())
        return;
    held_write();
    if (!probe.bell)
        return;
    ring(sys_getpid(), probe_now_ns(), &cost);
    count_own(&cost);
}

/* Programs in Go that libc is in, too, execute others by system calls of their own, which no wrapped exec sees. The bell
 * rings after the image was told of, so that this is no answer to it. */
void dark_tell_self(const struct probe_auxv *auxv)
{
    struct dark_cost cost = { 0 };
    if (!probe.bell || !is_go(auxv))
        return;
    ring(probe.pid, probe_now_ns(), &cost);
    count_own(&cost);
}
