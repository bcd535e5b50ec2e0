/* tau_metric_proxy: sonde agent with only the program metrics and /metrics: reads no sensors, and does not interfere
 * with an agent of the node. Arguments after "--" are options of sonde agent. */
#include "compat/commands/drop_in.h"

#include "base/parse.h"
#include "compat/tau/client.h"

#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_CAPACITY 4096

struct proxy {
    const char *port, *socket, *directory;
    bool is_worker, is_verbose, is_help;
};

static const char help[] =
    "usage: tau_metric_proxy [-p PORT] [-u PATH] [-P DIR] [-i] [-v] [-h] [-- OPTIONS]\n"
    "\n"
    "  -p PORT   serve /metrics at 127.0.0.1:PORT (1337)\n"
    "  -u PATH   UNIX socket that programs connect to (/tmp/tau_metric_proxy.UID.unix)\n"
    "  -P DIR    directory of the profiles (.tauproxy in the user's home directory)\n"
    "  -i        do not merge profiles: for all but one of the nodes that share the directory\n"
    "  -v        print more details\n"
    "  -h, --help  show this help\n"
    "\n"
    "This is Sonde's replacement: OPTIONS are those of 'sonde agent', such as --listen 0.0.0.0:1337.\n";

static enum err read_options(struct proxy *proxy, int argc, char **argv, struct buf *message)
{
    static const struct option longer[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
    int letter;
    opterr = 0;
    optind = 1;
    while ((letter = getopt_long(argc, argv, "+p:u:P:ivh", longer, NULL)) != -1)
        switch (letter) {
        case 'p': proxy->port = optarg; break;
        case 'u': proxy->socket = optarg; break;
        case 'P': proxy->directory = optarg; break;
        case 'i': proxy->is_worker = true; break;
        case 'v': proxy->is_verbose = true; break;
        case 'h': proxy->is_help = true; break;
        default:
            drop_in_unknown_option(message, argv);
            return USAGE;
        }
    uint64_t port;
    if (proxy->port && (parse_u64(proxy->port, &port) || port > UINT16_MAX)) {
        buf_printf(message, "invalid port '%.100s' (expected 1 to 65535)", proxy->port);
        return USAGE;
    }
    if (optind < argc && strcmp(argv[optind - 1], "--") != 0) {
        buf_printf(message, "unknown argument '%.100s'", argv[optind]);
        return USAGE;
    }
    return OK;
}

static void add_setting(struct drop_in_args *args, const char *key, const char *value)
{
    char word[TAU_CLIENT_RESOLVED_MAX + 64];
    snprintf(word, sizeof word, "programs.%s=%s", key, value);
    drop_in_add(args, "--set");
    drop_in_add(args, word);
}

/* The agent may change its directory, so paths are made absolute here. */
static void add_path(struct drop_in_args *args, const char *key, const char *path)
{
    char whole[2 * PATH_CAPACITY], directory[PATH_CAPACITY] = "";
    if (*path != '/' && !getcwd(directory, sizeof directory))
        directory[0] = '\0';
    snprintf(whole, sizeof whole, "%s%s%s", *path == '/' ? "" : directory, *path == '/' ? "" : "/", path);
    add_setting(args, key, whole);
}

/* The default socket is passed explicitly, so that it is an error if it is in use. Other sockets only serve their own
 * clients. */
static void add_socket(struct drop_in_args *args, const char *socket)
{
    char default_path[TAU_CLIENT_PATH_MAX], whole[TAU_CLIENT_RESOLVED_MAX];
    tau_client_default_path(default_path);
    tau_client_resolve_path(whole, socket ? socket : default_path);
    add_setting(args, "tau", whole);
    if (strcmp(whole, default_path) != 0)
        add_setting(args, "only_named", "yes");
}

static void add_default_directory(struct drop_in_args *args)
{
    char path[PATH_CAPACITY];
    const struct passwd *user = getpwuid(getuid());
    const char *home = user && user->pw_dir && *user->pw_dir ? user->pw_dir : getenv("HOME");
    if (!home || *home != '/')
        return;
    snprintf(path, sizeof path, "%s/.tauproxy", home);
    add_path(args, "profiles", path);
}

/* Jobs are those that programs report, as with tau: for jobs that the agent knows, the steps would be summed up. */
static void write_args(const struct proxy *proxy, struct drop_in_args *args)
{
    static const char *const default_path[] = {
        "sonde", "agent", "--config", "/dev/null", "--sensors", "none", "--jobs", "none", "--socket", "none",
        "--set", "programs.tau_names=yes", "--set", "programs.tau_paths=yes",
    };
    char listen[64];
    for (size_t i = 0; i < sizeof default_path / sizeof *default_path; i++)
        drop_in_add(args, default_path[i]);
    snprintf(listen, sizeof listen, "127.0.0.1:%.20s", proxy->port ? proxy->port : "1337");
    drop_in_add(args, "--listen");
    drop_in_add(args, listen);
    add_socket(args, proxy->socket);
    if (proxy->directory)
        add_path(args, "profiles", proxy->directory);
    else
        add_default_directory(args);
    if (proxy->is_worker) {
        drop_in_add(args, "--set");
        drop_in_add(args, "programs.merge_profiles=no");
    }
    if (proxy->is_verbose)
        drop_in_add(args, "-v");
}

static enum err tau_metric_proxy_translate(int argc, char **argv, struct drop_in_args *args, struct buf *message)
{
    struct proxy proxy = { 0 };
    enum err err = read_options(&proxy, argc, argv, message);
    if (err || proxy.is_help)
        return err ? err : GONE;
    write_args(&proxy, args);
    for (int i = optind; i < argc; i++)
        drop_in_add(args, argv[i]);
    return OK;
}

const struct drop_in drop_in_tau_metric_proxy = { "tau_metric_proxy", tau_metric_proxy_translate, help };
