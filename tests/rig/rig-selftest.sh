#!/bin/bash
# rig-selftest.sh: checks that every verb of the rig does what it says, on real frames, processes
# and power; then that nothing is left behind, also after an interrupted, a failed and a killed run.
# Last line: "NN checks, N failed"; exit 0 only when none failed.
HERE=$(dirname "$(readlink -f "$0")")
RIG_NAME=selftest$$ RIG_POST=0
RIG_FABRICS=1
export RIG_POST RIG_FABRICS
unset RIG_BIND RIG_STATE RIG_OWNER

footprint() {   # what a rig could leave: namespaces, mounts, cgroups, state, processes
	ls /run/netns 2>/dev/null
	grep -c . /proc/mounts
	find "${TMPDIR:-/tmp}" -maxdepth 1 -name "rig-$UID-selftest$$*"
	pgrep -f "selftest$$-sw|rig-$UID-selftest$$" | grep -vx $$
}
before=$(footprint)
. "$HERE/lib.sh"
checks=0 failed=0
t() {
	local what=$1
	shift
	checks=$((checks + 1))
	if "$@" >/dev/null 2>&1; then echo "ok   $what"; else echo "FAIL $what"; failed=$((failed + 1)); fi
}
no() { ! "$@"; }
is() { [[ $1 == "$2" ]]; }
ping1() { rig exec "$1" busybox ping -c1 -W1 "$2"; }
pong() { until_true 3 ping1 "$@"; }
carrier() { [[ $(rig exec "$1" cat "/sys/class/net/$2/carrier") == "$3" ]]; }
bmc() { ip netns exec "$RIG_NAME-sw" ipmitool -I lanplus -C 3 -N 1 -R 2 -H "10.77.2.10$1" -U admin -P secret chassis power "$2"; }
bmc_says() { [[ $(bmc "$1" status) == *"$2" ]]; }
powered() { [[ $(rig status | awk -v n="$1" '$1 == n {print $2}') == "power=$2" ]]; }
# one datagram from NODE to ADDRESS; arrived if the receiver wrote it down. No answer is needed,
# so that each direction is judged alone; the neighbour tables are filled by hand for the same reason.
one_way() {   # FROM TO NETINDEX
	local net=$3 to=$2 key=$RANDOM$RANDOM at=10.77.$3.${2#n} got=$RIG_STATE/shared/udp
	rm -f "$got"
	rig exec "$to" python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('$at', 4000)); s.settimeout(1)
open('/shared/udp', 'w').write('ready')
try:
    got = s.recv(99).decode()
    open('/shared/udp', 'w').write(got)
except TimeoutError: pass" &
	local listener=$!
	until_true 5 grep -q ready "$got"
	rig exec "$1" ip neigh replace "$at" lladdr "$(printf '02:77:01:00:%02x:%02x' "${to#n}" "$net")" dev "${NETS[net]}" nud permanent
	rig exec "$1" bash -c "echo -n $key >/dev/udp/$at/4000"
	wait "$listener"
	rig exec "$1" ip neigh del "$at" dev "${NETS[net]}"
	grep -qx "$key" "$got"
}
NETS=(ring0 ring1 mgmt fabA fabB)
state_of() { awk '/^State/ {print $2}' "/proc/$1/status"; }

t "up" rig_begin 3
t "a second up of the same name is refused" no "$HERE/rig" up 3
t "hostname" is "$(rig exec n2 hostname)" n2
t "own pids" [ "$(rig exec n1 sh -c 'ls -d /proc/[0-9]* | wc -l')" -lt 8 ]
t "machine ids differ" no is "$(rig exec n1 cat /etc/machine-id)" "$(rig exec n2 cat /etc/machine-id)"
for net in 0 1 2 3 4; do t "net ${NETS[net]}" ping1 n1 10.77.$net.3; done
t "unknown node refused" no rig cut n9 ring0
t "unknown net refused" no rig cut n1 ring7

rig cut n1 ring0
t "cut: no carrier" carrier n1 ring0 0
t "cut: other net" ping1 n1 10.77.1.2
t "cut: blocked" no ping1 n2 10.77.0.1
rig heal
t "heal" pong n1 10.77.0.2
t "heal: carrier" carrier n1 ring0 1
rig mute n1 ring0
t "mute: carrier" carrier n1 ring0 1
t "mute: blocked" no ping1 n1 10.77.0.2
rig heal n1 ring0
t "unmute" pong n1 10.77.0.2
rig partition n1 n2,n3
t "partition 1-2" no ping1 n1 10.77.0.2
t "partition 2-3" ping1 n2 10.77.0.3
t "partition: mgmt" ping1 n1 10.77.2.2
rig heal
t "heal all" pong n1 10.77.1.3

t "one way: before" one_way n1 n2 0
rig drop n1 n2 ring0
t "drop 1>2: lost" no one_way n1 n2 0
t "drop 1>2: 2>1 arrives" one_way n2 n1 0
t "drop 1>2: 1>3 arrives" one_way n1 n3 0
t "drop 1>2: carrier" carrier n2 ring0 1
t "drop 1>2: other net" one_way n1 n2 1
rig drop n1 all ring1
t "drop 1>all: 1>3 lost" no one_way n1 n3 1
t "drop 1>all: 3>1 arrives" one_way n3 n1 1
rig heal
rig drop all n1 ring0
t "drop all>1: 3>1 lost" no one_way n3 n1 0
t "drop all>1: 1>3 arrives" one_way n1 n3 0
rig poweroff n1; rig poweron n1; rig wait n1
t "drop outlives a power cycle" no one_way n3 n1 0
rig heal
t "drop healed" one_way n3 n1 0
rig sever n1 n3
t "bridge: 1-3 cut" no ping1 n1 10.77.0.3
t "bridge: 1-3 cut on ring1" no ping1 n1 10.77.1.3
t "bridge: 1-2" ping1 n1 10.77.0.2
t "bridge: 2-3" ping1 n2 10.77.0.3
t "bridge: mgmt" ping1 n1 10.77.2.3
rig heal
t "bridge healed" pong n1 10.77.0.3
pong n1 10.77.3.2      # so that no address request is among the lost
rig loss n2 fabA 40
got=$(rig exec n1 busybox ping -c 100 -i 0.01 -W 1 10.77.3.2 2>/dev/null | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')
t "loss 40 %: ${got:-0} of 100 came" [ "${got:-0}" -ge 40 -a "${got:-100}" -le 80 ]
rig shrink n2 fabB 500
t "shrink: small frames" ping1 n1 10.77.4.2
t "shrink: large frames" no rig exec n1 busybox ping -c1 -W1 -s 900 10.77.4.2
rig heal; rig rate n2 fabB 80
t "rate: 80 kbit takes its time" bash -c "[[ \$('$RIG_STATE/rig/rig' exec n1 busybox ping -A -c 8 -W 2 -s 1400 10.77.4.2 | sed -n 's,.*avg/max = [0-9.]*/[0-9.]*/\([0-9]*\).*,\1,p') -ge 80 ]]"
rig heal

rig exec n1 sh -c 'while :; do date +%N >/tmp/beat; sleep 0.02; done' 2>/dev/null & disown
until_true 3 test -s "$(rig path n1 /tmp/beat)"
rig pause n1
a=$(cat "$(rig path n1 /tmp/beat)")
sleep 0.3
t "pause" is "$a" "$(cat "$(rig path n1 /tmp/beat)")"
t "pause: kernel answers" ping1 n2 10.77.0.1
rig resume n1
changed() { [[ $a != "$(cat "$(rig path n1 /tmp/beat)")" ]]; }
t "resume" until_true 2 changed

rig daemon n1 sleep 1001; rig daemon n2 sleep 1001; rig daemon n1 sleep 1002
until_true 2 rig exec n1 pgrep -f 'sleep 1002'
p1=$(rig pids n1 '^sleep 1001') p2=$(rig pids n2 '^sleep 1001') p3=$(rig pids n1 '^sleep 1002')
t "pids: one here" test -d "/proc/$p1"
t "pids: one there" no is "$p1" "$p2"
rig hang n1 "sleep 1002"
t "hang: that one" is "$(state_of "$p3")" T
t "hang: no other" is "$(state_of "$p1")" S
rig resume n1
t "resume: it goes on" is "$(state_of "$p3")" S
rig kill n1 "sleep 1001"
t "kill: that one" until_true 2 test ! -d "/proc/$p1"
t "kill: not the other node's" test -d "/proc/$p2"
t "kill: not the other name" test -d "/proc/$p3"
t "kill: nobody of that name" no rig kill n1 "sleep 1001"
rig exec n1 bash -c 'exec -a libvirtd sleep 1003' 2>/dev/null & disown
until_true 2 rig exec n1 pgrep -f '^libvirtd 1003'
rig hang-libvirt n1
t "hang-libvirt" is "$(state_of "$(rig pids n1 '^libvirtd 1003')")" T
rig resume n1 libvirtd
t "resume libvirtd" is "$(state_of "$(rig pids n1 '^libvirtd 1003')")" S
t "qemus: none" is "$(rig qemus)" ""
guest_files
vm_xml vm7 >"$RIG_STATE/shared/vm7.xml"
console=$RIG_STATE/shared/console/vm7.log
rig daemon n2 qemu-system-x86_64 -name guest=vm7,debug-threads=on -machine q35,accel=tcg -nodefaults -display none \
	-m 32 -kernel /shared/guest.elf -append 'vm=vm7' -serial file:/shared/console/vm7.log
t "guest: up, with its name" until_true 10 grep -q 'GUEST-UP boot=[0-9a-f]* vm=vm7' "$console"
q=$(rig pids n2 '^qemu-system')
t "qemus: the one" is "$(rig qemus)" "n2 $q vm7"
t "guest: beats" until_true 4 grep -q 'BEAT 2' "$console"
ticks() { awk '{print $14 + $15}' "/proc/$q/stat"; }
a=$(ticks); sleep 2; b=$(ticks)
t "guest: idle costs below 3 % of a core ($(((b - a) / 2)) %)" [ $((b - a)) -le 6 ]

rig exec n1 sh -c 'echo x >/etc/keep; echo x >/run/lose; echo x >/shared/all'
t "bmc: on" bmc_says 1 on
rig pause n1
t "bmc: off" bmc 1 off
t "off" no rig exec n1 true
t "off: silent" no ping1 n2 10.77.0.1
t "off: port down" no carrier n1 ring0 1
t "bmc: on again" bmc 1 on
t "on again" until_true 10 rig exec n1 true
t "disk kept" rig exec n1 test -e /etc/keep
t "run fresh" no rig exec n1 test -e /run/lose
t "shared" rig exec n3 test -e /shared/all
rig bmc n1 refuse; bmc 1 off >/dev/null
t "bmc refuses: still alive" rig exec n1 true
t "bmc refuses: says on" bmc_says 1 on
rig bmc n1 lie; bmc 1 off >/dev/null
t "bmc lies: still alive" rig exec n1 true
t "bmc lies: says off" bmc_says 1 off
rig bmc n1 ok; bmc 1 on >/dev/null
guid() { bmc_raw "$1" | tr -d ' \n'; }
bmc_raw() { ip netns exec "$RIG_NAME-sw" sh -c "printf 'secret\n' | ipmitool -I lanplus -C 3 -N 1 -R 2 -H 10.77.2.10$1 -U admin -f /dev/stdin raw 0x06 0x37"; }
reversed() { tr -d '-' <<<"$1" | fold -w2 | tac | tr -d '\n'; }
uuid() { rig exec "$1" cat /run/rig/product_uuid; }
t "uuid: as the rig says" is "$(uuid n2)" "$(rig uuid n2)"
t "uuid: differs a node" no is "$(uuid n1)" "$(uuid n2)"
t "bmc tells its host's uuid" is "$(guid 1)" "$(reversed "$(uuid n1)")"
t "mc guid tells it too" bash -c "ip netns exec $RIG_NAME-sw ipmitool -I lanplus -C 3 -H 10.77.2.101 -U admin -P secret mc guid | grep -qi '^System GUID .*$(uuid n1)'"
rig bmc-swap n1 n3
t "swap: n1's bmc tells n3" is "$(guid 1)" "$(reversed "$(uuid n3)")"
t "swap: n3's bmc tells n1" is "$(guid 3)" "$(reversed "$(uuid n1)")"
bmc 1 off >/dev/null
t "swap: n1's bmc switches n3" powered n3 off
t "swap: n1 is still on" powered n1 on
bmc 1 on >/dev/null
t "swap: and on again" until_true 10 rig exec n3 true
rig bmc n1 ok; rig bmc n3 ok
is_own() { [[ $(guid 1) == "$(reversed "$(uuid n1)")" ]]; }
t "swap undone" until_true 5 is_own
rig bmc n1 hang
t "bmc hangs" no timeout 3 ip netns exec "$RIG_NAME-sw" ipmitool -I lanplus -C 3 -N 1 -R 1 -H 10.77.2.101 -U admin -P secret chassis power status
rig bmc n1 ok
t "bmc is back" until_true 10 bmc_says 1 on

rig poweroff n2
t "power off takes the guest" is "$(rig qemus)" ""
rig poweron n2
t "power on" until_true 10 rig exec n2 true
rig exec n2 busybox reboot -f 2>/dev/null
rebooted() { rig events | grep -q 'self reboot n2'; }
t "self reboot" until_true 5 rebooted
t "self reboot: back" until_true 10 rig exec n2 true
rig exec n2 busybox poweroff -f 2>/dev/null
t "self halt" until_true 5 powered n2 off
rig poweron n2
t "power on after halt" until_true 10 rig exec n2 true
# a watchdog: who opens it, pings it and goes away; python3 stands for the feeder
cat >"$RIG_STATE/shared/wd.py" <<'E'
import fcntl, os, struct, sys, time
SETTIMEOUT = 0xC0045706
fd = os.open("/dev/watchdog", os.O_WRONLY)
fcntl.ioctl(fd, SETTIMEOUT, struct.pack("i", 1))
for i in range(10):
    os.write(fd, b"x")
    time.sleep(0.2)
open("/shared/wd.fed", "w").close()
if sys.argv[1] == "close":
    os.write(fd, b"V")
elif sys.argv[1] == "feed":
    while True:
        os.write(fd, b"x")
        time.sleep(0.2)
E
wd() {   # NODE WHAT, detached; comes back when it was fed for two seconds
	rm -f "$RIG_STATE/shared/wd.fed"
	rig daemon "$1" bash -c ". /run/rig-watchdog/env; exec python3 /shared/wd.py $2"
	until_true 10 test -e "$RIG_STATE/shared/wd.fed"
}
has_fired() { [[ $(rig events | grep -c "watchdog fired $1") == "$2" ]]; }
# off at once, on again a second later; stamps are in ns
reset_takes() {
	rig events | awk '/watchdog fired n2/ {fired = $1} /dead n2/ && fired {dead = $1} /power on n2/ && dead {on = $1}
		END {exit !(dead - fired < 1e9 && on - dead >= 1e9 && on - dead < 3e9)}'
}
wasreset() { rig exec n2 grep -q wasreset /run/rig-watchdog/env; }
t "watchdog: none at first" no rig exec n2 test -e /dev/watchdog
t "watchdog: unknown mode" no rig watchdog n2 maybe
rig watchdog n2 on
t "watchdog: there" rig exec n2 test -e /dev/watchdog
t "watchdog: fed" wd n2 close
sleep 1.5
t "watchdog: closed, it did not fire" has_fired n2 0
t "watchdog: fed again" wd n2 die
t "watchdog: its feeder is gone, it fires" until_true 4 has_fired n2 1
t "watchdog: on again" until_true 10 rig exec n2 true
t "watchdog: off at once, and for a second" reset_takes
t "watchdog: still there" rig exec n2 test -e /dev/watchdog
t "watchdog: that boot knows why" wasreset
wd n2 feed
rig pause n2
t "watchdog: a frozen node is reset" until_true 4 has_fired n2 2
t "watchdog: and thawed by that" until_true 10 rig exec n2 true
wd n2 die
until_true 4 has_fired n2 3
bmc 2 off >/dev/null
sleep 1.5
t "watchdog: a bmc that switches off during a reset has its way" powered n2 off
rig poweron n2
until_true 10 rig exec n2 true
t "watchdog: a plain power on is no reset" no wasreset
rig watchdog n2 busy
t "watchdog: busy" no timeout 3 rig exec n2 bash -c '. /run/rig-watchdog/env; exec python3 /shared/wd.py die'
rig watchdog n2 off
t "watchdog: gone" no rig exec n2 test -e /dev/watchdog
# ---- fabrics ----
peer_ping() { rig peer busybox ping -c1 -W1 10.77.5.9; }
downs() { rig exec n1 cat "/sys/class/net/fab$1/carrier_down_count"; }
kept() { local a; a=$(downs A); sleep 0.5; [[ $(downs A) == "$a" ]]; }
seen() { "$RIG_STATE/rig/stream" show "$RIG_STATE/shared/seen" "$1" | jq -e "$2"; }
rig exec n1 ip addr add 10.77.5.9/24 dev fabA
t "fabrics: the peer is there" until_true 3 peer_ping
rig daemon n1 /rig/stream serve 7 8
setpriv --pdeathsig KILL "$RIG_STATE/rig/rig" peer "$RIG_STATE/rig/stream" meter "$RIG_STATE/shared/seen" 10.77.5.9 7 &
meter=$!
begin=$(rig now)
t "stream: flows" until_true 5 seen "$begin" '.tcp == "alive" and .sent > 1000 and .sent > .lost + 500'
t "stream: an order" is "$(rig peer "$RIG_STATE/rig/stream" order 10.77.5.9 8 'hostname; echo $((6 * 7))' | xargs)" "n1 42"
begin=$(rig now)
sleep 0.3
t "stream: nothing is lost in peace" seen "$begin" '.lost < 20 and .gap_ms < 100'
begin=$(rig now)
rig fabric-cut n1 a
t "fabric-cut: carrier lost" carrier n1 fabA 0
t "fabric-cut: the other one stays" carrier n1 fabB 1
sleep 0.3
rig heal n1
t "fabric-cut: healed" carrier n1 fabA 1
t "stream: what was lost meanwhile" seen "$begin" '.lost > 250 and .gap_ms > 250'
t "stream: TCP goes on" until_true 5 seen "$begin" '.tcp == "alive" and .tcp_open < 20'
begin=$(rig now)
rig fabric-blackhole n1 a
t "fabric-blackhole: carrier stays" carrier n1 fabA 1
t "fabric-blackhole: nothing passes" no peer_ping
rig heal n1
t "fabric-blackhole: healed" until_true 3 peer_ping
rig fabric-cut n1 a b
t "fabric-cut: both" carrier n1 fabB 0
rig heal
begin=$(downs A)
rig fabric-flap n1 a 10
sleep 1
rig heal
t "fabric-flap: it flapped" test $(($(downs A) - begin)) -ge 6
t "fabric-flap: and stopped" kept
t "fabric-flap: healed" until_true 3 peer_ping
t "fabrics: there are two" no rig fabric-cut n1 c
kill "$meter"
rig kill n1 stream
wait "$meter" 2>/dev/null
rig poweroff n3 --ac
t "ac: bmc gone" no timeout 3 ip netns exec "$RIG_NAME-sw" busybox ping -c1 -W1 10.77.2.103
rig poweron n3
t "ac back" until_true 10 rig exec n3 true
t "ac back: bmc" until_true 5 bmc 3 status
trap - EXIT
rig_end
t "nothing left" is "$before" "$(footprint)"
t "down twice is fine" rig down

clean() { [[ $before == "$(footprint)" ]]; }
inner() {   # another rig in a shell of its own; the shell ends as told
	bash -c ". '$HERE/lib.sh'; rig_begin 2 || exit 9; rig daemon n1 sleep 1004; echo up; $1" selftest-inner
}
export RIG_NAME=selftest$$b
unset RIG_STATE
inner 'rig nosuchverb; exit 7' >/dev/null 2>&1
t "failed run: its exit code is kept" is $? 7
t "failed run: nothing left" until_true 5 clean
for sig in INT TERM KILL; do
	coproc inner_shell { exec env --default-signal=INT bash -c ". '$HERE/lib.sh'; rig_begin 2 || exit 9; rig daemon n1 sleep 1004; echo up; while :; do sleep 0.1; done" selftest-inner 2>/dev/null; }
	pid=$inner_shell_PID
	read -r -t 20 line <&"${inner_shell[0]}"
	t "SIG$sig: the rig was up" is "$line" up
	kill "-$sig" "$pid"
	wait "$pid" 2>/dev/null
	t "SIG$sig: nothing left" until_true 10 clean
done
echo "$checks checks, $failed failed"
((failed == 0))
