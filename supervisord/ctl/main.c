/* main.c - the `holdfast` command: which verb, which options, how wide is the terminal. */
#include "supervisord/ctl/cmd.h"

#include "supervisord/base/str.h"

#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum option_id {
    O_JSON = 1,
    O_SOCKET,
    O_HELP,
    O_VERSION,
    O_WAIT,
    O_TIMEOUT,
    O_YES,
    O_REASON,
    O_FOLLOW,
    O_AFTER,
    O_SUBJECT,
    O_FOR,
    O_FILE,
    O_NAME,
    O_MEMORY,
    O_PRIORITY,
    O_APART,
    O_TOGETHER,
    O_ALLOWED,
    O_PREFERRED,
    O_RESTARTS_HERE,
    O_RESTARTS_MAX,
    O_STOP_GRACE,
    O_STOPPED,
    O_TYPED,
    O_LEVEL,
    O_POWER_CYCLE,
    O_CONFIG,
    O_PROFILE,
    O_RING0,
    O_RING1,
    O_KEY,
    O_OUTPUT,
    O_WAIT_FOR_ALL,
    O_FORCE,
    O_COROSYNC,
    O_LEGS,
    O_TO,
    O_NODE,
    O_IDS
};

static const struct option options[] = {
    {"json", no_argument, NULL, O_JSON},
    {"socket", required_argument, NULL, O_SOCKET},
    {"help", no_argument, NULL, O_HELP},
    {"version", no_argument, NULL, O_VERSION},
    {"wait", no_argument, NULL, O_WAIT},
    {"timeout", required_argument, NULL, O_TIMEOUT},
    {"yes", no_argument, NULL, O_YES},
    {"reason", required_argument, NULL, O_REASON},
    {"follow", no_argument, NULL, O_FOLLOW},
    {"after", required_argument, NULL, O_AFTER},
    {"subject", required_argument, NULL, O_SUBJECT},
    {"for", required_argument, NULL, O_FOR},
    {"file", no_argument, NULL, O_FILE},
    {"name", required_argument, NULL, O_NAME},
    {"memory", required_argument, NULL, O_MEMORY},
    {"priority", required_argument, NULL, O_PRIORITY},
    {"apart", required_argument, NULL, O_APART},
    {"together", required_argument, NULL, O_TOGETHER},
    {"allowed", required_argument, NULL, O_ALLOWED},
    {"preferred", required_argument, NULL, O_PREFERRED},
    {"restarts-here", required_argument, NULL, O_RESTARTS_HERE},
    {"restarts-max", required_argument, NULL, O_RESTARTS_MAX},
    {"stop-grace", required_argument, NULL, O_STOP_GRACE},
    {"stopped", no_argument, NULL, O_STOPPED},
    {"typed", required_argument, NULL, O_TYPED},
    {"level", required_argument, NULL, O_LEVEL},
    {"power-cycle", no_argument, NULL, O_POWER_CYCLE},
    {"config", required_argument, NULL, O_CONFIG},
    {"profile", required_argument, NULL, O_PROFILE},
    {"ring0", required_argument, NULL, O_RING0},
    {"ring1", required_argument, NULL, O_RING1},
    {"key", required_argument, NULL, O_KEY},
    {"output", required_argument, NULL, O_OUTPUT},
    {"wait-for-all", required_argument, NULL, O_WAIT_FOR_ALL},
    {"force", no_argument, NULL, O_FORCE},
    {"corosync", required_argument, NULL, O_COROSYNC},
    {"legs", required_argument, NULL, O_LEGS},
    {"to", required_argument, NULL, O_TO},
    {"node", required_argument, NULL, O_NODE},
    {NULL, 0, NULL, 0},
};

#define BIT(option) (UINT64_C(1) << (option))
_Static_assert(O_IDS <= 64, "one bit an option");

#define ANY   (BIT(O_JSON) | BIT(O_SOCKET) | BIT(O_HELP) | BIT(O_VERSION))
#define ORDER (ANY | BIT(O_WAIT) | BIT(O_TIMEOUT) | BIT(O_REASON))
#define ADD                                                                                        \
    (ORDER | BIT(O_NAME) | BIT(O_MEMORY) | BIT(O_PRIORITY) | BIT(O_APART) | BIT(O_TOGETHER) |      \
     BIT(O_ALLOWED) | BIT(O_PREFERRED) | BIT(O_RESTARTS_HERE) | BIT(O_RESTARTS_MAX) |              \
     BIT(O_STOP_GRACE) | BIT(O_STOPPED) | BIT(O_LEGS))
#define SETUP                                                                                      \
    (BIT(O_HELP) | BIT(O_VERSION) | BIT(O_CONFIG) | BIT(O_PROFILE) | BIT(O_RING0) | BIT(O_RING1) | \
     BIT(O_KEY) | BIT(O_OUTPUT) | BIT(O_WAIT_FOR_ALL) | BIT(O_FORCE))

struct verb {
    const char *first, *second; /* second NULL: one word */
    unsigned least, most;       /* words after the verb */
    uint64_t options;
    int (*run)(const struct cmd *cmd);
    const char *usage, *line; /* arguments; what it does, in a line */
    const char *more;         /* for --help; NULL = nothing */
};

static const char help_order[] =
    "  --wait             until it is reached; the terminal shows how far it is\n"
    "  --timeout TIME     wait at most so long (2min)\n"
    "  --reason TEXT      kept in the history\n";

static const char help_add[] =
    "FILE is the domain's XML (\"-\": stdin). NAME, if given, must be the name in it.\n"
    "The VM is started at once, unless --stopped. Take autostart off its domain if\n"
    "libvirt knows it: from now on Holdfast says where it runs.\n"
    "  --stopped          only add it\n"
    "  --memory SIZE      promised on its node, like 16GiB (default: <memory> of the XML)\n"
    "  --priority N       0 to 1000, higher starts first (100)\n"
    "  --apart GROUP      never two VMs of this group on one node\n"
    "  --together GROUP   all VMs of this group on one node\n"
    "  --allowed A,B      only on these nodes\n"
    "  --preferred NODE   there if the rules allow it\n"
    "  --restarts-here N  failures on one node before it tries another (2)\n"
    "  --restarts-max N   failures in all before it is given up (5)\n"
    "  --stop-grace TIME  for the guest to shut down before it is destroyed (30s)\n"
    "  --legs a,b         fabrics that it has a leg in; \"none\": in none\n"
    "Without --legs an interface is a leg of fabric a when this node's nic_a is below\n"
    "it: its VF, a bridge or macvtap on it. <alias name='ua-leg-a'/> in the interface\n"
    "says so, too, and wins; ua-leg-none says that it is no leg. One leg a fabric.\n";

static const char help_events[] =
    "  -f, --follow       go on with what comes\n"
    "  --after N          only events above this number\n"
    "  --subject NAME     only about this node or VM\n"
    "With --json: one object a line; the first tells life, oldest and newest. Numbers have no gap "
    "in\n"
    "one life of the daemon; what the reader was too slow for is told as {\"missed\": N}.\n";

static const char help_nics[] =
    "A fabric is one of the two independent networks, a leg a VM's function in one of\n"
    "them. A flip moves a VM's traffic to its other leg; the VM itself is not touched.\n"
    "A card is up, suspect (it still carries), down (its legs are flipped away), hold\n"
    "(it came back and is not trusted yet), absent or unknown (nobody tells).\n"
    "  losses             times the carrier went, since the driver was loaded\n"
    "  RTNL               the last wait for the kernel's configuration lock\n"
    "  judged, ordered, confirmed   of a flip: time since the first sign of the fault\n";

static const char help_failback[] =
    "After a flip the traffic stays where it went: it is never moved back by itself.\n"
    "This does, at the price of one more gap, as long as any flip's. Refused when the\n"
    "VM does not run or that leg is dead; it may fail while the card is held down.\n"
    "  --to a|b           to this leg (default: the one that it is not on)\n"
    "  --yes              do not ask (needed without a terminal)\n";

static const char help_why[] =
    "NODE:a is the node's NIC in fabric a; PF is its name there, like ens1f0.\n";

static const char help_fence[] =
    "Cuts its power through its fence devices; its VMs are started elsewhere.\n"
    "  --yes              do not ask (needed without a terminal)\n";

static const char help_confirm[] =
    "For a node that is lost and cannot be fenced: after you have made sure that it is off.\n"
    "Refused while the node is heard. If it is not off, its VMs run twice.\n"
    "  --reason TEXT      how you know; required\n"
    "  --typed NAME       the node's name once more (needed without a terminal)\n";

static const char help_test[] =
    "Tries its fence devices without effect: do they answer, with our credentials, for this host?\n"
    "The group does so every minute; this shows it, as seen from this node.\n"
    "  --level N          only this level\n"
    "  --power-cycle      a drill: cut its power, wait until it is proved dead, switch it on, "
    "wait\n"
    "                     until it is a member again, and show how long each phase took. Refused\n"
    "                     unless the node is drained and empty.\n"
    "  --yes              power cycle: do not ask (needed without a terminal)\n"
    "  --timeout TIME     power cycle: give up waiting after so long (15min)\n"
    "  --reason TEXT      power cycle: kept in the history\n";

static const char help_hold[] =
    "Its daemon or corosync may be away for so long, for an upgrade: its VMs run on, nobody "
    "fences\n"
    "it and its watchdog is fed. When the time is over and it is not back, it counts as lost.\n"
    "  --for TIME         like 60s; required\n";

static const char help_leave[] =
    "Moves its VMs away and tells the group that it will be switched off: nobody fences it then.\n"
    "Ends when it has left (or with --timeout, 10min). It comes back by starting it again.\n";

static const char help_arm[] =
    "Also ends the hold after a fencing storm. Refused when a node could not be proved dead.\n";

static const char help_check[] =
    "Checks the cluster file; for the installed one also /etc/corosync/corosync.conf and the\n"
    "running corosync: every deviation from the nearest profile, and why it matters; and this\n"
    "node's network cards, when the file names any: drivers, VFs, firmware, what hides a fault.\n"
    "  --corosync FILE    that corosync.conf, and the running corosync; \"no\": neither\n"
    "  --node NAME        this host is that node of the file (default: the one with its name)\n"
    "Exit codes: 0 good (there may be warnings and advice), 1 the cluster file is good but "
    "corosync\n"
    "or a card is a risk or hangs, or arming would be refused, 2 a file is bad\n";

static const char help_setup[] =
    "Writes a whole corosync.conf for the nodes of the cluster file, and says what to do next.\n"
    "  --profile NAME     fast or safe: how long until a dead node is reported\n"
    "  --ring0 LIST       n1=10.0.0.1,n2=10.0.0.2,... an address for every node\n"
    "  --ring1 LIST       on a second network; \"none\" does without\n"
    "  --config FILE      the cluster file (/etc/holdfast/holdfast.conf)\n"
    "  --output FILE      where to (default \"-\": stdout)\n"
    "  --force            replace FILE\n"
    "  --key FILE         where the nodes have their key (/etc/corosync/authkey)\n"
    "  --wait-for-all Y   yes: after a cold start wait for all nodes once (default); or no\n";

static const char help_drain[] = "Moves its VMs away, one after the other, and places none there.\n"
                                 "  --for TIME         ends by itself after so long, with an alarm "
                                 "(default: the policy's most)\n";

static const struct verb verbs[] = {
    {"status", NULL, 0, 0, ANY, cmd_status, "", "is anything wrong, since when, what to type next",
     NULL},
    {"nodes", NULL, 0, 0, ANY, cmd_nodes, "", "the nodes", NULL},
    {"vms", NULL, 0, 0, ANY, cmd_vms, "", "the VMs", NULL},
    {"nics", "failback", 1, 1, ANY | BIT(O_TO) | BIT(O_YES), cmd_nics_failback, "VM [--to a|b]",
     "bring a VM's traffic to its other leg", help_failback},
    {"nics", NULL, 0, 1, ANY, cmd_nics, "[NODE]", "network cards, legs of VMs, flips", help_nics},
    {"why", NULL, 1, 1, ANY, cmd_why, "VM|NODE|NODE:a|PF",
     "how it came to be as it is, and where it could go", help_why},
    {"events", NULL, 0, 0, ANY | BIT(O_FOLLOW) | BIT(O_AFTER) | BIT(O_SUBJECT), cmd_events, "[-f]",
     "what happened, as this node saw it", help_events},
    {"vm", "add", 1, 2, ADD, cmd_vm_add, "[NAME] FILE", "put a VM under Holdfast and start it",
     help_add},
    {"vm", "remove", 1, 1, ORDER, cmd_vm_remove, "VM", "take a stopped VM out of Holdfast", NULL},
    {"vm", "start", 1, 1, ORDER, cmd_vm_start, "VM", "want it running; also after held or failed",
     NULL},
    {"vm", "stop", 1, 1, ORDER, cmd_vm_stop, "VM", "want it stopped", NULL},
    {"vm", "move", 1, 2, ORDER, cmd_vm_move, "VM [NODE]", "stop it and start it elsewhere", NULL},
    {"drain", NULL, 1, 1, ORDER | BIT(O_FOR), cmd_drain, "NODE", "put a node into maintenance",
     help_drain},
    {"undrain", NULL, 1, 1, ORDER, cmd_undrain, "NODE", "end its maintenance (moves nothing back)",
     NULL},
    {"hold", NULL, 1, 1, ORDER | BIT(O_FOR), cmd_hold, "NODE --for TIME",
     "announce that its daemon or corosync will be away", help_hold},
    {"leave", NULL, 1, 1, ORDER, cmd_leave, "NODE", "empty it, so that it may be switched off",
     help_leave},
    {"arm", NULL, 0, 0, ORDER, cmd_arm, "", "fence lost nodes and restart their VMs", help_arm},
    {"disarm", NULL, 0, 0, ORDER, cmd_disarm, "", "watch only: fence nothing, restart nothing",
     NULL},
    {"fence", "confirm", 1, 1, ORDER | BIT(O_TYPED), cmd_fence_confirm, "NODE --reason TEXT",
     "say that a lost node is off", help_confirm},
    {"fence", "test", 1, 1,
     ANY | BIT(O_LEVEL) | BIT(O_POWER_CYCLE) | BIT(O_YES) | BIT(O_TIMEOUT) | BIT(O_REASON),
     cmd_fence_test, "NODE", "could it be fenced now; or really, as a drill", help_test},
    {"fence", "on", 1, 1, ORDER, cmd_fence_on, "NODE", "switch a fenced node on again", NULL},
    {"fence", NULL, 1, 1, ORDER | BIT(O_YES), cmd_fence, "NODE", "power a node off", help_fence},
    {"config", "check", 0, 1, ANY | BIT(O_COROSYNC) | BIT(O_NODE), cmd_config_check, "[FILE]",
     "is this cluster file good, and corosync fit for it", help_check},
    {"config", "show", 0, 1, ANY | BIT(O_FILE), cmd_config_show, "[--file [FILE]]",
     "the running configuration, or a file's", NULL},
    {"setup", "corosync", 0, 0, SETUP, cmd_setup_corosync, "--profile NAME ...",
     "write a corosync.conf for the group", help_setup},
};

enum { VERBS = sizeof verbs / sizeof verbs[0] };

static void print_help(void)
{
    (void)puts("holdfast - keeps trading VMs running on a group of nodes\n"
               "\n"
               "usage: holdfast VERB [ARGUMENTS] [--json] [--socket PATH]\n");
    for (size_t i = 0; i < VERBS; i++) {
        char left[64];

        (void)snprintf(left, sizeof left, "%s%s%s %s", verbs[i].first,
                       verbs[i].second != NULL ? " " : "",
                       verbs[i].second != NULL ? verbs[i].second : "", verbs[i].usage);
        (void)printf("  %-34s %s\n", left, verbs[i].line);
    }
    (void)puts("\nMore about one: holdfast VERB --help\n"
               "Exit codes: 0 done, 1 refused or not reached, 2 bad arguments or file,\n"
               "            3 no daemon or no answer, 4 not quorate, 5 not allowed");
}

static void print_verb_help(const struct verb *verb)
{
    (void)printf("usage: holdfast %s%s%s %s\n%s\n", verb->first, verb->second != NULL ? " " : "",
                 verb->second != NULL ? verb->second : "", verb->usage, verb->line);
    if (verb->more != NULL)
        (void)printf("\n%s", verb->more);
    if ((verb->options & BIT(O_WAIT)) != 0)
        (void)printf("%s%s", verb->more != NULL ? "" : "\n", help_order);
    (void)printf("  --json             for programs: see the README of supervisord/ctl\n"
                 "  --socket PATH      of the daemon (%s)\n",
                 CMD_SOCKET);
}

/* ---- options ---- */

static bool set_number_option(const char *name, const char *text, uint64_t *out)
{
    if (hf_str_to_u64(text, INT64_MAX, out))
        return true;
    cmd_say("--%s '%s' is not a number", name, text);
    return false;
}

static bool set_timeout(struct cmd *cmd, const char *text)
{
    cmd->has_timeout = hf_str_to_ms(text, &cmd->timeout_ms) && cmd->timeout_ms <= INT32_MAX;
    if (!cmd->has_timeout)
        cmd_say("--timeout '%s' is not a duration: write it like 30s or 5min", text);
    return cmd->has_timeout;
}

static bool set_level(struct cmd *cmd, const char *text)
{
    if (hf_str_to_u64(text, HF_FENCE_LEVELS_MAX, &cmd->level) && cmd->level > 0)
        return true;
    cmd_say("--level '%s' is not a level: they are counted from 1", text);
    return false;
}

#define TEXT(field) (1 + offsetof(struct cmd, field))

/* NULL: its value is no text, or it has none. */
static const char **text_option(struct cmd *cmd, enum option_id id)
{
    /* One above the offset: 0 is a field, too. */
    static const size_t places[O_IDS] = {
        [O_SOCKET] = TEXT(socket),
        [O_REASON] = TEXT(reason),
        [O_SUBJECT] = TEXT(subject),
        [O_FOR] = TEXT(for_),
        [O_NAME] = TEXT(name),
        [O_MEMORY] = TEXT(memory),
        [O_PRIORITY] = TEXT(priority),
        [O_APART] = TEXT(apart),
        [O_TOGETHER] = TEXT(together),
        [O_ALLOWED] = TEXT(allowed),
        [O_PREFERRED] = TEXT(preferred),
        [O_RESTARTS_HERE] = TEXT(restarts_here),
        [O_RESTARTS_MAX] = TEXT(restarts_max),
        [O_STOP_GRACE] = TEXT(stop_grace),
        [O_TYPED] = TEXT(typed),
        [O_CONFIG] = TEXT(config),
        [O_PROFILE] = TEXT(profile),
        [O_RING0] = TEXT(ring0),
        [O_RING1] = TEXT(ring1),
        [O_KEY] = TEXT(key),
        [O_OUTPUT] = TEXT(output),
        [O_WAIT_FOR_ALL] = TEXT(wait_for_all),
        [O_COROSYNC] = TEXT(corosync),
        [O_LEGS] = TEXT(legs),
        [O_TO] = TEXT(to),
        [O_NODE] = TEXT(node),
    };

    return places[id] > 0 ? (const char **)(void *)((char *)cmd + places[id] - 1) : NULL;
}

static bool set_option(struct cmd *cmd, enum option_id id, const char *text)
{
    const char **place = text_option(cmd, id);

    if (place != NULL)
        *place = text;
    cmd->is_json |= id == O_JSON;
    cmd->is_waiting |= id == O_WAIT;
    cmd->is_yes |= id == O_YES;
    cmd->is_following |= id == O_FOLLOW;
    cmd->is_file |= id == O_FILE;
    cmd->is_stopped |= id == O_STOPPED;
    cmd->is_forced |= id == O_FORCE;
    cmd->is_power_cycle |= id == O_POWER_CYCLE;
    if (id == O_LEVEL)
        return set_level(cmd, text);
    if (id == O_AFTER)
        return set_number_option("after", text, &cmd->after);
    return id != O_TIMEOUT || set_timeout(cmd, text);
}

/* False: printed. given: bit per option. words: what is not an option. */
static bool read_options(int argc, char **argv, struct cmd *cmd, uint64_t *given)
{
    int id;

    *given = 0;
    opterr = 0;
    while ((id = getopt_long(argc, argv, ":f", options, NULL)) != -1) {
        if (id == 'f')
            id = O_FOLLOW;
        if (id == ':' || id == '?') {
            const char *word = argv[optind - 1];

            cmd_say(id == ':' ? "%s needs a value" : "unknown option %s, see: holdfast --help",
                    word);
            return false;
        }
        *given |= BIT(id);
        if (!set_option(cmd, (enum option_id)id, optarg))
            return false;
    }
    return true;
}

/* ---- verbs ---- */

static const struct verb *find_verb(int count, char **words, unsigned *taken)
{
    for (size_t i = 0; i < VERBS; i++) {
        const struct verb *verb = &verbs[i];

        if (count < 1 || strcmp(verb->first, words[0]) != 0)
            continue;
        if (verb->second == NULL) {
            *taken = 1;
            return verb;
        }
        if (count >= 2 && strcmp(verb->second, words[1]) == 0) {
            *taken = 2;
            return verb;
        }
    }
    return NULL;
}

static void say_unknown_verb(int count, char **words)
{
    const char *near = NULL;
    unsigned least = 3;
    bool is_group = false;

    for (size_t i = 0; i < VERBS; i++) {
        unsigned distance = hf_str_distance(words[0], verbs[i].first);

        is_group |= distance == 0 && verbs[i].second != NULL;
        if (distance < least) {
            least = distance;
            near = verbs[i].first;
        }
    }
    if (is_group)
        cmd_say("'%s%s%s' is not a command, see: holdfast --help", words[0], count > 1 ? " " : "",
                count > 1 ? words[1] : "");
    else if (near != NULL)
        cmd_say("'%s' is not a command (did you mean '%s'?)", words[0], near);
    else
        cmd_say("'%s' is not a command, see: holdfast --help", words[0]);
}

static bool options_fit(const struct verb *verb, uint64_t given)
{
    for (const struct option *option = options; option->name != NULL; option++) {
        if ((given & BIT(option->val)) != 0 && (verb->options & BIT(option->val)) == 0) {
            cmd_say("--%s does not go with '%s%s%s'", option->name, verb->first,
                    verb->second != NULL ? " " : "", verb->second != NULL ? verb->second : "");
            return false;
        }
    }
    return true;
}

static bool words_fit(const struct verb *verb, unsigned count)
{
    if (count >= verb->least && count <= verb->most)
        return true;
    cmd_say("usage: holdfast %s%s%s %s", verb->first, verb->second != NULL ? " " : "",
            verb->second != NULL ? verb->second : "", verb->usage);
    return false;
}

/* ---- the terminal ---- */

static void look_around(struct cmd *cmd)
{
    struct winsize size;
    const char *no_color = getenv("NO_COLOR"), *columns = getenv("COLUMNS"), *term = getenv("TERM");
    uint64_t width = 0;

    (void)setlocale(LC_CTYPE, "");
    cmd->look.is_ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    cmd->look.is_coloured = isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0') &&
                            term != NULL && strcmp(term, "dumb") != 0;
    cmd->is_terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    if (columns != NULL && hf_str_to_u64(columns, TABLE_WIDTH_MAX, &width) && width > 0)
        cmd->look.width = (unsigned)width;
    else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        cmd->look.width = size.ws_col;
    else
        cmd->look.width = isatty(STDOUT_FILENO) ? 80 : 160; /* into a pipe: nothing is cut early */
}

static int run(const struct verb *verb, struct cmd *cmd, uint64_t given, int count, char **words)
{
    if ((given & BIT(O_HELP)) != 0) {
        print_verb_help(verb);
        return HF_CTL_OK;
    }
    if (!options_fit(verb, given) || !words_fit(verb, (unsigned)count))
        return HF_CTL_USAGE;
    cmd->words_count = (unsigned)count;
    for (int i = 0; i < count; i++)
        cmd->words[i] = words[i];
    return verb->run(cmd);
}

int main(int argc, char **argv)
{
    struct cmd cmd;
    const struct verb *verb;
    uint64_t given;
    unsigned taken = 0;
    int code;

    memset(&cmd, 0, sizeof cmd);
    cmd.socket = CMD_SOCKET;
    (void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is seen at the write */
    look_around(&cmd);
    if (!read_options(argc, argv, &cmd, &given))
        return HF_CTL_USAGE;
    if ((given & BIT(O_VERSION)) != 0) {
        (void)printf("holdfast %s (ruleset %u, protocol %d)\n", HF_VERSION, HF_RULESET,
                     HF_CTL_VERSION);
        return HF_CTL_OK;
    }
    if (argc == optind) {
        print_help();
        return (given & BIT(O_HELP)) != 0 ? HF_CTL_OK : HF_CTL_USAGE;
    }
    verb = find_verb(argc - optind, argv + optind, &taken);
    if (verb == NULL) {
        say_unknown_verb(argc - optind, argv + optind);
        return HF_CTL_USAGE;
    }
    code = run(verb, &cmd, given, argc - optind - (int)taken, argv + optind + taken);
    if (fflush(stdout) != 0 && code == HF_CTL_OK)
        code = HF_CTL_UNREACHABLE;
    return code;
}
