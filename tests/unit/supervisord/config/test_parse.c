/* Every kind of fault with its exact message: what an operator reads is part of the interface. */
#include "supervisord/config/config.h"
#include "tests/unit/check.h"

#include <string.h>

#define CLUSTER "cluster {\n    name: colo\n}\n"                  /* 3 lines */
#define NODE1   "node n1 {\n    id: 1\n    fence_level_1: a\n}\n" /* 4 lines */
#define DEV_A   "fence_device a {\n    agent: fence_dummy\n}\n"   /* 3 lines */
#define SMALL   CLUSTER NODE1 DEV_A                               /* 10 lines */
#define PARAM(line)                                                                                \
    CLUSTER NODE1 "fence_device a {\n    agent: fence_x\n    params {\n        " line              \
                  "\n    }\n}\n"                             /* line 11, column 9 */
#define TIMING(line)   SMALL "timing {\n    " line "\n}\n"   /* line 12, column 5 */
#define WATCHDOG(line) SMALL "watchdog {\n    " line "\n}\n" /* line 12, column 5 */
#define NICS(line)     NIC1 "nics {\n    " line "\n}\n"      /* line 12, column 5 */
#define FABRIC_A(line) NIC1 "fabric a {\n    " line "\n}\n"  /* line 12, column 5 */
#define NIC1                                                                                       \
    CLUSTER "node n1 {\n    id: 1\n    nic_a: ens1f0\n    nic_b: ens2f0\n    address_a: "          \
            "fe80::1\n}\n# \n"                                     /* 10 lines; n1 is line 4 */
#define NODE2(line) NIC1 "node n2 {\n    id: 2\n    " line "\n}\n" /* line 13, column 5 */
#define X58         "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X64         "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X63         "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static struct hf_config config;
static struct hf_err err;

static enum hf_code parse(const char *text)
{
    return config_parse("holdfast.conf", text, strlen(text), &config, &err);
}

static const struct fault {
    const char *text;
    const char *message;
} faults[] = {
    /* bytes */
    {"cluster {\r\n", ":1:10: CR before the newline: save the file with Unix line ends"},
    {"# a\rb\n", ":1:4: control or invisible character U+000D"},
    {"cluster {\n\x01\n", ":2:1: control or invisible character U+0001"},
    {"# \x7f\n", ":1:3: control or invisible character U+007F"},
    {"# \xe2\x80\xae\n", ":1:3: control or invisible character U+202E"},
    {"# \xe2\x80\x8b\n", ":1:3: control or invisible character U+200B"},
    {"# \xc2\x85\n", ":1:3: control or invisible character U+0085"},
    {"\xef\xbb\xbf# x\n", ":1:1: byte order mark: save the file as UTF-8 without it"},
    {"# \xff\n", ":1:3: invalid UTF-8"},
    {"# \xc0\xaf\n", ":1:3: invalid UTF-8"},
    {"# \xed\xa0\x80\n", ":1:3: invalid UTF-8"},
    {"# \xe4\xb8\n", ":1:3: invalid UTF-8"},
    {"#" X64 X64 X64 X64 X64 X64 X64 X64 "\n", ":1:513: line longer than 512 bytes"},

    /* structure */
    {"", ":1:1: section 'cluster' is missing"},
    {CLUSTER, ":1:1: section 'node NAME' is missing: a group has 1 to 8"},
    {"hello\n", ":1:1: expected 'key: value', 'section {', '}' or a '#' comment"},
    {"node n1\n{\n", ":1:1: expected 'key: value', 'section {', '}' or a '#' comment"},
    {"\n  {\n", ":2:3: '{' without a section: it stands on the line of the section's name"},
    {"cluster { name: x }\n", ":1:11: text after '{': one statement a line"},
    {"cluster {\n} # end\n", ":2:3: text after '}': one statement a line"},
    {"cluster {\n    name: x }\n", ":2:13: '}' after a value: one statement a line"},
    {"cluster {\n    name: {x\n", ":2:11: '{' after a value: one statement a line"},
    {"}\n", ":1:1: '}' closes nothing: no section is open"},
    {CLUSTER "}\n", ":4:1: '}' closes nothing: no section is open"},
    {"cluster {\n    name: x\n",
     ":2:1: the file ends inside section 'cluster', opened at line 1: '}' is missing"},
    {CLUSTER "node n1 {\n    id: 1\nnode n2 {\n",
     ":6:1: section 'node' cannot be inside section 'node n1', opened at line 4: is its '}' "
     "missing?"},
    {"fence_device a {\n    params {\n", ":2:1: the file ends inside section 'params' of "
                                         "fence_device 'a', opened at line 2: '}' is missing"},
    {"name: x\n", ":1:1: key 'name' outside of every section"},
    {": x\n", ":1:1: ':' without a key before it"},

    /* sections */
    {"clustr {\n", ":1:1: unknown section 'clustr' in the file (did you mean 'cluster'?)"},
    {"totem {\n", ":1:1: unknown section 'totem' in the file"},
    {"fence_device a {\n    param {\n", ":2:5: unknown section 'param' in section 'fence_device "
                                        "a' (did you mean 'params'?)"},
    {"params {\n", ":1:1: section 'params' belongs inside section 'fence_device'"},
    {"cluster colo {\n", ":1:9: section 'cluster' has no name: write 'cluster {'"},
    {"node {\n", ":1:1: section 'node' needs a name: write 'node NAME {'"},
    {"node n/1 {\n", ":1:6: bad name 'n/1': up to 63 of A-Z a-z 0-9 . _ -, first a letter or "
                     "digit"},
    {"node a b {\n", ":1:6: bad name 'a b': up to 63 of A-Z a-z 0-9 . _ -, first a letter or "
                     "digit"},
    {"node " X64 " {\n", ":1:6: bad name '" X63 "...': up to 63 of A-Z a-z 0-9 . _ -, first a "
                         "letter or digit"},
    {CLUSTER "\ncluster {\n", ":5:1: section 'cluster' is given twice, first at line 1"},
    {"timing {\n}\ntiming {\n", ":3:1: section 'timing' is given twice, first at line 1"},
    {SMALL "node n1 {\n", ":11:1: node 'n1' is given twice, first at line 4"},
    {SMALL "fence_device a {\n", ":11:1: fence_device 'a' is given twice, first at line 8"},
    {"fence_device a {\n    params {\n    }\n    params {\n",
     ":4:5: section 'params' is given twice, first at line 2"},

    /* keys */
    {"cluster {\n    nme: x\n", ":2:5: unknown key 'nme' in section 'cluster' (did you mean "
                                "'name'?)"},
    {"node n1 {\n    reserve: 1GiB\n", ":2:5: unknown key 'reserve' in section 'node n1' (known: "
                                       "id, reserve_memory, watchdog, fence_level_1, "
                                       "fence_level_2, fence_level_3, fence_level_4, nic_a, nic_b, "
                                       "address_a, address_b)"},
    {"cluster {\n    beat: 1s\n", ":2:5: unknown key 'beat' in section 'cluster' (it belongs in "
                                  "section 'timing')"},
    {"cluster {\n    name:\n", ":2:10: no value for 'name'"},
    {"cluster {\n    name: x\n    name: y\n", ":3:5: key 'name' is given twice, first at line 2"},
    {"cluster {\n}\n", ":1:1: section 'cluster' has no 'name'"},
    {CLUSTER "node n1 {\n}\n", ":4:1: section 'node n1' has no 'id'"},
    {"fence_device a {\n}\n", ":1:1: section 'fence_device a' has no 'agent'"},
    {"cluster {\n    name: x # mine\n", ":2:13: '#' after a value: a comment has a line of its "
                                        "own"},
    {"cluster {\n    name: x\ty\n", ":2:12: tab inside a value"},

    /* values */
    {"cluster {\n    name: a b\n", ":2:11: bad value 'a b' for 'name': expected a name: up to 63 "
                                   "of A-Z a-z 0-9 . _ -, first a letter or digit"},
    {"fence_device a {\n    agent: ipmilan\n", ":2:12: bad value 'ipmilan' for 'agent': expected "
                                               "the name of a fence agent, such as fence_ipmilan"},
    {"fence_device a {\n    agent: fence_\n", ":2:12: bad value 'fence_' for 'agent': expected "
                                              "the name of a fence agent, such as fence_ipmilan"},
    {"fence_device a {\n    agent: fence_../x\n",
     ":2:12: bad value 'fence_../x' for 'agent': expected the name of a fence agent, such as "
     "fence_ipmilan"},
    {"fence_device a {\n    credentials: /etc/shadow\n",
     ":2:18: bad value '/etc/shadow' for 'credentials': expected a name: up to 63 of A-Z a-z 0-9 "
     ". _ -, first a letter or digit"},
    {"node n1 {\n    id: one\n", ":2:9: bad value 'one' for 'id': expected a whole number"},
    {"node n1 {\n    id: 0\n", ":2:9: '0' for 'id' is out of range: 1 to 65535"},
    {"node n1 {\n    id: 65536\n", ":2:9: '65536' for 'id' is out of range: 1 to 65535"},
    {"node n1 {\n    id: 99999999999999999999\n",
     ":2:9: bad value '99999999999999999999' for 'id': expected a whole number"},
    {"node n1 {\n    reserve_memory: 4GB\n", ":2:21: bad value '4GB' for 'reserve_memory': "
                                             "expected an amount with its unit (MiB or GiB), such "
                                             "as 4GiB"},
    {"node n1 {\n    reserve_memory: GiB\n", ":2:21: bad value 'GiB' for 'reserve_memory': "
                                             "expected an amount with its unit (MiB or GiB), such "
                                             "as 4GiB"},
    {"node n1 {\n    reserve_memory: 4294967295GiB\n",
     ":2:21: '4294967295GiB' for 'reserve_memory' is out of range: 64MiB to 1024GiB"},
    {TIMING("beat: 500"), ":12:11: bad value '500' for 'beat': expected a duration with its unit "
                          "(ms, s, min or h), such as 500ms"},
    {TIMING("beat: -1s"), ":12:11: bad value '-1s' for 'beat': expected a duration with its unit "
                          "(ms, s, min or h), such as 500ms"},
    {TIMING("stop_deadline: 19s"), ":12:20: '19s' for 'stop_deadline' is out of range: 20s to 1h"},
    {TIMING("stable: 5000000h"), ":12:13: '5000000h' for 'stable' is out of range: 1s to 24h"},
    {TIMING("fence_retry: 1s,, 2s"), ":12:21: empty item in the list 'fence_retry'"},
    {TIMING("fence_retry: 1s, "), ":12:21: empty item in the list 'fence_retry'"},
    {TIMING("fence_retry: 1s, 0s"), ":12:22: '0s' for 'fence_retry' is out of range: 100ms to "
                                    "1h"},
    {TIMING("fence_retry: 1s, 2s, 3s, 4s, 5s, 6s, 7s, 8s, 9s"),
     ":12:50: too many items in the list 'fence_retry': at most 8"},
    {"node n1 {\n    fence_level_1: a, b, c, d, e\n",
     ":2:32: too many items in the list 'fence_level_1': at most 4"},
    {"node n1 {\n    fence_level_1: a b\n",
     ":2:20: bad value 'a b' for 'fence_level_1': expected a name: up to 63 of A-Z a-z 0-9 . _ -, "
     "first a letter or digit"},

    {TIMING("storm_fences: 0"), ":12:19: '0' for 'storm_fences' is out of range: 1 to 255"},
    {TIMING("storm_fences: 256"), ":12:19: '256' for 'storm_fences' is out of range: 1 to 255"},
    {TIMING("returns_max: 1"), ":12:18: '1' for 'returns_max' is out of range: 2 to 255"},
    {TIMING("hold_max: 2h"), ":12:15: '2h' for 'hold_max' is out of range: 1s to 1h"},
    {"node n1 {\n    watchdog: true\n", ":2:15: bad value 'true' for 'watchdog': expected yes or "
                                        "no"},

    /* the watchdog */
    {"watchdog x {\n", ":1:10: section 'watchdog' has no name: write 'watchdog {'"},
    {WATCHDOG("use: maybe"), ":12:10: bad value 'maybe' for 'use': expected yes or no"},
    {WATCHDOG("timeout: 1500ms"), ":12:14: bad value '1500ms' for 'timeout': expected whole "
                                  "seconds, such as 5s"},
    {WATCHDOG("timeout: 61s"), ":12:14: '61s' for 'timeout' is out of range: 1s to 1min"},
    {WATCHDOG("timeout: 0s"), ":12:14: '0s' for 'timeout' is out of range: 1s to 1min"},
    {WATCHDOG("lease: 31s"), ":12:12: '31s' for 'lease' is out of range: 1s to 30s"},
    {WATCHDOG("device: watchdog"), ":12:13: bad value 'watchdog' for 'device': expected a device, "
                                   "such as /dev/watchdog0"},
    {WATCHDOG("device: /dev/../etc/passwd"),
     ":12:13: bad value '/dev/../etc/passwd' for 'device': expected a device, such as "
     "/dev/watchdog0"},
    {WATCHDOG("device: /dev/a b"), ":12:13: bad value '/dev/a b' for 'device': expected a device, "
                                   "such as /dev/watchdog0"},
    {WATCHDOG("device: /dev/"), ":12:13: bad value '/dev/' for 'device': expected a device, such "
                                "as /dev/watchdog0"},
    {WATCHDOG("device: /dev/" X64), ":12:13: bad value '/dev/" X58 "...' for 'device': expected a "
                                    "device, such as /dev/watchdog0"},
    {WATCHDOG("safe_time: soon"), ":12:16: bad value 'soon' for 'safe_time': expected 'computed' "
                                  "or a duration with its unit, such as 20s"},
    {WATCHDOG("safe_time: 9s"),
     ":12:16: safe_time 9s: lease 4s + 2 x timeout 5s + 1 % + 1s = 15140ms at least"},
    {WATCHDOG("safe_time: 15139ms"),
     ":12:16: safe_time 15139ms: lease 4s + 2 x timeout 5s + 1 % + 1s = 15140ms at least"},
    {WATCHDOG("use: yes\n    lease: 1499ms"),
     ":13:12: 'lease' is 1499ms with a 'beat' of 500ms: at least 3 beats, or one lost message "
     "stops a node's VMs"},
    {WATCHDOG("use: yes\n}\ntiming {\n    beat: 1334ms\n    mute_after: 5s"),
     ":12:10: 'lease' is 4s with a 'beat' of 1334ms: at least 3 beats, or one lost message stops "
     "a node's VMs"},
    {WATCHDOG("}\nwatchdog {"), ":13:1: section 'watchdog' is given twice, first at line 11"},

    /* network cards */
    {"fabric {\n", ":1:1: section 'fabric' needs a name: write 'fabric NAME {'"},
    {"fabric c {\n", ":1:1: there is no fabric 'c': there are 'a' and 'b'"},
    {"fabric aa {\n", ":1:1: there is no fabric 'aa': there are 'a' and 'b'"},
    {"fabric a {\n}\nfabric a {\n", ":3:1: fabric 'a' is given twice, first at line 1"},
    {"nics {\n}\nnics {\n", ":3:1: section 'nics' is given twice, first at line 1"},
    {SMALL "nics {\n}\n", ":11:1: section 'nics' without a node that has 'nic_a' or 'nic_b'"},
    {SMALL "fabric b {\n}\n", ":11:1: fabric 'b' without a node that has 'nic_b'"},
    {NICS("poll: 0ms"), ":12:11: '0ms' for 'poll' is out of range: 1ms to 100ms"},
    {NICS("poll: 1us"),
     ":12:11: bad value '1us' for 'poll': expected a duration with its unit (ms, "
     "s, min or h), such as 500ms"},
    {NICS("hold_down_max: 29s"),
     ":12:20: 'hold_down_max' is 29s, less than 'hold_down', which is 30s"},
    {NICS("hold_down: 11min"),
     ":12:16: 'hold_down_max' is 10min, less than 'hold_down', which is 11min"},
    {FABRIC_A("bfd_interval: 4ms"), ":12:19: '4ms' for 'bfd_interval' is out of range: 5ms to 1s"},
    {FABRIC_A("bfd_multiplier: 1"),
     ":12:21: 'bfd_multiplier' is 1: one lost packet would silence a "
     "peer; 2 at least, or 0 for no BFD"},
    {FABRIC_A("bfd_peer: fe80::g"),
     ":12:15: bad value 'fe80::g' for 'bfd_peer': expected an address "
     "of one host, such as fe80::1 or 10.1.0.1"},
    {FABRIC_A("bfd_peer: fe80::2%eth0"),
     ":12:15: bad value 'fe80::2%eth0' for 'bfd_peer': expected an address of one host, such as "
     "fe80::1 or 10.1.0.1"},
    {FABRIC_A("bfd_peer: fe80::2, fe80::3, fe80::4, fe80::5, fe80::6"),
     ":12:51: too many items in the list 'bfd_peer': at most 4"},
    {FABRIC_A("bfd_peer: fe80::2\n    bfd_multiplier: 0"),
     ":12:15: 'bfd_peer' with 'bfd_multiplier: 0', which is no BFD"},
    {FABRIC_A("bfd_peer: fe80::2, fe80:0::2"), ":12:24: address fe80::2 is given twice, first at "
                                               "line 12"},
    {FABRIC_A("bfd_peer: 10.0.0.1"),
     ":12:15: address 10.0.0.1 is IPv4, that of line 8 is IPv6: the "
     "BFD of one fabric speaks one of them"},
    {NIC1 "fabric b {\n    bfd_peer: 10.0.0.1\n}\n",
     ":12:15: 'bfd_peer' without an 'address_b': no node could speak to it"},
    {NODE2("nic_a: ens/1"), ":13:12: bad value 'ens/1' for 'nic_a': expected an interface, such as "
                            "enp1s0f0, or a PCI address, such as 0000:01:00.0"},
    {NODE2("nic_a: 0000:01:00.8"), ":13:12: bad value '0000:01:00.8' for 'nic_a': expected an "
                                   "interface, such as enp1s0f0, or a PCI address, such as "
                                   "0000:01:00.0"},
    {NODE2("nic_a: 0000:0A:00.0"), ":13:12: bad value '0000:0A:00.0' for 'nic_a': expected an "
                                   "interface, such as enp1s0f0, or a PCI address, such as "
                                   "0000:01:00.0"},
    {NODE2("nic_a: enp65s0f0np0abcd"), ":13:12: bad value 'enp65s0f0np0abcd' for 'nic_a': expected "
                                       "an interface, such as enp1s0f0, or a PCI address, such as "
                                       "0000:01:00.0"},
    {NODE2("nic_a: ens1f0\n    nic_b: ens1f0"),
     ":14:12: 'nic_b' is 'nic_a' again, line 13: two fabrics need two cards"},
    {NODE2("nic_a: 0000:01:00.0\n    nic_b: 0000:01:00.1"),
     ":14:12: 'nic_b' is on the card of 'nic_a', line 13: its ports share one controller and die "
     "together"},
    {NODE2("address_b: 10.0.0.2"), ":13:16: 'address_b' without 'nic_b'"},
    {NODE2("nic_a: ens1f0"),
     ":13:12: node 'n2' has no 'address_a' and node 'n1' has one: BFD needs "
     "it on every node of the fabric, or on none"},
    {NODE2("nic_a: ens1f0\n    address_a: fe80::1"),
     ":14:16: address fe80::1 is given twice, first at line 8"},
    {NODE2("nic_a: ens1f0\n    address_a: 10.0.0.2"),
     ":14:16: address 10.0.0.2 is IPv4, that of line 8 is IPv6: the BFD of one fabric speaks one "
     "of "
     "them"},
    {NODE2("address_a: 0.0.0.0"),
     ":13:16: bad value '0.0.0.0' for 'address_a': expected an address "
     "of one host, such as fe80::1 or 10.1.0.1"},
    {NODE2("address_a: ff02::1"),
     ":13:16: bad value 'ff02::1' for 'address_a': expected an address "
     "of one host, such as fe80::1 or 10.1.0.1"},
    {NODE2("address_a: 127.0.0.1"), ":13:16: bad value '127.0.0.1' for 'address_a': expected an "
                                    "address of one host, such as fe80::1 or 10.1.0.1"},
    {NODE2("address_a: 224.0.0.1"), ":13:16: bad value '224.0.0.1' for 'address_a': expected an "
                                    "address of one host, such as fe80::1 or 10.1.0.1"},

    /* parameters */
    {PARAM("action: off"), ":11:9: parameter 'action' is refused: the action is Holdfast's own "
                           "decision"},
    {PARAM("option: off"), ":11:9: parameter 'option' is refused: it is an old name of 'action', "
                           "which is Holdfast's own decision"},
    {PARAM("password: x"), ":11:9: parameter 'password' is refused: secrets belong in the "
                           "credentials file"},
    {PARAM("passwd_script: x"), ":11:9: parameter 'passwd_script' is refused: secrets belong in "
                                "the credentials file"},
    {PARAM("snmp-priv-passwd: x"), ":11:9: parameter 'snmp-priv-passwd' is refused: secrets belong "
                                   "in the credentials file"},
    {PARAM("community: x"), ":11:9: parameter 'community' is refused: secrets belong in the "
                            "credentials file"},
    {PARAM("debug-file: /x"), ":11:9: parameter 'debug-file' is refused: it writes the password to "
                              "a file"},
    {PARAM("help: 1"), ":11:9: parameter 'help' is refused: it makes the agent do nothing and "
                       "report success"},
    {PARAM("method: cycle"), ":11:17: parameter 'method' may only be 'onoff': a power cycle proves "
                             "nothing"},
    {PARAM("Ip: x"), ":11:9: bad parameter name 'Ip': expected a-z 0-9 _ -, first a letter"},
    {PARAM("a=b: x"), ":11:9: bad parameter name 'a=b': expected a-z 0-9 _ -, first a letter"},
    {PARAM("abcdefghijklmnopqrstuvwxyzabcdef: x"),
     ":11:9: parameter name 'abcdefghijklmnopqrstuvwxyzabcdef' is longer than 31 characters"},
    {PARAM("ip: " X64 X64 X64 X64), ":11:13: value of 'ip' is longer than 255 bytes"},
    {PARAM("ip: x }"), ":11:15: '}' after a value: one statement a line"},
    {PARAM("ip: x #y"), ":11:15: '#' after a value: a comment has a line of its own"},
    {PARAM("power-wait: 1\npower_wait: 2"), ":12:1: parameter 'power_wait' is given twice"},
    {PARAM("a:1\nb:1\nc:1\nd:1\ne:1\nf:1\ng:1\nh:1\ni:1\nj:1\nk:1\nl:1\nm:1\nn:1\no:1\np:1\nq:1\n"
           "r:1\ns:1\nt:1\nu:1\nv:1\nw:1\nx:1\ny:1"),
     ":35:1: too many parameters: at most 24"},

    /* the whole file */
    {SMALL "timing {\n    beat: 1s\n}\n", ":12:11: 'mute_after' is 2s with a 'beat' of 1s: at "
                                          "least 3 beats, or one lost message makes a member mute"},
    {SMALL "timing {\n    mute_after: 1499ms\n    beat: 500ms\n}\n",
     ":12:17: 'mute_after' is 1499ms with a 'beat' of 500ms: at least 3 beats, or one lost message "
     "makes a member mute"},
    {SMALL "timing {\n    silent_grace: 3s\n}\n",
     ":12:19: 'silent_grace' is 3s with a 'mute_after' of 2s: at least twice that, or a few lost "
     "messages cost a host"},
    {SMALL "timing {\n    mute_after: 6s\n}\n",
     ":12:17: 'silent_grace' is 10s with a 'mute_after' of 6s: at least twice that, or a few lost "
     "messages cost a host"},
    {SMALL "node n2 {\n    id: 1\n}\n", ":12:9: id 1 is already that of node 'n1', line 5"},
    {CLUSTER NODE1, ":6:20: there is no fence_device 'a'"},
    {SMALL "node n2 {\n    id: 2\n    fence_level_1: bmc-n3\n}\nfence_device bmc-n2 {\n"
           "    agent: fence_x\n}\n",
     ":13:20: there is no fence_device 'bmc-n3' (did you mean 'bmc-n2'?)"},
    {SMALL "node n2 {\n    id: 2\n    fence_level_1: a\n}\n",
     ":13:20: fence_device 'a' is used twice, first at line 6: a device switches off one node"},
    {CLUSTER "node n1 {\n    id: 1\n    fence_level_1: a, a\n}\n" DEV_A,
     ":6:23: fence_device 'a' is used twice, first at line 6: a device switches off one node"},
    {CLUSTER "node n1 {\n    id: 1\n    fence_level_2: a\n}\n" DEV_A,
     ":6:20: 'fence_level_2' without 'fence_level_1'"},
    {SMALL "fence_device b {\n    agent: fence_x\n}\n", ":11:1: fence_device 'b' is used by no "
                                                        "node"},
    {SMALL "fence_device b {\n    agent: fence_dummy\n}\n",
     ":11:1: fence_device 'b' has the same agent and parameters as 'a', line 8: it would switch "
     "off the same node"},
    {CLUSTER NODE1 "fence_device a {\n    agent: fence_redfish\n}\n",
     ":8:1: fence_device 'a' has no parameter 'systems_uri': fence_redfish would switch off "
     "whichever system its controller lists last"},
};
enum { FAULTS = sizeof faults / sizeof faults[0] };

START_TEST(every_fault_has_its_message)
{
    char want[sizeof err.text];

    snprintf(want, sizeof want, "holdfast.conf%s", faults[_i].message);
    ck_assert_int_eq(parse(faults[_i].text), HF_EINVAL);
    ck_assert_int_eq(err.code, HF_EINVAL);
    ck_assert_str_eq(err.text, want);
}
END_TEST

START_TEST(after_a_fault_nothing_is_left)
{
    static const struct hf_config nothing;

    ck_assert_int_eq(parse(SMALL), HF_OK);
    ck_assert_int_eq(parse(faults[_i].text), HF_EINVAL);
    ck_assert_int_eq(memcmp(&config, &nothing, sizeof config), 0);
}
END_TEST

START_TEST(a_nul_byte_is_refused)
{
    static const char text[] = "cluster {\n    na\0me: x\n}\n";

    ck_assert_int_eq(config_parse("f", text, sizeof text - 1, &config, &err), HF_EINVAL);
    ck_assert_str_eq(err.text, "f:2:7: NUL byte");
}
END_TEST

START_TEST(a_file_too_large_is_refused)
{
    char *text = malloc(HF_CONFIG_TEXT_MAX + 1);

    memset(text, '\n', HF_CONFIG_TEXT_MAX + 1);
    ck_assert_int_eq(config_parse("f", text, HF_CONFIG_TEXT_MAX + 1, &config, &err), HF_EINVAL);
    ck_assert_str_eq(err.text, "f:1:1: the file is larger than 262144 bytes");
    memcpy(text, SMALL, strlen(SMALL));
    ck_assert_int_eq(config_parse("f", text, HF_CONFIG_TEXT_MAX, &config, &err), HF_OK);
    free(text);
}
END_TEST

START_TEST(a_ninth_node_is_refused)
{
    char text[1024] = CLUSTER;

    for (int i = 1; i <= HF_NODES_MAX + 1; i++) {
        char node[64];

        snprintf(node, sizeof node, "node n%d {\n    id: %d\n}\n", i, i);
        strcat(text, node);
    }
    ck_assert_int_eq(parse(text), HF_EINVAL);
    ck_assert_str_eq(err.text, "holdfast.conf:28:1: too many nodes: at most 8");
}
END_TEST

START_TEST(a_thirty_third_device_is_refused)
{
    char text[4096] = "";

    for (int i = 1; i <= HF_DEVICES_MAX + 1; i++) {
        char device[64];

        snprintf(device, sizeof device, "fence_device d%d {\n    agent: fence_x\n}\n", i);
        strcat(text, device);
    }
    ck_assert_int_eq(parse(text), HF_EINVAL);
    ck_assert_str_eq(err.text, "holdfast.conf:97:1: too many fence devices: at most 32");
}
END_TEST

/* The default lanplus needs a free place: never a silent overflow. */
START_TEST(a_default_parameter_has_no_room)
{
    char text[2048] = CLUSTER NODE1 "fence_device a {\n    agent: fence_ipmilan\n    params {\n";

    for (char c = 'a'; c < 'a' + HF_FENCE_PARAMS_MAX; c++) {
        char param[16];

        snprintf(param, sizeof param, "%c: 1\n", c);
        strcat(text, param);
    }
    strcat(text, "}\n}\n");
    ck_assert_int_eq(parse(text), HF_EINVAL);
    ck_assert_str_eq(err.text, "holdfast.conf:8:1: too many parameters: at most 24");
}
END_TEST

START_TEST(the_first_error_wins)
{
    ck_assert_int_eq(parse("cluster {\n    nme: x\n    \x01\n"), HF_EINVAL);
    ck_assert_str_eq(err.text, "holdfast.conf:2:5: unknown key 'nme' in section 'cluster' (did "
                               "you mean 'name'?)");
}
END_TEST

START_TEST(defaults_are_those_of_the_manual)
{
    static const uint32_t retry[] = {1000, 2000, 5000, 15000, 30000};
    static const uint32_t backoff[] = {0, 2000, 10000, 30000, 120000};
    const struct hf_policy *policy = &config.group.policy;

    ck_assert_int_eq(parse(SMALL), HF_OK);
    ck_assert_str_eq(config.group.name, "colo");
    ck_assert_uint_eq(config.beat_ms, 500);
    ck_assert_uint_eq(config.mute_after_ms, 2000);
    ck_assert_uint_eq(policy->silent_grace_ms, 10000);
    ck_assert_uint_eq(policy->startup_grace_ms, 60000);
    ck_assert_uint_eq(policy->fence_deadline_ms, 60000);
    ck_assert_uint_eq(policy->start_deadline_ms, 60000);
    ck_assert_uint_eq(policy->stop_deadline_ms, 30000);
    ck_assert_uint_eq(policy->stable_ms, 600000);
    ck_assert_uint_eq(policy->maintenance_max_ms, 4 * 3600000);
    ck_assert_uint_eq(policy->fence_retry_count, 5);
    ck_assert_mem_eq(policy->fence_retry_ms, retry, sizeof retry);
    ck_assert_uint_eq(policy->restart_backoff_count, 5);
    ck_assert_mem_eq(policy->restart_backoff_ms, backoff, sizeof backoff);
    ck_assert_uint_eq(config.group.nodes[0].reserve_mib, 2048);
    ck_assert_uint_eq(policy->hold_max_ms, 60000);
    ck_assert_uint_eq(policy->settle_ms, 10000);
    ck_assert_uint_eq(policy->flap_window_ms, 600000);
    ck_assert_uint_eq(policy->returns_max, 4);
    ck_assert_uint_eq(policy->storm_fences, 3);
    ck_assert_uint_eq(policy->storm_window_ms, 600000);
    ck_assert_uint_eq(policy->safe_time_ms, 0);
    ck_assert(!config.watchdog.is_used);
    ck_assert(!config.watchdog.allow_softdog);
    ck_assert_uint_eq(config.watchdog.timeout_ms, 5000);
    ck_assert_uint_eq(config.watchdog.lease_ms, 4000);
    ck_assert_str_eq(config.watchdog.device, "/dev/watchdog");
}
END_TEST

START_TEST(the_watchdog_lands_where_it_belongs)
{
    ck_assert_int_eq(parse(SMALL "watchdog {\n use: yes\n device: /dev/watchdog1\n timeout: 8s\n"
                                 " lease: 2500ms\n allow_softdog: yes\n safe_time: 19685ms\n}\n"
                                 "node n2 {\n id: 2\n watchdog: no\n}\n"
                                 "node n3 {\n id: 3\n watchdog: yes\n}\n"),
                     HF_OK);
    ck_assert(config.watchdog.is_used);
    ck_assert(config.watchdog.allow_softdog);
    ck_assert_str_eq(config.watchdog.device, "/dev/watchdog1");
    ck_assert_uint_eq(config.watchdog.timeout_ms, 8000);
    ck_assert_uint_eq(config.watchdog.lease_ms, 2500);
    ck_assert_uint_eq(config.watchdog.nodes, 5);
    /* 2500 + 16000, and 1 % of it (185), and 1000 */
    ck_assert_uint_eq(config.group.policy.safe_time_ms, 19685);
    ck_assert_uint_eq(config.group.policy.safe_time_ms, hf_safe_time_ms(2500, 8000));
    ck_assert(config.group.nodes[0].has_watchdog);
    ck_assert(!config.group.nodes[1].has_watchdog);
    ck_assert(config.group.nodes[2].has_watchdog);
    ck_assert(config_can_prove_dead(&config, (hf_node){0}));
    ck_assert(!config_can_prove_dead(&config, (hf_node){1}));
    ck_assert(config_can_prove_dead(&config, (hf_node){2}));
}
END_TEST

START_TEST(cards_land_where_they_belong)
{
    static const struct hf_nics_conf *nics = &config.nics;

    ck_assert_int_eq(parse(SMALL), HF_OK);
    ck_assert(!nics->is_used);
    ck_assert_uint_eq(nics->poll_us, 1000);
    ck_assert_uint_eq(nics->hold_down_ms, 30000);
    ck_assert_uint_eq(nics->hold_down_max_ms, 600000);
    ck_assert_uint_eq(nics->flip_deadline_ms, 200);
    ck_assert_uint_eq(nics->bfd_interval_us[1], 10000);
    ck_assert_uint_eq(nics->bfd_multiplier[1], 3);
    ck_assert_uint_eq(config.group.policy.leg_move_ms, 5000);
    ck_assert_uint_eq(config.group.nodes[0].fabrics, 0);

    ck_assert_int_eq(
        parse(CLUSTER "nics {\n poll: 2ms\n hold_down: 10s\n hold_down_max: 20s\n"
                      " flip_deadline: 100ms\n leg_move: 8s\n}\n"
                      "fabric b {\n bfd_interval: 1s\n bfd_multiplier: 5\n bfd_peer: 10.0.0.9\n}\n"
                      "node x {\n id: 1\n nic_b: 0000:a1:00.1\n address_b: 10.0.0.1\n}\n"
                      "node y {\n id: 2\n nic_a: ens1f0\n nic_b: br-b\n address_b: 10.0.0.2\n}\n"
                      "node z {\n id: 3\n}\n"),
        HF_OK);
    ck_assert(nics->is_used);
    ck_assert_uint_eq(nics->poll_us, 2000);
    ck_assert_uint_eq(nics->hold_down_ms, 10000);
    ck_assert_uint_eq(nics->hold_down_max_ms, 20000);
    ck_assert_uint_eq(nics->flip_deadline_ms, 100);
    ck_assert_uint_eq(config.group.policy.leg_move_ms, 8000);
    ck_assert_uint_eq(nics->bfd_interval_us[0], 10000);
    ck_assert_uint_eq(nics->bfd_interval_us[1], 1000000);
    ck_assert_uint_eq(nics->bfd_multiplier[1], 5);
    ck_assert_str_eq(nics->bfd_peer[1][0], "10.0.0.9");
    ck_assert_str_eq(nics->bfd_peer[1][1], "");
    ck_assert_str_eq(nics->pf[0][0], "");
    ck_assert_str_eq(nics->pf[0][1], "0000:a1:00.1");
    ck_assert_str_eq(nics->pf[1][0], "ens1f0");
    ck_assert_str_eq(nics->address[1][1], "10.0.0.2");
    ck_assert_uint_eq(config.group.nodes[0].fabrics, 2);
    ck_assert_uint_eq(config.group.nodes[1].fabrics, 3);
    ck_assert_uint_eq(config.group.nodes[2].fabrics, 0);
    ck_assert(config_has_bfd(&config, (hf_node){0}, 1));
    ck_assert(!config_has_bfd(&config, (hf_node){0}, 0));
    ck_assert(!config_has_bfd(&config, (hf_node){1}, 0));
}
END_TEST

START_TEST(an_empty_timing_section_means_the_same_as_none)
{
    struct hf_digest without;

    ck_assert_int_eq(parse(SMALL), HF_OK);
    without = config.group.config;
    ck_assert_int_eq(parse(SMALL "timing {\n}\n"), HF_OK);
    ck_assert(hf_digest_equal(&config.group.config, &without));
    ck_assert_int_eq(parse(SMALL "watchdog {\n}\n"), HF_OK);
    ck_assert(hf_digest_equal(&config.group.config, &without));
}
END_TEST

START_TEST(every_value_lands_where_it_belongs)
{
    ck_assert_int_eq(parse(CLUSTER
                           "timing {\n beat: 1s\n mute_after: 3s\n silent_grace: 6s\n"
                           " startup_grace: 5s\n fence_deadline: 6s\n start_deadline: 7s\n"
                           " stop_deadline: 20s\n stable: 9s\n maintenance_max: 10min\n"
                           " fence_retry: 11s ,12s\n restart_backoff: 0ms\n}\n"
                           "node n2 {\n\tid: 65535\n\treserve_memory: 1536MiB\n}\n"
                           "node n1 {\n\tid:1\n\tfence_level_1: c\n\tfence_level_2: b,a\n}\n"
                           "fence_device c {\n  agent : fence_c\n  credentials: c.cred\n"
                           "  params {\n   zip: x y\n   ip: a#b:c\n  }\n}\n"
                           "fence_device b {\n agent: fence_b\n}\n" DEV_A),
                     HF_OK);

    const struct hf_policy *policy = &config.group.policy;
    ck_assert_uint_eq(config.beat_ms, 1000);
    ck_assert_uint_eq(config.mute_after_ms, 3000);
    ck_assert_uint_eq(policy->silent_grace_ms, 6000);
    ck_assert_uint_eq(policy->startup_grace_ms, 5000);
    ck_assert_uint_eq(policy->fence_deadline_ms, 6000);
    ck_assert_uint_eq(policy->start_deadline_ms, 7000);
    ck_assert_uint_eq(policy->stop_deadline_ms, 20000);
    ck_assert_uint_eq(policy->stable_ms, 9000);
    ck_assert_uint_eq(policy->maintenance_max_ms, 600000);
    ck_assert_uint_eq(policy->fence_retry_count, 2);
    ck_assert_uint_eq(policy->fence_retry_ms[1], 12000);
    ck_assert_uint_eq(policy->restart_backoff_count, 1);
    ck_assert_uint_eq(config.group.nodes_count, 2);
    ck_assert_str_eq(config.group.nodes[0].name, "n2");
    ck_assert_uint_eq(config.group.nodes[0].nodeid, 65535);
    ck_assert_uint_eq(config.group.nodes[0].reserve_mib, 1536);
    ck_assert_uint_eq(config.group.nodes[0].fence_levels, 0);
    ck_assert_uint_eq(config.group.nodes[1].fence_levels, 2);
    ck_assert_uint_eq(config.devices_count, 3);
    ck_assert_str_eq(config.devices[2].name, "c");
    ck_assert_str_eq(config.devices[2].agent, "fence_c");
    ck_assert_str_eq(config.devices[2].credentials, "c.cred");
    ck_assert_uint_eq(config.devices[2].params_count, 2);
    ck_assert_str_eq(config.devices[2].params[0].key, "ip");
    ck_assert_str_eq(config.devices[2].params[0].value, "a#b:c");
    ck_assert_str_eq(config.devices[2].params[1].value, "x y");
    ck_assert_uint_eq(config.fence[0].levels_count, 0);
    ck_assert_uint_eq(config.fence[1].levels_count, 2);
    ck_assert_uint_eq(config.fence[1].level[0].devices_count, 1);
    ck_assert_uint_eq(config.fence[1].level[0].device[0], 2);
    ck_assert_uint_eq(config.fence[1].level[1].devices_count, 2);
    ck_assert_uint_eq(config.fence[1].level[1].device[0], 1);
    ck_assert_uint_eq(config.fence[1].level[1].device[1], 0);
}
END_TEST

START_TEST(ipmilan_speaks_ipmi_2_unless_told_otherwise)
{
    ck_assert_int_eq(parse(CLUSTER NODE1 "fence_device a {\n agent: fence_ipmilan\n}\n"), HF_OK);
    ck_assert_uint_eq(config.devices[0].params_count, 1);
    ck_assert_str_eq(config.devices[0].params[0].key, "lanplus");
    ck_assert_str_eq(config.devices[0].params[0].value, "1");
    ck_assert_int_eq(parse(CLUSTER NODE1 "fence_device a {\n agent: fence_ipmilan\n params {\n"
                                         " lanplus: 0\n }\n}\n"),
                     HF_OK);
    ck_assert_uint_eq(config.devices[0].params_count, 1);
    ck_assert_str_eq(config.devices[0].params[0].value, "0");
}
END_TEST

START_TEST(what_is_allowed)
{
    static const char *const texts[] = {
        SMALL,
        "\n# \xe4\xb8\x8a\xe6\xb5\xb7\n\n" SMALL "# no newline at the end",
        SMALL "node n2 {\n    id: 2\n}\n", /* an even number of nodes; one that cannot be fenced */
        PARAM("method: onoff"),
        WATCHDOG("safe_time: 15140ms"),
        WATCHDOG("use: yes\n    lease: 1500ms"),
        WATCHDOG("lease: 1s"), /* unused */
        PARAM("systems-uri: /redfish/v1/Systems/1"),
        NIC1,
        NODE2("nic_a: ens1f0\n    address_a: fe80::2"),
        NODE2("nic_b: ens1f0"),
        /* every link has its own fe80::1 */
        CLUSTER "node n1 {\n id: 1\n nic_a: x\n nic_b: y\n address_a: fe80::1\n"
                " address_b: fe80::1\n}\n",
        FABRIC_A("bfd_multiplier: 0\n}\nnode n2 {\n    id: 2\n    nic_a: ens1f0"),
        "cluster{\n    name:colo\n}\n" NODE1 DEV_A,
        "cluster\t{ \t\n\tname\t:\tcolo\t\n\t}\t\n" NODE1 DEV_A,
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ck_assert_msg(parse(texts[i]) == HF_OK, "%zu: %s", i, err.text);
}
END_TEST

HF_TEST_MAIN("config/parse", HF_LOOP(every_fault_has_its_message, 0, FAULTS),
             HF_LOOP(after_a_fault_nothing_is_left, 0, FAULTS), HF_CASE(a_nul_byte_is_refused),
             HF_CASE(a_file_too_large_is_refused), HF_CASE(a_ninth_node_is_refused),
             HF_CASE(a_thirty_third_device_is_refused), HF_CASE(a_default_parameter_has_no_room),
             HF_CASE(the_first_error_wins), HF_CASE(defaults_are_those_of_the_manual),
             HF_CASE(the_watchdog_lands_where_it_belongs), HF_CASE(cards_land_where_they_belong),
             HF_CASE(an_empty_timing_section_means_the_same_as_none),
             HF_CASE(every_value_lands_where_it_belongs),
             HF_CASE(ipmilan_speaks_ipmi_2_unless_told_otherwise), HF_CASE(what_is_allowed))
