/* The part of sample-bpf.so that runs in the kernel: at each return from a system call it finds the job of the thread
 * by its tid and adds to the job's row of this CPU. It follows fork, exec and exit, so that a job's counts are those of
 * all its processes and threads.
 *
 * Compiled by clang for BPF and embedded in the module. The few fields of kernel structures that it reads are declared
 * here and relocated on each kernel by its own type information (CO-RE). System call tracepoints run with preemption
 * off, so plain additions to a row of this CPU are exact. */
#include "syscalls/ebpf_layout.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct super_block {
    unsigned long s_magic;
} KERNEL_TYPE;

struct inode {
    unsigned short i_mode;
    struct super_block *i_sb;
} KERNEL_TYPE;

struct file {
    struct inode *f_inode;
} KERNEL_TYPE;

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
} KERNEL_TYPE;

struct files_struct {
    struct fdtable *fdt;
} KERNEL_TYPE;

/* Any structure that begins with a pointer to a file: an element of a file table is read as one. */
struct kiocb {
    struct file *ki_filp;
} KERNEL_TYPE;

struct thread_info {
    unsigned long flags;
    unsigned int status;
} KERNEL_TYPE;

struct rq {
    int cpu;
    struct task_struct *curr;
} KERNEL_TYPE;

struct cfs_rq {
    struct rq *rq;
} KERNEL_TYPE;

struct sched_entity {
    struct cfs_rq *cfs_rq;
} KERNEL_TYPE;

struct task_struct {
    struct thread_info thread_info;
    struct sched_entity se;
    int pid;
    struct files_struct *files;
} KERNEL_TYPE;

struct kernfs_node {
    uint64_t id;
} KERNEL_TYPE;

struct cgroup_root {
    int hierarchy_id;
} KERNEL_TYPE;

struct cgroup;

struct cgroup_subsys_state {
    struct cgroup *cgroup;
    struct cgroup_subsys_state *parent;
} KERNEL_TYPE;

struct cgroup {
    struct cgroup_subsys_state self;
    struct kernfs_node *kn;
    struct cgroup_root *root;
} KERNEL_TYPE;

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
    unsigned long bx, di, orig_ax;
} KERNEL_TYPE;
#define NUMBER(regs) ((regs)->orig_ax)
#define IS_32_BIT(task) ((task)->thread_info.status & 2) /* TS_COMPAT */
#define FIRST_ARGUMENT(task, regs) (IS_32_BIT(task) ? (regs)->bx : (regs)->di)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
    unsigned long orig_x0;
    int syscallno;
} KERNEL_TYPE;
#define NUMBER(regs) ((unsigned long)(long)(regs)->syscallno)
#define IS_32_BIT(task) ((task)->thread_info.flags >> 22 & 1) /* TIF_32BIT */
#define FIRST_ARGUMENT(task, regs) ((regs)->orig_x0)
#endif

#define ERRORS_FROM (-4095L)
#define NO_SUCH_CALL (-38L) /* -ENOSYS */
#define LEVELS 16     /* cgroup levels that are searched */
#define GENERATIONS 4 /* places in the file system table that are tried */
#define QUEUES 1024   /* CPUs whose run queue is cached */

/* Set before loading. */
const volatile uint8_t results[EBPF_CALLS];      /* EBPF_RESULT_… */
const volatile uint16_t numbers_32[EBPF_CALLS];  /* number of a call of a 32-bit program */
const volatile uint16_t lost_number = EBPF_CALL_OTHER;  /* number of a call whose own number is lost when it returns */
const volatile uint16_t exit_numbers[2];               /* calls that never return */
const volatile uint16_t fork_numbers[EBPF_FORK_CALLS]; /* calls that return twice */
const volatile uint8_t can_cast;                       /* the kernel has bpf_rdonly_cast */
const volatile uint8_t may_time;                       /* else no job has times, and there are no clocks */

/* Shared with user space. */
uint8_t wanted[EBPF_JOBS_MAX]; /* EBPF_JOB_… */
uint64_t systems[EBPF_FILE_SYSTEMS]; /* magic numbers of the file systems encountered; 0: free */

/* Private: the address of each CPU's run queue; 0: unknown. */
uint64_t queues[QUEUES];

extern void *bpf_rdonly_cast(const void *object, uint32_t type) __ksym __weak;

/* The owner of each tid. The module sets the size: one element per EBPF_OWNERS_PER_ELEMENT tids. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(uint32_t));
    __uint(value_size, sizeof(struct ebpf_owners));
    __uint(max_entries, 1);
} owners SEC(".maps");

/* Maps of arrays, which the module creates on demand. For each job, one struct ebpf_block per CPU. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, EBPF_JOBS_MAX);
    __type(key, uint32_t);
    __type(value, uint32_t);
} blocks SEC(".maps");

/* For each job with times, one struct ebpf_time_block per CPU. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, EBPF_JOBS_MAX);
    __type(key, uint32_t);
    __type(value, uint32_t);
} times SEC(".maps");

/* While a job wants times: 64 bits per tid, the start of its call; 0: unknown. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, uint32_t);
} clocks SEC(".maps");

/* The job number, by struct ebpf_cgroup. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, EBPF_CGROUPS_MAX);
    __uint(key_size, sizeof(struct ebpf_cgroup));
    __uint(value_size, sizeof(uint16_t));
} groups SEC(".maps");

static __always_inline struct rq *queue_at(uint64_t address)
{
    return bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct rq));
}

/* The current task, from the run queue of this CPU; the first call on a CPU finds the queue. The kernel's helper is a
 * function call, which is half the cost of a program here where returns are protected against speculation. Both results
 * are cast: some kernels reject an instruction that is reached with both trusted and untrusted pointers. */
static __always_inline struct task_struct *current(void)
{
    if (!can_cast)
        return (void *)bpf_get_current_task_btf();
    uint32_t cpu = bpf_get_smp_processor_id();
    bool has_place = bpf_core_field_exists(struct cfs_rq, rq) && cpu < QUEUES;
    if (has_place && queues[cpu])
        return queue_at(queues[cpu])->curr;
    struct task_struct *task = bpf_rdonly_cast(bpf_get_current_task_btf(), bpf_core_type_id_kernel(struct task_struct));
    if (has_place) {
        struct rq *queue = task->se.cfs_rq->rq;
        if ((uint32_t)queue->cpu == cpu && queue->curr == task)
            queues[cpu] = (uint64_t)queue;
    }
    return task;
}

static __always_inline uint16_t *owner_of(uint32_t pid)
{
    uint32_t key = pid / EBPF_OWNERS_PER_ELEMENT;
    struct ebpf_owners *element = bpf_map_lookup_elem(&owners, &key);
    return element ? &element->of[pid % EBPF_OWNERS_PER_ELEMENT] : NULL;
}

static __always_inline uint64_t *clock_of(uint32_t pid)
{
    uint32_t zero = 0;
    void *map = may_time ? bpf_map_lookup_elem(&clocks, &zero) : NULL;
    return map ? bpf_map_lookup_elem(map, &pid) : NULL;
}

static __always_inline struct ebpf_row *row_of(uint32_t job, uint32_t row)
{
    uint32_t cpu = bpf_get_smp_processor_id();
    void *map = bpf_map_lookup_elem(&blocks, &job);
    struct ebpf_block *block = map ? bpf_map_lookup_elem(map, &cpu) : NULL;
    return block && row < EBPF_ROWS ? &block->rows[row] : NULL;
}

static __always_inline uint8_t wanted_of(uint32_t job)
{
    return wanted[job % EBPF_JOBS_MAX];
}

/* The place of a file system in the table; a new one takes a free place. */
static __always_inline uint32_t class_of_system(uint64_t magic)
{
    if (!magic)
        return EBPF_CLASS_REGULAR;
    uint32_t at = (uint32_t)(magic ^ magic >> 8 ^ magic >> 16);
#pragma unroll
    for (int i = 0; i < GENERATIONS; i++) {
        uint32_t place = (at + i) % EBPF_FILE_SYSTEMS;
        uint64_t found = systems[place];
        if (!found)
            found = __sync_val_compare_and_swap(&systems[place], 0, magic);
        if (!found || found == magic)
            return EBPF_CLASS_FILE_SYSTEM + place;
    }
    return EBPF_CLASS_REGULAR;
}

static __always_inline uint32_t type_of(uint16_t mode)
{
    return mode >> 12;
}

/* For kernels without bpf_rdonly_cast: each step is a helper call. */
static __always_inline struct inode *inode_slowly(struct file **element)
{
    struct file *file = NULL;
    bpf_core_read(&file, sizeof file, element);
    return file ? BPF_CORE_READ(file, f_inode) : NULL;
}

/* EBPF_CLASSES: the descriptor does not exist (any more). */
static __always_inline uint32_t class_of(struct task_struct *task, uint32_t fd)
{
    struct files_struct *files = task->files;
    struct fdtable *table = files ? files->fdt : NULL;
    if (!table || fd >= table->max_fds)
        return EBPF_CLASSES;
    struct file **element = table->fd + fd;
    if (!can_cast) {
        struct inode *inode = inode_slowly(element);
        uint32_t type = inode ? type_of(BPF_CORE_READ(inode, i_mode)) : EBPF_CLASSES;
        return type == EBPF_CLASS_REGULAR ? class_of_system(BPF_CORE_READ(inode, i_sb, s_magic)) : type;
    }
    struct kiocb *holder = bpf_rdonly_cast(element, bpf_core_type_id_kernel(struct kiocb));
    struct file *file = holder->ki_filp;
    struct inode *inode = file ? file->f_inode : NULL;
    if (!inode)
        return EBPF_CLASSES;
    uint32_t type = type_of(inode->i_mode);
    return type == EBPF_CLASS_REGULAR ? class_of_system(inode->i_sb->s_magic) : type;
}

/* Bucket 0, 1, …: less than 2^8 ns, less than 2^9 ns, … */
static __always_inline uint32_t bucket_of(uint64_t time_ns)
{
    uint32_t bits = 0;
    uint64_t rest = time_ns >> EBPF_BUCKET_FIRST;
    if (rest >> (EBPF_BUCKETS - 1))
        return EBPF_BUCKETS - 1;
    if (rest >> 16) {
        rest >>= 16;
        bits = 16;
    }
#pragma unroll
    for (uint32_t step = 8; step; step /= 2)
        if (rest >> step) {
            rest >>= step;
            bits += step;
        }
    return bits + (uint32_t)rest;
}

static __always_inline void add_result(struct ebpf_row *row, uint8_t result, long value)
{
    row->calls++;
    if (value < 0 && value >= ERRORS_FROM)
        row->errors++;
    else if (result)
        row->bytes += (uint64_t)value;
}

/* 0: unknown. */
static __always_inline uint64_t take_time(uint32_t pid)
{
    uint64_t *clock = clock_of(pid);
    if (!clock || !*clock)
        return 0;
    uint64_t time_ns = bpf_ktime_get_ns() - *clock;
    *clock = 0;
    return time_ns;
}

static __always_inline void add_timed(uint32_t job, uint32_t number, uint32_t row, uint64_t time_ns, uint8_t result,
                                      long value)
{
    uint32_t cpu = bpf_get_smp_processor_id();
    void *map = bpf_map_lookup_elem(&times, &job);
    struct ebpf_time_block *block = map ? bpf_map_lookup_elem(map, &cpu) : NULL;
    uint32_t bucket = bucket_of(time_ns);
    if (!block || row >= EBPF_ROWS || number >= EBPF_CALLS || bucket >= EBPF_BUCKETS)
        return;
    add_result(&block->rows[row], result, value);
    block->rows[row].time_ns += time_ns;
    block->times[number].count[bucket]++;
}

/* A program may call number -1, which is no call either. */
static __always_inline uint32_t number_of(struct task_struct *task, struct pt_regs *regs, long value)
{
    uint64_t number = NUMBER(regs);
    if (number >= EBPF_CALLS)
        return number == (uint64_t)-1 && value != NO_SUCH_CALL ? lost_number : EBPF_CALL_OTHER;
    return IS_32_BIT(task) ? numbers_32[number] : (uint32_t)number;
}

static __always_inline uint32_t row_number(struct task_struct *task, struct pt_regs *regs, uint32_t number,
                                           uint8_t result)
{
    if (result < EBPF_RESULT_BYTES_BY_CLASS)
        return number;
    uint32_t class = class_of(task, (uint32_t)FIRST_ARGUMENT(task, regs));
    return class >= EBPF_CLASSES ? number : EBPF_CALLS + (uint32_t)(result - EBPF_RESULT_BYTES_BY_CLASS) * EBPF_CLASSES + class;
}

static __always_inline bool is_birth(uint32_t number)
{
    for (int i = 0; i < EBPF_FORK_CALLS; i++)
        if (number == fork_numbers[i])
            return true;
    return false;
}

/* False: do not count this return. */
static __always_inline bool settle(uint16_t *owner, uint32_t number, long result)
{
    uint16_t was = *owner;
    if (was & EBPF_OWNER_AT_EXEC)
        return false;
    *owner = was & EBPF_OWNER_JOB;
    return result != 0 || !is_birth(number); /* the return of fork in the child is not a call of its own */
}

SEC("tp_btf/sys_exit")
int BPF_PROG(returned, struct pt_regs *regs, long value)
{
    struct task_struct *task = current();
    uint32_t pid = (uint32_t)task->pid;
    uint16_t *owner = owner_of(pid);
    if (!owner || !*owner)
        return 0;
    if (*owner & ~EBPF_OWNER_JOB && !settle(owner, number_of(task, regs, value), value))
        return 0;
    /* First, so that the following work is not included. */
    uint64_t time_ns = take_time(pid);
    uint32_t job = *owner & EBPF_OWNER_JOB, number = number_of(task, regs, value);
    if (number >= EBPF_CALLS)
        return 0;
    uint8_t result = results[number];
    uint32_t at = row_number(task, regs, number, result);
    if (time_ns) {
        add_timed(job, number, at, time_ns, result, value);
        return 0;
    }
    struct ebpf_row *row = row_of(job, at);
    if (row)
        add_result(row, result, value);
    return 0;
}

/* Attached while a job wants times. */
SEC("tp_btf/sys_enter")
int BPF_PROG(entered)
{
    struct task_struct *task = current();
    uint32_t pid = (uint32_t)task->pid;
    uint16_t *owner = owner_of(pid);
    if (!owner || !*owner || !(wanted_of(*owner & EBPF_OWNER_JOB) & EBPF_JOB_TIMED))
        return 0;
    uint64_t *clock = clock_of(pid);
    if (clock)
        *clock = bpf_ktime_get_ns();
    return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
    uint16_t *from = owner_of((uint32_t)parent->pid), *to = owner_of((uint32_t)child->pid);
    if (!from || !to || !*from || !(wanted_of(*from & EBPF_OWNER_JOB) & EBPF_JOB_ACTIVE))
        return 0;
    *to = (*from & (EBPF_OWNER_JOB | EBPF_OWNER_AT_EXEC)) | EBPF_OWNER_NEW;
    return 0;
}

/* A thread that calls exec takes over the tid of the first thread, which has exited before. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(became, struct task_struct *task, int old_pid)
{
    uint32_t pid = (uint32_t)task->pid, old = (uint32_t)old_pid;
    uint16_t *from = owner_of(old), *to = owner_of(pid);
    if (!from || !to || !*from)
        return 0;
    uint16_t job = *from & EBPF_OWNER_JOB;
    uint64_t *began = clock_of(old), *clock = clock_of(pid);
    if (pid != old) {
        *from = 0;
        if (began && clock) {
            *clock = *began;
            *began = 0;
        }
    }
    *to = job;
    return 0;
}

static __always_inline void count_exit(struct task_struct *task, uint32_t job)
{
    struct pt_regs *regs = (void *)bpf_task_pt_regs((void *)task);
    uint32_t number = number_of(task, regs, 0);
    if (number != exit_numbers[0] && number != exit_numbers[1])
        return;
    struct ebpf_row *row = row_of(job, number);
    if (row)
        row->calls++;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ended, struct task_struct *task)
{
    uint32_t pid = (uint32_t)task->pid;
    uint16_t *owner = owner_of(pid);
    if (!owner || !*owner)
        return 0;
    uint64_t *clock = clock_of(pid);
    if (clock)
        *clock = 0;
    if (!(*owner & EBPF_OWNER_AT_EXEC))
        count_exit(task, *owner & EBPF_OWNER_JOB);
    *owner = 0;
    return 0;
}

/* A task was moved to a cgroup: does it, or a parent, belong to a job? */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(joined, struct cgroup *group, const char *path, struct task_struct *task)
{
    uint16_t *owner = owner_of((uint32_t)task->pid), *job = NULL;
    struct ebpf_cgroup key = { .hierarchy = (uint64_t)(int64_t)group->root->hierarchy_id };
    if (!owner || *owner)
        return 0;
    for (int level = 0; level < LEVELS && !job; level++) {
        key.id = group->kn->id;
        job = bpf_map_lookup_elem(&groups, &key);
        if (!group->self.parent)
            break;
        group = group->self.parent->cgroup;
    }
    if (job && wanted_of(*job) & EBPF_JOB_ACTIVE)
        *owner = *job | EBPF_OWNER_NEW;
    return 0;
}

/* The kernel offers the current task only to GPL-compatible programs: this file is Apache-2.0, as all of Sonde, or
 * GPL-2.0, at your choice. */
char terms[] SEC("license") = "GPL";
