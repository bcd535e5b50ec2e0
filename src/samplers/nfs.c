/* NFS client calls, from /proc/net/rpc/nfs: "rpc calls retransmissions refreshes" and for each version "proc3 22" and
 * that many numbers, which have no names. Their order is that of the procedures in the kernel's headers: fixed in
 * version 3, only appended to in version 4. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/scan.h"
#include "proc/textfile.h"
#include "samplers/counter.h"

#define V3(X) \
    X(null) X(getattr) X(setattr) X(lookup) X(access) X(readlink) X(read) X(write) X(create) X(mkdir) X(symlink) \
    X(mknod) X(remove) X(rmdir) X(rename) X(link) X(readdir) X(readdirplus) X(fsstat) X(fsinfo) X(pathconf) X(commit)

#define V4(X) \
    X(null) X(read) X(write) X(commit) X(open) X(open_confirm) X(open_noattr) X(open_downgrade) X(close) X(setattr) \
    X(fsinfo) X(renew) X(setclientid) X(setclientid_confirm) X(lock) X(lockt) X(locku) X(access) X(getattr) X(lookup) \
    X(lookup_root) X(remove) X(rename) X(link) X(symlink) X(create) X(pathconf) X(statfs) X(readlink) X(readdir) \
    X(server_caps) X(delegreturn) X(getacl) X(setacl) X(fs_locations) X(release_lockowner) X(secinfo) X(fsid_present) \
    X(exchange_id) X(create_session) X(destroy_session) X(sequence) X(get_lease_time) X(reclaim_complete) X(layoutget) \
    X(getdeviceinfo) X(layoutcommit) X(layoutreturn) X(secinfo_no_name) X(test_stateid) X(free_stateid) \
    X(getdevicelist) X(bind_conn_to_session) X(destroy_clientid) X(seek) X(allocate) X(deallocate) X(layoutstats) \
    X(clone) X(copy) X(offload_cancel) X(lookupp) X(layouterror) X(copy_notify) X(getxattr) X(setxattr) X(listxattrs) \
    X(removexattr) X(read_plus)

static const struct metric metrics[] = {
    { "rpc_calls", "1", COUNTER, U64, "calls to NFS servers", "numcalls" },
    { "rpc_retransmissions", "1", COUNTER, U64, "retransmitted calls", "retransmits" },
    { "rpc_auth_refreshes", "1", COUNTER, U64, "times that credentials were refreshed", "authrefrsh" },
#define X(name) { "v3_" #name, "1", COUNTER, U64, "calls of " #name ", NFS 3", "nfs3." #name },
    V3(X)
#undef X
#define X(name) { "v4_" #name, "1", COUNTER, U64, "calls of " #name ", NFS 4", "nfs4." #name },
    V4(X)
#undef X
};

#define ONE(name) +1
enum {
    METRICS = sizeof metrics / sizeof *metrics,
    RPC = 0,
    V3_FIRST = 3,
    V4_FIRST = V3_FIRST V3(ONE),
};
_Static_assert(METRICS == V4_FIRST V4(ONE), "each procedure has a place");

static const struct set set = { "nfs", metrics, METRICS };

struct nfs {
    struct textfile file;
    uint64_t last[METRICS];
};

static enum err nfs_open(void *state, const struct sampler_context *context)
{
    struct nfs *nfs = state;
    return textfile_open(&nfs->file, context->root, "/proc/net/rpc/nfs", TEXTFILE_WHOLE);
}

static void set_numbers(struct nfs *nfs, struct sample *sample, const char *at, size_t first, uint64_t count)
{
    uint64_t value;
    for (size_t i = first; at && i < first + count && scan_u64(&at, &value); i++)
        counter_set(sample, i, value, &nfs->last[i]);
}

/* Version 3 has a fixed number of procedures; version 4 grows at the end. */
static void set_procedures(struct nfs *nfs, struct sample *sample)
{
    const char *v3 = scan_line(nfs->file.text, "proc3 "), *v4 = scan_line(nfs->file.text, "proc4 ");
    uint64_t count;
    if (v3 && scan_u64(&v3, &count) && count == V4_FIRST - V3_FIRST)
        set_numbers(nfs, sample, v3, V3_FIRST, count);
    if (v4 && scan_u64(&v4, &count))
        set_numbers(nfs, sample, v4, V4_FIRST, count < METRICS - V4_FIRST ? count : METRICS - V4_FIRST);
}

static enum err nfs_read(void *state, struct batch *out)
{
    struct nfs *nfs = state;
    enum err err = textfile_read(&nfs->file);
    if (!err && !nfs->file.size)
        err = CORRUPT;
    if (err)
        return err;
    struct sample *sample = batch_add(out, &set, clock_realtime_ns(), "");
    if (!sample)
        return NOMEM;
    set_numbers(nfs, sample, scan_line(nfs->file.text, "rpc "), RPC, V3_FIRST);
    set_procedures(nfs, sample);
    return OK;
}

static void nfs_close(void *state)
{
    struct nfs *nfs = state;
    textfile_close(&nfs->file);
}

const struct sampler sampler_nfs = {
    .name = "nfs",
    .about = "calls to NFS servers, by procedure",
    .absent_reason = "No NFS file system is mounted",
    .set = &set,
    .state_size = sizeof(struct nfs),
    .open = nfs_open,
    .read = nfs_read,
    .close = nfs_close,
};
