/* tau_metric_proxy …: sonde agent with the gateway and /metrics alone: no sensor is read, and nothing of an agent that runs on
 * the node is touched. What stands behind "--" are options of sonde agent. */
#include "compat/commands/names.h"

#include "base/text.h"
#include "compat/tau/client.h"

#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_ROOM 4096

struct proxy {
    const char *port, *socket, *folder;
    bool is_worker, is_verbose, is_help;
};

static const char help[] =
    "usage: tau_metric_proxy [-p PORT] [-u PATH] [-P DIR] [-i] [-v] [-h] [-- OPTIONS]\n"
    "\n"
    "  -p PORT   serve /metrics at 127.0.0.1:PORT (1337)\n"
    "  -u PATH   the UNIX socket that programs connect to (/tmp/tau_metric_proxy.UID.unix)\n"
    "  -P DIR    the folder of profiles (.tauproxy in the home of the user)\n"
    "  -i        do not merge profiles: for all nodes but one that share the folder\n"
    "  -v        tell more\n"
    "  -h, --help  show this page\n"
    "\n"
    "This is Sonde's: OPTIONS are those of 'sonde agent', --listen 0.0.0.0:1337 among them.\n";

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
        case 'P': proxy->folder = optarg; break;
        case 'i': proxy->is_worker = true; break;
        case 'v': proxy->is_verbose = true; break;
        case 'h': proxy->is_help = true; break;
        default:
            names_refuse(message, argv);
            return USAGE;
        }
    uint64_t port;
    if (proxy->port && (text_parse_u64(proxy->port, &port) || port > UINT16_MAX)) {
        buf_printf(message, "-p wants the number of a port, up to 65535, not '%.100s'", proxy->port);
        return USAGE;
    }
    if (optind < argc && strcmp(argv[optind - 1], "--") != 0) {
        buf_printf(message, "'%.100s' is not known", argv[optind]);
        return USAGE;
    }
    return OK;
}

static void add_setting(struct names_words *words, const char *key, const char *value)
{
    char word[TAU_CLIENT_WHOLE_MAX + 64];
    snprintf(word, sizeof word, "programs.%s=%s", key, value);
    names_add(words, "--set");
    names_add(words, word);
}

/* The agent may leave its folder: paths are made whole here. */
static void add_path(struct names_words *words, const char *key, const char *path)
{
    char whole[2 * PATH_ROOM], folder[PATH_ROOM] = "";
    if (*path != '/' && !getcwd(folder, sizeof folder))
        folder[0] = '\0';
    snprintf(whole, sizeof whole, "%s%s%s", *path == '/' ? "" : folder, *path == '/' ? "" : "/", path);
    add_setting(words, key, whole);
}

/* The usual one is said aloud too, so that it is an error when it is taken. Another one is for those who name it. */
static void add_socket(struct names_words *words, const char *socket)
{
    char usual[TAU_CLIENT_PATH_MAX], whole[TAU_CLIENT_WHOLE_MAX];
    tau_client_usual_path(usual);
    tau_client_whole_path(whole, socket ? socket : usual);
    add_setting(words, "tau", whole);
    if (strcmp(whole, usual) != 0)
        add_setting(words, "only_named", "yes");
}

static void add_usual_folder(struct names_words *words)
{
    char path[PATH_ROOM];
    const struct passwd *user = getpwuid(getuid());
    const char *home = user && user->pw_dir && *user->pw_dir ? user->pw_dir : getenv("HOME");
    if (!home || *home != '/')
        return;
    snprintf(path, sizeof path, "%s/.tauproxy", home);
    add_path(words, "profiles", path);
}

/* Jobs are what programs name, as with tau: of one that we knew, the steps would be summed up. */
static void write_words(const struct proxy *proxy, struct names_words *words)
{
    static const char *const usual[] = {
        "sonde", "agent", "--config", "/dev/null", "--sensors", "none", "--jobs", "none", "--socket", "none",
        "--set", "programs.tau_names=yes", "--set", "programs.tau_paths=yes",
    };
    char listen[64];
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        names_add(words, usual[i]);
    snprintf(listen, sizeof listen, "127.0.0.1:%.20s", proxy->port ? proxy->port : "1337");
    names_add(words, "--listen");
    names_add(words, listen);
    add_socket(words, proxy->socket);
    if (proxy->folder)
        add_path(words, "profiles", proxy->folder);
    else
        add_usual_folder(words);
    if (proxy->is_worker) {
        names_add(words, "--set");
        names_add(words, "programs.merge_profiles=no");
    }
    if (proxy->is_verbose)
        names_add(words, "-v");
}

static enum err tau_metric_proxy_turn(int argc, char **argv, struct names_words *words, struct buf *message)
{
    struct proxy proxy = { 0 };
    enum err err = read_options(&proxy, argc, argv, message);
    if (err || proxy.is_help)
        return err ? err : GONE;
    write_words(&proxy, words);
    for (int i = optind; i < argc; i++)
        names_add(words, argv[i]);
    return OK;
}

const struct names_entry names_tau_metric_proxy = { "tau_metric_proxy", tau_metric_proxy_turn, help };
