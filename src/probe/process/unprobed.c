/* Will the program about to be executed load the probe? Static executables, set-uid programs and programs without
 * our environment will not. Only sonde run can record what those execute in turn: from /proc, while it exists. sonde
 * run sleeps otherwise, so we write a notice to a FIFO next to the spool (src/run/unprobed.h has the other half). A
 * wrong guess costs time, but loses no data. */
#include "probe/process/probe.h"

#include <elf.h>
#include <sys/stat.h>

#define HEAD_MAX 1024 /* enough for the program headers and PT_INTERP of nearly all executables */
#define SCRIPTS_MAX 4 /* the kernel's limit of nested interpreters */

struct exec_head {
    char bytes[HEAD_MAX];
    size_t size;
    struct stat st;
};

static long read_counted(int fd, struct exec_head *head, struct probe_cost *cost)
{
    long got = sys4(SYS_pread64, fd, head->bytes, HEAD_MAX, 0);
    cost->rchar += got > 0 ? (size_t)got : 0;
    cost->syscr++;
    return got;
}

#define CHECK_FLAGS (O_RDONLY | O_NOCTTY | O_NONBLOCK)

/* Reads the start of a file and its status. Closes fd. */
static bool head_read(struct exec_head *head, int fd, struct probe_cost *cost)
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

/* The program must name a loader of the C library we are linked with: musl and 32-bit loaders cannot load the probe. */
static bool has_our_loader(const struct exec_head *head)
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

static bool is_elf(const struct exec_head *head)
{
    return head->size >= sizeof(Elf64_Ehdr) && memcmp(head->bytes, ELFMAG, SELFMAG) == 0
           && head->bytes[EI_CLASS] == ELFCLASS64;
}

/* The interpreter of a script, NUL-terminated in place. NULL: not a script. */
static const char *interpreter(struct exec_head *head)
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

/* Compares the first letter first, since most variables differ there. */
struct exec_environment unprobed_scan_environment(char *const *envp)
{
    struct exec_environment all = { .tags = "", .tags_papiex = "" };
    char *const *flags = NULL;
    bool has_library = false, has_spool = false;
    for (const char *text, *value; envp && (text = envp[all.count]); all.count++) {
        if (text[0] == 'L' && (value = PROBE_ENV_VALUE(text, "LD_PRELOAD"))) {
            has_library = strstr(value, "/libsonde-process.so");
        } else if (text[0] == 'P' && (value = PROBE_ENV_VALUE(text, PROBE_TAGS_PAPIEX))) {
            all.tags_papiex = value;
        } else if (text[0] == 'S' && (value = PROBE_ENV_VALUE(text, PROBE_ENV_SPOOL))) {
            has_spool = strcmp(value, probe.spool) == 0; /* else it belongs to another sonde run */
        } else if (text[0] == 'S' && (value = PROBE_ENV_VALUE(text, PROBE_TAGS))) {
            all.tags = value;
        } else if (strncmp(text, PROBE_ENV_FLAGS "=", sizeof PROBE_ENV_FLAGS) == 0) {
            flags = &envp[all.count];
        }
    }
    all.flags_at = flags ? (size_t)(flags - envp) : all.count;
    all.is_ours = has_library && has_spool;
    return all;
}

/* A script loads the probe if its interpreter does. */
static bool is_script_ours(struct exec_head *head, struct probe_cost *cost)
{
    for (int i = 0; i < SCRIPTS_MAX; i++) {
        const char *path = interpreter(head);
        if (!path || !head_read(head, sys_open(AT_FDCWD, path, CHECK_FLAGS), cost) || changes_user(&head->st))
            return false;
        if (is_elf(head))
            return has_our_loader(head);
    }
    return false;
}

/* Executable for everybody; if not, ask with access(). */
static bool is_executable_by_all(const struct stat *st)
{
    return S_ISREG(st->st_mode) && (st->st_mode & 0111) == 0111;
}

static bool is_missing(long fd)
{
    return fd == -ENOENT || fd == -ENOTDIR;
}

/* Without symbolic links where possible: then the same open also gives the path of the executable. */
static int open_for_check(const char *path, char real[ARGS_PATH_MAX], bool *is_real)
{
    size_t size = strlen(path) + 1;
    long fd = -ELOOP;
    if (size <= ARGS_PATH_MAX) {
        memcpy(real, path, size);
        fd = exe_open(real, CHECK_FLAGS);
    }
    *is_real = fd >= 0;
    return fd >= 0 || is_missing(fd) ? (int)fd : sys_open(AT_FDCWD, path, CHECK_FLAGS);
}

/* A function of its own, so that only its callers pay for the buffer on the stack. */
__attribute__((noinline)) struct exec_file unprobed_check_file(const char *path, char real[ARGS_PATH_MAX])
{
    struct exec_file file = { 0 };
    struct exec_head head;
    int fd = open_for_check(path, real, &file.is_real);
    if (is_missing(fd))
        return file;
    bool is_known = head_read(&head, fd, &file.cost);
    file.can_run = (is_known && is_executable_by_all(&head.st)) || args_executable(path);
    file.is_real = file.is_real && is_known && is_elf(&head);
    if (is_known && !changes_user(&head.st))
        file.is_ours = is_elf(&head) ? has_our_loader(&head) : is_script_ours(&head, &file.cost);
    return file;
}

__attribute__((noinline)) static void send_notice(pid_t pid, uint64_t time_ns, struct probe_cost *cost)
{
    char path[PROBE_SPOOL_MAX + sizeof SPOOL_NOTICES_SUFFIX];
    size_t size = strlen(probe.spool);
    memcpy(path, probe.spool, size);
    memcpy(path + size, SPOOL_NOTICES_SUFFIX, sizeof SPOOL_NOTICES_SUFFIX);
    /* O_RDWR, so that there is always a reader and no SIGPIPE if sonde run has just died. */
    int fd = sys_open(AT_FDCWD, path, O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return;
    struct probe_notice notice = { .time_ns = time_ns, .pid = (unsigned)pid };
    long written = sys3(SYS_write, fd, &notice, sizeof notice);
    cost->wchar += written > 0 ? (size_t)written : 0;
    cost->syscw++;
    sys_close(fd);
}

static void add_overhead(const struct probe_cost *cost)
{
    if (probe_is_own_process())
        emit_add_overhead((struct probe_overhead){ cost->rchar, cost->syscr, cost->wchar, cost->syscw });
}

void unprobed_notify(pid_t pid, uint64_t time_ns, const struct exec_environment *environment, struct exec_file *file)
{
    if (probe.has_notices && !(environment->is_ours && file->is_ours))
        send_notice(pid, time_ns, &file->cost);
    add_overhead(&file->cost);
}

static size_t padded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

/* Go puts an ELF note into its executables. */
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

/* Notes outside of PT_LOAD segments exist only in the file. */
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
    const Elf64_Phdr *own = NULL; /* PT_PHDR comes before all others */
    for (size_t i = 0; i < count; i++) {
        if (parts[i].p_type == PT_PHDR)
            own = &parts[i];
        else if (parts[i].p_type == PT_NOTE && own && is_loaded(parts, count, &parts[i])
                 && is_note_of_go((const char *)parts + (parts[i].p_vaddr - own->p_vaddr), parts[i].p_filesz))
            return true;
    }
    return false;
}

void unprobed_notify_leaving(void)
{
    struct probe_cost cost = { 0 };
    if (!probe_is_active())
        return;
    record_batch_flush();
    if (!probe.has_notices)
        return;
    send_notice(sys_getpid(), probe_now_ns(), &cost);
    add_overhead(&cost);
}

/* Go programs linked with libc execute others by raw system calls, which bypass our exec wrappers. The notice is
 * sent after the image record, so that the record does not cancel it. */
void unprobed_notify_self(const struct probe_auxv *auxv)
{
    struct probe_cost cost = { 0 };
    if (!probe.has_notices || !is_go(auxv))
        return;
    send_notice(probe.pid, probe_now_ns(), &cost);
    add_overhead(&cost);
}
