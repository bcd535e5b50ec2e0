/* Preloaded into user-mode-linux, which has room for the registers up to those of AVX-512. Where the processor has larger ones
 * (AMX), the kernel takes back all of them or none, and user-mode-linux panics: here it gets and gives those that it knows, and
 * the others, which no program in it uses, are as at the start. */
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define USED_AT 512 /* a word that says of which parts there is more than their start */
#define PARTS_KNOWN 0x2ffull /* x87, SSE, AVX, MPX, AVX-512, PKRU */

typedef long ptrace_function(enum __ptrace_request request, ...);

static _Alignas(64) char all[1 << 16]; /* not on the stack, which is small there; one at a time uses it */
static size_t all_size;                /* as the kernel told; 0: not yet */

static long get(ptrace_function *real, int pid, struct iovec *known)
{
    struct iovec whole = { all, sizeof all };
    long result = real(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &whole);
    if (result)
        return result;
    all_size = whole.iov_len;
    known->iov_len = known->iov_len < all_size ? known->iov_len : all_size;
    memcpy(known->iov_base, all, known->iov_len);
    return 0;
}

static long set(ptrace_function *real, int pid, const struct iovec *known)
{
    struct iovec whole = { all, all_size };
    uint64_t used;
    memcpy(all, known->iov_base, known->iov_len);
    memset(all + known->iov_len, 0, all_size - known->iov_len);
    memcpy(&used, all + USED_AT, sizeof used);
    used &= PARTS_KNOWN;
    memcpy(all + USED_AT, &used, sizeof used);
    return real(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &whole);
}

__attribute__((visibility("default"))) long ptrace(enum __ptrace_request request, ...)
{
    static ptrace_function *real;
    va_list rest;
    va_start(rest, request);
    int pid = va_arg(rest, int);
    void *address = va_arg(rest, void *), *data = va_arg(rest, void *);
    va_end(rest);
    if (!real)
        real = (ptrace_function *)dlsym(RTLD_NEXT, "ptrace");
    struct iovec *known = data;
    if (address == (void *)NT_X86_XSTATE && request == PTRACE_GETREGSET)
        return get(real, pid, known);
    if (address == (void *)NT_X86_XSTATE && request == PTRACE_SETREGSET && known->iov_len < all_size)
        return set(real, pid, known);
    return real(request, pid, address, data);
}
