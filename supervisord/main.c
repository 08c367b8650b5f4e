/* holdfastd - decides together with the other nodes, acts alone. See README.md. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "supervisord/base/log.h"
#include "supervisord/base/path.h"
#include "supervisord/daemon.h"

static void usage(FILE *out)
{
    fputs("usage: holdfastd [options]\n"
          "  --config FILE    the cluster file     /etc/holdfast/holdfast.conf\n"
          "  --run-dir DIR    its sockets          /run/holdfast\n"
          "  --state-dir DIR  journal, contents    /var/lib/holdfast\n"
          "  --libexec DIR    where holdfast-link is; beside holdfastd, or ../libexec/holdfast\n"
          "  --node NAME      this node in the cluster file; the host's name\n"
          "  --debug          log more\n"
          "It stays in the foreground. SIGHUP reads the cluster file again, SIGTERM leaves the "
          "group\n"
          "and ends; VMs run on. Exit 2: wrong options or a wrong cluster file, nothing was "
          "started.\n",
          out);
}

struct arguments {
    struct daemon_options options;
    const char *libexec;
    bool is_debug;
};

/* Returns -1 to go on, or the exit code. */
static int read_arguments(int argc, char **argv, struct arguments *a)
{
    static const struct option known[] = {
        {"config", required_argument, NULL, 'c'},    {"run-dir", required_argument, NULL, 'r'},
        {"state-dir", required_argument, NULL, 's'}, {"libexec", required_argument, NULL, 'l'},
        {"node", required_argument, NULL, 'n'},      {"foreground", no_argument, NULL, 'f'},
        {"debug", no_argument, NULL, 'd'},           {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},         {NULL, 0, NULL, 0},
    };
    int option;

    a->options = (struct daemon_options){.config = "/etc/holdfast/holdfast.conf",
                                         .run_directory = "/run/holdfast",
                                         .state_directory = "/var/lib/holdfast"};
    while ((option = getopt_long(argc, argv, "h", known, NULL)) >= 0) {
        switch (option) {
        case 'c':
            a->options.config = optarg;
            break;
        case 'r':
            a->options.run_directory = optarg;
            break;
        case 's':
            a->options.state_directory = optarg;
            break;
        case 'l':
            a->libexec = optarg;
            break;
        case 'n':
            a->options.node = optarg;
            break;
        case 'f':
            break;
        case 'd':
            a->is_debug = true;
            break;
        case 'V':
            puts("holdfastd " HF_VERSION);
            return 0;
        case 'h':
            usage(stdout);
            return 0;
        default:
            usage(stderr);
            return 2;
        }
    }
    if (optind != argc) {
        usage(stderr);
        return 2;
    }
    return -1;
}

static void find_link(const char *directory, char *out, size_t cap)
{
    if (directory != NULL)
        (void)snprintf(out, cap, "%s/holdfast-link", directory);
    else
        (void)hf_path_program("holdfast-link", out, cap); /* daemon_check() says if it is not */
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.is_debug = false};
    struct daemon *d = calloc(1, sizeof *d);
    char link_path[PATH_MAX];
    struct hf_err err;
    int code = read_arguments(argc, argv, &arguments);

    if (d == NULL || code >= 0) {
        free(d);
        return code >= 0 ? code : 1;
    }
    hf_log_open("holdfastd", arguments.is_debug ? HF_LOG_DEBUG : HF_LOG_INFO,
                getenv("JOURNAL_STREAM") != NULL);
    find_link(arguments.libexec, link_path, sizeof link_path);
    arguments.options.libexec = link_path;
    if (daemon_check(d, &arguments.options, &err) != HF_OK) {
        hf_error("%s", err.text);
        code = err.code == HF_EAGAIN ? 1 : 2;
    } else if (daemon_open(d, &err) != HF_OK) {
        hf_error("%s", err.text);
        code = 1;
    } else {
        hf_info("node=%s group=%s version=" HF_VERSION " incarnation=%llu", d->self->name,
                d->file.group.name, (unsigned long long)d->incarnation);
        daemon_run(d);
        code = 0;
    }
    daemon_close(d);
    free(d);
    return code;
}
