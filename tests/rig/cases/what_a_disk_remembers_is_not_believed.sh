# M9, T5: n3 comes back with a state of yesterday on its disk, with one that ends in the middle, with one full of wrong
# bits, with zeroes: each time it takes the group's, and nothing happens anywhere.
vm web1 n1
pid=$(truth_pid web1)
rig exec n3 cp -a /var/lib/holdfast /var/lib/holdfast.old
vm web2 n2
hf n1 vm stop web2 --wait >/dev/null || fail "web2 is not stopped"
spoil() {
	case $1 in
	old) rig exec n3 sh -c 'rm -rf /var/lib/holdfast/*; cp -a /var/lib/holdfast.old/. /var/lib/holdfast/' ;;
	cut) rig exec n3 sh -c 'for f in $(find /var/lib/holdfast -type f -size +64c); do truncate -s -37 $f; done' ;;
	bits) rig exec n3 python3 -c '
import glob, os, random
rng = random.Random(1)
for path in glob.glob("/var/lib/holdfast/**", recursive=True):
    if os.path.isfile(path) and os.path.getsize(path) > 64:
        with open(path, "r+b") as f:
            for _ in range(20):
                f.seek(rng.randrange(os.path.getsize(path)))
                f.write(bytes([rng.randrange(256)]))' ;;
	zero) rig exec n3 sh -c 'for f in $(find /var/lib/holdfast -type f); do s=$(stat -c %s $f); head -c $s /dev/zero >$f; done' ;;
	esac
}
for how in old cut bits zero; do
	daemon_stop n3
	spoil $how || fail "it cannot be spoilt: $how"
	daemon_start n3
	must 10 "n3 is a member ($how)" is_member n3
	must 5 "all three agree ($how)" group_agrees
	is "$(vm_state n3 web2)" stopped || fail "$how: n3 says that web2 is $(vm_state n3 web2)"
done
is "$(truth web1)" "n1 $pid" || fail "web1 was touched"
is "$(all_offs)" 0 || fail "somebody was fenced for it"
rig exec n3 rm -rf /var/lib/holdfast.old
