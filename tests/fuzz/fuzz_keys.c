/* A key file and a list of authorized keys with arbitrary content: refused with a message, or read to keys that are valid. */
#include "fuzz/dir.h"
#include "transport/keys.h"

int fuzz_keys(const uint8_t *data, size_t size);

static void read_pair(const char *path)
{
    struct keys_pair pair;
    char public_key[ZMQ_KEY_MAX];
    struct buf error;
    buf_init(&error, 4096);
    enum err err = keys_read(path, &pair, &error);
    fuzz_require(err ? error.size > 0 : keys_is_key(pair.public_key));
    fuzz_require(err || !*pair.secret_key || keys_is_key(pair.secret_key));
    buf_reset(&error);
    err = keys_read_public(path, public_key, &error);
    fuzz_require(err ? error.size > 0 : keys_is_key(public_key));
    buf_clear(&error);
}

static void read_list(const char *path)
{
    struct keys_list *list;
    struct buf error;
    char name[256];
    buf_init(&error, 4096);
    enum err err = keys_list_open(&list, path, &error);
    fuzz_require(!err || error.size > 0);
    if (!err) {
        fuzz_require(!keys_list_authorizes(list, "", name));
        keys_list_close(&list);
    }
    buf_clear(&error);
}

int fuzz_keys(const uint8_t *data, size_t size)
{
    char path[128];
    fuzz_dir_begin();
    fuzz_dir_write("keys", data, size);
    fuzz_dir_path(path, "keys");
    read_pair(path);
    read_list(path);
    return 0;
}
