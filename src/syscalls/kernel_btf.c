/* The header locates the string section: NUL-terminated strings, the first of which is empty. */
#include "syscalls/kernel_btf.h"

#include "base/file.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BTF_SIZE_MAX (256u << 20)

/* Before Linux 6.16 it cannot be mapped. */
static enum err read_btf(struct kernel_btf *types, int fd)
{
    types->all = malloc(types->size + 1);
    return types->all ? file_read_fd(fd, types->all, types->size + 1, &types->size) : NOMEM;
}

static enum err load_btf(struct kernel_btf *types, int fd)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return err_from_errno(errno);
    if (facts.st_size < (off_t)sizeof(struct btf_header) || facts.st_size > (off_t)BTF_SIZE_MAX)
        return CORRUPT;
    types->size = (size_t)facts.st_size;
    void *mapped = mmap(NULL, types->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED)
        return read_btf(types, fd);
    types->all = mapped;
    types->is_mapped = true;
    return OK;
}

enum err kernel_btf_open(struct kernel_btf *types, const char *root)
{
    int fd;
    *types = (struct kernel_btf){ 0 };
    enum err err = file_open(root, KERNEL_BTF, &fd);
    if (err)
        return err;
    err = load_btf(types, fd);
    close(fd);
    if (err)
        kernel_btf_close(types);
    return err;
}

void kernel_btf_close(struct kernel_btf *types)
{
    if (types->is_mapped)
        munmap(types->all, types->size);
    else
        free(types->all);
    *types = (struct kernel_btf){ 0 };
}

bool kernel_btf_has(const struct kernel_btf *types, const char *name)
{
    struct btf_header header;
    size_t length = strlen(name) + 1;
    if (types->size < sizeof header)
        return false;
    memcpy(&header, types->all, sizeof header);
    uint64_t begin = (uint64_t)header.hdr_len + header.str_off, end = begin + header.str_len;
    if (header.magic != BTF_MAGIC || end > types->size)
        return false;
    const char *at = types->all + begin, *last = types->all + end;
    while (at < last && (at = memmem(at + 1, (size_t)(last - at) - 1, name, length)))
        if (!at[-1])
            return true;
    return false;
}
