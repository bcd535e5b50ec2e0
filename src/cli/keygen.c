/* sonde keygen: creates the key pair of a host, and prints the line that authorizes it at the collector. */
#include "cli/command.h"

#include "proc/host.h"
#include "transport/keys.h"

#include <string.h>

#define OUTPUT_MAX 65536
#define ERROR_MAX 8192

struct keygen_settings {
    bool force, show, collector;
    const char *name;
};

static int fail(const struct command_call *call, struct buf *error)
{
    int status = command_fail(call, "%s", buf_text(error));
    buf_clear(error);
    return status;
}

static void add_line(struct buf *out, const char *key, const char *name)
{
    struct host_facts facts;
    if (!name) {
        host_read(NULL, &facts);
        name = facts.name[0] ? facts.name : "*";
    }
    buf_printf(out, "%s %s\n", key, name);
}

/* A key that starts with # would be taken for a comment in the list of authorized keys. */
static bool generate(const struct zmq_module *zmq, struct keys_pair *pair)
{
    bool is_generated;
    do
        is_generated = zmq->keypair(pair->public_key, pair->secret_key);
    while (is_generated && pair->public_key[0] == '#');
    return is_generated;
}

static int create(const struct command_call *call, const char *path, struct keys_pair *pair)
{
    const struct keygen_settings *settings = call->settings;
    const struct zmq_module *zmq;
    char reason[512];
    struct buf error;
    if (zmq_load(&zmq, reason, sizeof reason))
        return command_fail(call, "cannot generate a key: %s", reason);
    if (!generate(zmq, pair))
        return command_fail(call, "cannot generate a key: libzmq was built without encryption (CURVE)");
    buf_init(&error, ERROR_MAX);
    if (keys_write(path, pair, settings->force, &error))
        return fail(call, &error);
    buf_clear(&error);
    return EXIT_GOOD;
}

static int show(const struct command_call *call, const char *path, struct keys_pair *pair)
{
    struct buf error;
    buf_init(&error, ERROR_MAX);
    if (keys_read(path, pair, &error))
        return fail(call, &error);
    buf_clear(&error);
    return EXIT_GOOD;
}

static int keygen_run(const struct command_call *call)
{
    const struct keygen_settings *settings = call->settings;
    struct keys_pair pair = { 0 };
    struct buf out;
    char usual[KEYS_PATH_MAX];
    const char *path = call->count ? call->operands[0] : usual;
    if (!call->count && keys_path(settings->collector ? "collector.key" : "host.key", usual))
        return command_usage_error(call, "missing FILE: HOME is not set, so there is no default directory for keys");
    int status = settings->show ? show(call, path, &pair) : create(call, path, &pair);
    if (status == EXIT_GOOD) {
        buf_init(&out, OUTPUT_MAX);
        if (settings->collector)
            buf_printf(&out, "%s\n", pair.public_key);
        else
            add_line(&out, pair.public_key, settings->name);
        status = command_print(call, &out);
        buf_clear(&out);
    }
    memset(&pair, 0, sizeof pair);
    return status;
}

#define AT(field) .offset = offsetof(struct keygen_settings, field)
static const struct option keygen_options[] = {
    { .letter = 'c', .name = "collector", .type = OPTION_FLAG, AT(collector),
      .help = "Create a collector's key: the default FILE is collector.key, and only the public key is printed" },
    { .letter = 'f', .name = "force", .type = OPTION_FLAG, AT(force), .help = "Replace an existing key" },
    { .letter = 'n', .name = "name", .argument = "HOST", .type = OPTION_TEXT, AT(name),
      .help = "Host name in the printed line, * for any host. Default: the name of this host" },
    { .letter = 's', .name = "show", .type = OPTION_FLAG, AT(show),
      .help = "Print the line of an existing key instead of creating one" },
    OPTION_END,
};

static const struct command_fact keygen_examples[] = {
    { "sonde keygen --collector", "on the collector: prints the collector-key that agents need" },
    { "sonde keygen", "on a node: prints its line for the collector's allowed.keys" },
    { "ssh node17 sonde keygen >>/etc/sonde/allowed.keys", "both in one step, on the collector" },
    { "sonde keygen --show", "the line of the existing key" },
    { 0 },
};

const struct command command_keygen = {
    .name = "keygen",
    .about = "create the keys that authenticate agents and collectors",
    .usage = "[OPTIONS] [FILE]",
    .description =
        "Creates a CURVE key pair in FILE, readable only by its owner, and its public part in FILE.pub. Default: "
        "/etc/sonde/host.key for root, otherwise $XDG_CONFIG_HOME/sonde/host.key or ~/.config/sonde/host.key.\n\n"
        "Prints a line for the collector's list of authorized keys: the public key and the name of the host. The key "
        "authorizes the agent to send data of this host only; a line with the name * authorizes any host, as a forwarding "
        "collector needs.\n\n"
        "Agents and collectors reload keys and lists when they change; no restart is needed.",
    .options = keygen_options,
    .settings_size = sizeof(struct keygen_settings),
    .operands_max = 1,
    .operand = "FILE",
    .examples = keygen_examples,
    .see_also = "agent",
    .run = keygen_run,
};
