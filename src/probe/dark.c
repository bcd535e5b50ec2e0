/* Will the program that is about to be executed carry the probe? Static ones, those with rights of another user and those
 * without our environment will not: what they execute in turn only sonde run can tell, from /proc, and only while it is
 * there. It sleeps otherwise, so it is told, through a FIFO beside the spool. Wrong guesses cost time, no numbers. */
#include "probe/probe.h"

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

/* The beginning of a file, and what it is. */
static bool head_read(struct head *head, const char *path, struct dark_cost *cost)
{
    int fd = sys_open(AT_FDCWD, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
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

static bool carries_environment(char *const *envp)
{
    bool has_library = false, has_spool = false;
    for (; envp && *envp; envp++) {
        if ((*envp)[0] == 'L' && strncmp(*envp, "LD_PRELOAD=", 11) == 0)
            has_library = strstr(*envp, "/libsonde-process.so");
        else if ((*envp)[0] == 'S' && strncmp(*envp, PROBE_ENV_SPOOL "=", sizeof PROBE_ENV_SPOOL) == 0)
            has_spool = strcmp(*envp + sizeof PROBE_ENV_SPOOL, probe.spool) == 0; /* else: of another sonde run */
    }
    return has_library && has_spool;
}

/* On its own, so that nobody has the head on the stack who does not need it. */
__attribute__((noinline)) static bool carries_probe(const char *path, struct dark_cost *cost)
{
    struct head head;
    for (int i = 0; i <= SCRIPTS_MAX; i++) {
        if (!head_read(&head, path, cost) || changes_user(&head.st))
            return false;
        if (is_elf(&head))
            return has_our_loader(&head);
        path = interpreter(&head);
        if (!path)
            return false;
    }
    return false;
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

/* Under a filter that came with sonde run nothing rare is called, and nobody looked at: it may kill. */
struct dark_cost dark_tell(pid_t pid, uint64_t time_ns, const char *path, char *const *envp)
{
    struct dark_cost cost = { 0 };
    if (!probe.bell)
        return cost;
    if (probe.filtered || !carries_environment(envp) || !carries_probe(path, &cost))
        ring(pid, time_ns, &cost);
    count_own(&cost);
    return cost;
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
    if (!probe_on() || !probe.bell)
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
