# M6: a domain that is a bomb, too large, that reads files, or whose name would climb or break a line: refused with a reason, by the
# command or the daemon, and nothing of it reaches libvirt.
d=$RIG_STATE/shared
vm_xml good >"$d/good.xml"
{
	echo '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaaaaaaaa">'
	last=a
	for k in b c d e f g h i j; do printf '<!ENTITY %s "' $k; for j in 1 2 3 4 5 6 7 8 9 10; do printf '&%s;' $last; done; echo '">'; last=$k; done
	echo ']>'
	sed 's,</name>,\&j;</name>,' "$d/good.xml"
} >"$d/bomb.xml"
{ echo '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'; sed 's,</name>,\&a;</name>,' "$d/good.xml"; } >"$d/reads.xml"
{ sed '$d' "$d/good.xml"; printf '<!-- '; head -c 2000000 /dev/zero | tr '\0' x; echo ' -->'; tail -n 1 "$d/good.xml"; } >"$d/large.xml"
for k in 1 2 3; do
	case $k in
	1) name='../../etc/x' ;;
	2) name='a%n%s' ;;
	3) name='a&#10;b' ;;
	esac
	sed "s,<name>good</name>,<name>$name</name>," "$d/good.xml" >"$d/name$k.xml"
done
pids=$(for n in $NODES; do rig pids "$n" '^holdfastd'; done)
for f in bomb reads large name1 name2 name3; do
	T1=$EPOCHREALTIME
	hf n1 vm add "$d/$f.xml" >"$CASE/said" 2>&1 && fail "$f.xml was taken"
	[[ -s $CASE/said ]] || fail "$f.xml was refused without a word"
	(($(wc -c <"$CASE/said") < 2000)) || fail "$f.xml comes out again"
	grep -q root: "$CASE/said" && fail "$f.xml: a file was read"
	awk -v a="$T1" -v b="$EPOCHREALTIME" 'BEGIN {exit !(b - a < 5)}' || fail "$f.xml took longer than 5 s"
done
[[ -z $(st n1 '.vms[].name') ]] || fail "there is a VM: $(st n1 '.vms[].name')"
is "$(for n in $NODES; do rig pids "$n" '^holdfastd'; done)" "$pids" || fail "a daemon ended"
[[ -z $(for n in $NODES; do rig exec "$n" virsh list --all --name; done) ]] || fail "libvirt has it"
