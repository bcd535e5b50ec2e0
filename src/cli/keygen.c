/* sonde keygen: makes the key pair of a host, and says what the collector must be told. */
#include "cli/command.h"

#include "proc/host.h"
#include "transport/keys.h"

#include <string.h>

#define OUTPUT_MAX 65536
#define WHY_MAX 8192

struct keygen_settings {
    bool force, show, collector;
    const char *name;
};

static int fail(const struct command_call *call, struct buf *why)
{
    int status = command_fail(call, "%s", buf_text(why));
    buf_clear(why);
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

/* A key that begins with # would look like a comment in a list. */
static bool make(const struct zmq_module *zmq, struct keys_pair *pair)
{
    bool is_made;
    do
        is_made = zmq->keypair(pair->public_key, pair->secret_key);
    while (is_made && pair->public_key[0] == '#');
    return is_made;
}

static int create(const struct command_call *call, const char *path, struct keys_pair *pair)
{
    const struct keygen_settings *settings = call->settings;
    const struct zmq_module *zmq;
    char reason[512];
    struct buf why;
    if (zmq_load(&zmq, reason, sizeof reason))
        return command_fail(call, "cannot make a key: %s", reason);
    if (!make(zmq, pair))
        return command_fail(call, "cannot make a key: libzmq was built without encryption (CURVE)");
    buf_init(&why, WHY_MAX);
    if (keys_write(path, pair, settings->force, &why))
        return fail(call, &why);
    buf_clear(&why);
    return EXIT_GOOD;
}

static int show(const struct command_call *call, const char *path, struct keys_pair *pair)
{
    struct buf why;
    buf_init(&why, WHY_MAX);
    if (keys_read(path, pair, &why))
        return fail(call, &why);
    buf_clear(&why);
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
        return command_misused(call, "which file? There is no place for keys: HOME is not set");
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
      .help = "The key of a collector: FILE is collector.key by default, and the public key alone is printed" },
    { .letter = 'f', .name = "force", .type = OPTION_FLAG, AT(force), .help = "Replace a key that is there" },
    { .letter = 'n', .name = "name", .argument = "HOST", .type = OPTION_TEXT, AT(name),
      .help = "The name in the line that is printed, * for any host; without it, the name of this host" },
    { .letter = 's', .name = "show", .type = OPTION_FLAG, AT(show),
      .help = "Make nothing; print the line of a key that is there" },
    OPTION_END,
};

static const struct command_fact keygen_examples[] = {
    { "sonde keygen --collector", "on the collector: agents are given what it prints, as collector-key" },
    { "sonde keygen", "on a node: what it prints is a line for allowed.keys of the collector" },
    { "ssh node17 sonde keygen >>/etc/sonde/allowed.keys", "both at once, on the collector" },
    { "sonde keygen --show", "the line of the key that is there" },
    { 0 },
};

const struct command command_keygen = {
    .name = "keygen",
    .about = "make the key by which an agent and its collector know each other",
    .usage = "[OPTIONS] [FILE]",
    .description =
        "Makes a key pair of CURVE in FILE, which only its owner may read, and its public part in FILE.pub. Without FILE it is "
        "/etc/sonde/host.key for root, and $XDG_CONFIG_HOME/sonde/host.key, else ~/.config/sonde/host.key, for others.\n\n"
        "Prints a line for the list of allowed keys of a collector: the public key and the name of the host. An agent lets "
        "itself be known by it, and may speak for no other host; a line whose name is * may speak for any, as a collector "
        "that forwards does.\n\n"
        "Agent and collector read keys and list again when they change: nothing need be restarted.",
    .options = keygen_options,
    .settings_size = sizeof(struct keygen_settings),
    .operands_max = 1,
    .operand = "FILE",
    .examples = keygen_examples,
    .see_also = "agent",
    .run = keygen_run,
};
