"""sandbox.py - start a program as a unit file says, without a service manager.

enter(unit, ...) turns the calling process, a child that is about to exec, into what systemd would
make of it: mounts, user, capabilities, system calls, limits. Every directive is either emulated here
or named by not_emulated(): nothing is passed over in silence. Needs root and libseccomp.so.2."""
import ctypes
import ctypes.util
import errno
import grp
import os
import pwd
import re
import resource
import socket
import subprocess

libc = ctypes.CDLL(None, use_errno=True)

# ---- unit files ----


def read_unit(path):
    """{"Section.Key": [values]}; an empty value resets, as in systemd."""
    unit, section = {}, ""
    for line in open(path, encoding="utf-8"):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            section = line.strip("[]")
            continue
        key, value = line.split("=", 1)
        unit.setdefault(f"{section}.{key}", []).append(value)
    return unit


def one(unit, key, default=""):
    return unit.get(f"Service.{key}", [default])[-1]


def words(unit, key):
    return [word for value in unit.get(f"Service.{key}", []) for word in value.split()]


def yes(unit, key):
    return one(unit, key) in ("yes", "true", "1", "on")


# What the manager does and a runner cannot: said in the output, by name.
NOT_EMULATED = {
    "DevicePolicy": "device cgroup",
    "DeviceAllow": "device cgroup",
    "TasksMax": "pids cgroup",
    "MemoryMax": "memory cgroup",
    "KillMode": "the manager's own way to stop",
    "Restart": "the manager's own way to start again",
    "RestartSec": "the manager's own way to start again",
    "TimeoutStopSec": "the manager's own way to stop",
    "WatchdogSec": "the manager's own supervision",
    "RuntimeDirectoryPreserve": "the manager's own way to stop",
    "ExecReload": "the manager's own command",
}
EMULATED = {
    "Type", "ExecStart", "User", "Group", "SupplementaryGroups", "UMask", "RuntimeDirectory",
    "RuntimeDirectoryMode", "StateDirectory", "StateDirectoryMode", "CapabilityBoundingSet",
    "NoNewPrivileges", "ProtectSystem", "ProtectHome", "PrivateTmp", "ProtectKernelTunables",
    "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups", "ProtectClock",
    "ProtectHostname", "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID",
    "LockPersonality", "MemoryDenyWriteExecute", "RestrictAddressFamilies",
    "SystemCallArchitectures", "SystemCallFilter", "SystemCallErrorNumber", "OOMScoreAdjust",
    "PrivateMounts", "ProtectProc", "ProcSubset", "LimitCORE", "LimitNOFILE", "LimitMEMLOCK", "LimitRTPRIO", "PrivateNetwork",
}


NEED_SYS_RESOURCE = {"OOMScoreAdjust", "LimitMEMLOCK", "LimitRTPRIO"}


def may_raise_limits():
    """Containers often lack CAP_SYS_RESOURCE."""
    for line in open("/proc/self/status", encoding="utf-8"):
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16) >> capability_number("CAP_SYS_RESOURCE") & 1 == 1
    return False


def not_emulated(unit):
    keys = [key.split(".")[1] for key in unit if key.startswith("Service.")]
    unknown = [key for key in keys if key not in NOT_EMULATED and key not in EMULATED]
    if unknown:
        raise SystemExit(f"sandbox.py knows nothing of {', '.join(unknown)}: teach it, or name it "
                         "in NOT_EMULATED")
    missing = {key for key in keys if key in NOT_EMULATED}
    if not may_raise_limits():
        missing |= {key for key in keys if key in NEED_SYS_RESOURCE}
    return sorted(missing)


# ---- small system calls ----


def check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    1, 2, 4, 8, 32, 4096, 16384, 1 << 18)
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWNET = 0x20000, 0x4000000, 0x40000000


def mount(source, target, kind, flags, options=None):
    check(libc.mount(source.encode() if source else None, target.encode(),
                     kind.encode() if kind else None, ctypes.c_ulong(flags),
                     options.encode() if options else None), f"mount {target}")


def prctl(*arguments):
    filled = list(arguments) + [0] * (5 - len(arguments))
    check(libc.prctl(*[ctypes.c_ulong(value) for value in filled]), f"prctl {arguments[0]}")


# ---- mounts ----


def mount_points():
    points = []
    for line in open("/proc/self/mountinfo", encoding="utf-8"):
        points.append(line.split()[4].replace("\\040", " "))
    return points


def is_below(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def make_read_only(tree, but):
    for point in sorted(set(mount_points()), key=len):
        if not is_below(point, tree) or any(is_below(point, folder) for folder in but):
            continue
        try:
            flags = os.statvfs(point).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
            mount(None, point, None, MS_REMOUNT | MS_BIND | MS_RDONLY | flags)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.ENOENT, errno.EINVAL):
                raise


def protect_files(unit, writable, overlays):
    libc.unshare(CLONE_NEWNS)
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    for source, target in overlays:
        mount(source, target, None, MS_BIND)
    for folder in writable:
        mount(folder, folder, None, MS_BIND | MS_REC)
    if yes(unit, "PrivateTmp"):
        for folder in ("/tmp", "/var/tmp"):
            mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=16m")
    if yes(unit, "ProtectHome"):
        for folder in ("/home", "/root", "/run/user"):
            if os.path.isdir(folder):
                mount("tmpfs", folder, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "mode=000,size=4k")
    hidden = []
    if yes(unit, "ProtectKernelModules"):
        hidden += ["/usr/lib/modules"]
    for folder in hidden:
        if os.path.isdir(folder):
            mount("tmpfs", folder, "tmpfs", MS_RDONLY, "mode=000,size=4k")
    if yes(unit, "ProtectKernelLogs") and os.path.exists("/dev/kmsg"):
        mount("/dev/null", "/dev/kmsg", None, MS_BIND)
    proc = [f"hidepid={one(unit, 'ProtectProc')}"] if one(unit, "ProtectProc") else []
    proc += [f"subset={one(unit, 'ProcSubset')}"] if one(unit, "ProcSubset") else []
    if proc:
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, ",".join(proc))
    if one(unit, "ProtectSystem") == "strict":
        private = ["/tmp", "/var/tmp"] if yes(unit, "PrivateTmp") else []
        make_read_only("/", ["/dev", "/proc", "/sys"] + private + writable)
    if yes(unit, "ProtectKernelTunables"):
        if os.path.isdir("/proc/sys"):
            mount("/proc/sys", "/proc/sys", None, MS_BIND)
            mount(None, "/proc/sys", None, MS_REMOUNT | MS_BIND | MS_RDONLY)
        make_read_only("/sys", ["/sys/fs/cgroup"])
    if yes(unit, "ProtectControlGroups"):
        make_read_only("/sys/fs/cgroup", [])
    if yes(unit, "ProtectHostname"):
        libc.unshare(CLONE_NEWUTS)
    if yes(unit, "PrivateNetwork"):
        libc.unshare(CLONE_NEWNET)


# ---- system calls ----

SCMP_ACT_ALLOW, SCMP_ACT_ERRNO = 0x7FFF0000, 0x00050000
SCMP_CMP_NE, SCMP_CMP_EQ, SCMP_CMP_MASKED_EQ = 1, 4, 7
AF_MAX = 46  # linux/socket.h


class Compare(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64),
                ("b", ctypes.c_uint64)]


class Filter:
    """One libseccomp filter, loaded by load()."""

    def __init__(self, default):
        self.lib = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        self.lib.seccomp_init.restype = ctypes.c_void_p
        self.lib.seccomp_load.argtypes = [ctypes.c_void_p]
        self.lib.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
        self.lib.seccomp_rule_add_array.argtypes = [
            ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Compare)]
        self.context = self.lib.seccomp_init(ctypes.c_uint32(default))
        self.lib.seccomp_attr_set(self.context, 3, 0)  # CTL_NNP: the unit says, not the library

    def add(self, action, name, *compare):
        number = self.lib.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            return  # not of this architecture
        array = (Compare * len(compare))(*compare)
        self.lib.seccomp_rule_add_array(self.context, action, number, len(compare), array)

    def load(self):
        code = self.lib.seccomp_load(self.context)
        if code != 0:
            raise OSError(-code, "seccomp_load: " + os.strerror(-code))


def expand(name):
    """A @set of systemd's, as this systemd has it."""
    if not name.startswith("@"):
        return {name}
    text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name],
                          capture_output=True, text=True, check=True).stdout
    found = set()
    for line in text.splitlines()[1:]:
        word = line.strip()
        if word and not word.startswith("#"):
            found |= expand(word)
    return found


def allowed_calls(unit):
    """None: no filter. The first line says whether it is a list of what is allowed."""
    allowed = None
    for value in unit.get("Service.SystemCallFilter", []):
        if allowed is None:
            if value.startswith("~"):
                raise SystemExit("a filter that begins with what is denied is not emulated")
            allowed = set(expand("@default"))
        for word in value.lstrip("~").split():
            if value.startswith("~"):
                allowed -= expand(word)
            else:
                allowed |= expand(word)
    return allowed


def deny(number):
    return SCMP_ACT_ERRNO | number


def filters(unit):
    made = []
    allowed = allowed_calls(unit)
    number = getattr(errno, one(unit, "SystemCallErrorNumber", "EPERM"))
    if allowed is not None:
        rules = Filter(deny(number))
        for name in sorted(allowed):
            rules.add(SCMP_ACT_ALLOW, name)
        made.append(rules)
    rules = Filter(SCMP_ACT_ALLOW)
    made.append(rules)
    families = words(unit, "RestrictAddressFamilies")
    if families:
        numbers = {getattr(socket, name) for name in families}
        for family in range(AF_MAX + 1):
            if family not in numbers:
                rules.add(deny(errno.EAFNOSUPPORT), "socket", Compare(0, SCMP_CMP_EQ, family, 0))
    if yes(unit, "MemoryDenyWriteExecute"):
        rules.add(deny(errno.EPERM), "mmap", Compare(2, SCMP_CMP_MASKED_EQ, 6, 6))
        rules.add(deny(errno.EPERM), "mprotect", Compare(2, SCMP_CMP_MASKED_EQ, 4, 4))
        rules.add(deny(errno.EPERM), "pkey_mprotect", Compare(2, SCMP_CMP_MASKED_EQ, 4, 4))
        rules.add(deny(errno.EPERM), "shmat", Compare(2, SCMP_CMP_MASKED_EQ, 0o100000, 0o100000))
    if yes(unit, "RestrictNamespaces"):
        for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
            rules.add(deny(errno.EPERM), "clone", Compare(0, SCMP_CMP_MASKED_EQ, flag, flag))
            rules.add(deny(errno.EPERM), "unshare", Compare(0, SCMP_CMP_MASKED_EQ, flag, flag))
        rules.add(deny(errno.ENOSYS), "clone3")
        rules.add(deny(errno.EPERM), "setns")
    if yes(unit, "RestrictRealtime"):
        for policy in (1, 2, 6):
            rules.add(deny(errno.EPERM), "sched_setscheduler",
                      Compare(1, SCMP_CMP_MASKED_EQ, 0xFFFF, policy))
        rules.add(deny(errno.EPERM), "sched_setattr")
    if yes(unit, "RestrictSUIDSGID"):
        for bit in (0o4000, 0o2000):
            for name, argument in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("mkdir", 1),
                                   ("mkdirat", 2), ("mknod", 1), ("mknodat", 2)):
                rules.add(deny(errno.EPERM), name, Compare(argument, SCMP_CMP_MASKED_EQ, bit, bit))
        rules.add(deny(errno.EPERM), "openat2")
    if yes(unit, "LockPersonality"):
        rules.add(deny(errno.EPERM), "personality", Compare(0, SCMP_CMP_NE, 0, 0))
    denied = set()
    if yes(unit, "ProtectClock"):
        denied |= expand("@clock")
    if yes(unit, "ProtectKernelLogs"):
        denied |= {"syslog"}
    if yes(unit, "ProtectKernelModules"):
        denied |= expand("@module")
    if yes(unit, "ProtectHostname"):
        denied |= {"sethostname", "setdomainname"}
    for name in sorted(denied):
        rules.add(deny(errno.EPERM), name)
    return made


# ---- identity ----


def capability_number(name):
    names = ("CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP "
             "LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER "
             "SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE "
             "SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP "
             "MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF "
             "CHECKPOINT_RESTORE").split()
    return names.index(name.removeprefix("CAP_"))


def last_capability():
    return int(open("/proc/sys/kernel/cap_last_cap", encoding="utf-8").read())


def become(unit, last):
    """User, groups and capabilities: after exec a root process has what is in the bounding set,
    anybody else nothing."""
    user = pwd.getpwnam(one(unit, "User", "root"))
    group = grp.getgrnam(one(unit, "Group", grp.getgrgid(user.pw_gid).gr_name))
    others = [grp.getgrnam(name).gr_gid for name in words(unit, "SupplementaryGroups")]
    others += [entry.gr_gid for entry in grp.getgrall() if user.pw_name in entry.gr_mem]
    os.setgroups(sorted(set(others)))
    os.setresgid(group.gr_gid, group.gr_gid, group.gr_gid)
    kept = {capability_number(name) for name in words(unit, "CapabilityBoundingSet")}
    if "Service.CapabilityBoundingSet" in unit:
        for number in range(last + 1):
            if number not in kept:
                prctl(24, number)  # PR_CAPBSET_DROP
    if user.pw_uid != 0:
        os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
    elif "Service.CapabilityBoundingSet" in unit:
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        held = sum(1 << number for number in kept)
        low, high = held & 0xFFFFFFFF, held >> 32
        check(libc.capset(header, (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)), "capset")


# ---- all of it ----


def limit(unit, key, number):
    text = one(unit, key)
    if text:
        value = resource.RLIM_INFINITY if text == "infinity" else int(text)
        resource.setrlimit(number, (value, value))


def own_folders(unit):
    """[(path, mode)] that the manager makes, owned by the unit's user, and writable for it."""
    folders = []
    for base, key in (("/run", "RuntimeDirectory"), ("/var/lib", "StateDirectory")):
        for name in words(unit, key):
            folders.append((f"{base}/{name}", int(one(unit, key + "Mode", "0755"), 8)))
    return folders


def enter(unit, overlays=(), also_writable=()):
    """overlays: [(source, target)] bound in the new mount namespace. In a child, before exec."""
    last = last_capability()
    made = filters(unit)  # runs systemd-analyze: before anything is taken away
    writable = [path for path, _ in own_folders(unit)] + list(also_writable)
    protect_files(unit, writable, overlays)
    limit(unit, "LimitCORE", resource.RLIMIT_CORE)
    limit(unit, "LimitNOFILE", resource.RLIMIT_NOFILE)
    if may_raise_limits():
        limit(unit, "LimitMEMLOCK", resource.RLIMIT_MEMLOCK)
        limit(unit, "LimitRTPRIO", resource.RLIMIT_RTPRIO)
    if one(unit, "OOMScoreAdjust") and may_raise_limits():
        with open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
            file.write(one(unit, "OOMScoreAdjust"))
    os.umask(int(one(unit, "UMask", "0022"), 8))
    become(unit, last)
    if yes(unit, "NoNewPrivileges"):
        prctl(38, 1)  # PR_SET_NO_NEW_PRIVS
    for rules in reversed(made):  # the list of what is allowed last: it may not allow seccomp()
        rules.load()


def argv_of(unit):
    return re.split(r"\s+", one(unit, "ExecStart"))
