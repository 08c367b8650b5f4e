#!/bin/bash
# corosync-node.sh conf NODES        prints corosync.conf (outside or inside a node)
# corosync-node.sh install CONF KEY  inside a node: puts both in place
# corosync-node.sh start             inside a node: starts it and waits until CPG answers
#
# knet, encrypted as pcs sets it up, two rings (ring0 and ring1), plain votequorum.
# TOKEN, COEFFICIENT, CONSENSUS choose the totem timing (ms); an empty TOKEN leaves all of it to
# corosync's own defaults. Peers that need them are compared at the same values.
set -e
TOKEN=${TOKEN-1000} COEFFICIENT=${COEFFICIENT-0} CONSENSUS=${CONSENSUS-1200}
PREFIX=${RIG_PREFIX:-10.77}

print_conf() {
	local n
	printf 'totem {\n\tversion: 2\n\tcluster_name: rig\n\ttransport: knet\n'
	printf '\tcrypto_cipher: aes256\n\tcrypto_hash: sha256\n'
	if [[ -n $TOKEN ]]; then
		printf '\ttoken: %s\n\ttoken_coefficient: %s\n' "$TOKEN" "$COEFFICIENT"
		[[ -n $CONSENSUS ]] && printf '\tconsensus: %s\n' "$CONSENSUS"
	fi
	printf '}\nnodelist {\n'
	for n; do
		n=${n#n}
		printf '\tnode {\n\t\tring0_addr: %s.0.%s\n\t\tring1_addr: %s.1.%s\n' "$PREFIX" "$n" "$PREFIX" "$n"
		printf '\t\tname: n%s\n\t\tnodeid: %s\n\t}\n' "$n" "$n"
	done
	printf '}\nquorum {\n\tprovider: corosync_votequorum\n}\n'
	printf 'logging {\n\tto_logfile: yes\n\tlogfile: /var/log/corosync/corosync.log\n\tto_syslog: no\n\ttimestamp: hires\n}\n'
}

case ${1:-} in
conf) shift; print_conf $* ;;
install)
	mkdir -p /etc/corosync /var/log/corosync /var/lib/corosync
	cp "$2" /etc/corosync/corosync.conf
	install -m 400 "$3" /etc/corosync/authkey
	;;
start)
	corosync
	for ((k = 0; k < 200; k++)); do corosync-cpgtool >/dev/null 2>&1 && exit 0; sleep 0.05; done
	exit 1
	;;
*) echo "usage: $0 conf NODES | install CONF KEY | start" >&2; exit 2 ;;
esac
