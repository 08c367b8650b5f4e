#!/bin/bash
# libvirt-node.sh config | start: runs inside a node. `config` writes what lets libvirtd work
# without systemd, cgroups, apparmor, polkit and dbus; `start` starts it and waits for its socket.
set -e
i=${HOSTNAME#n}
if [[ ${1:-} == config ]]; then
	mkdir -p /etc/libvirt
	# the compiled-in defaults must resolve even when qemu.conf overrides them
	getent group kvm >/dev/null || groupadd -r kvm
	getent group libvirt-qemu >/dev/null || groupadd -r libvirt-qemu
	getent passwd libvirt-qemu >/dev/null || useradd -r -g kvm -M -s /usr/sbin/nologin libvirt-qemu
	cat >/etc/libvirt/qemu.conf <<-E
	security_driver = "none"
	security_default_confined = 0
	user = "root"
	group = "root"
	dynamic_ownership = 0
	remember_owner = 0
	cgroup_controllers = [ ]
	namespaces = [ ]
	stdio_handler = "file"
	max_core = 0
	E
	cat >/etc/libvirt/libvirtd.conf <<-E
	listen_tls = 0
	listen_tcp = 0
	auth_unix_ro = "none"
	auth_unix_rw = "none"
	unix_sock_rw_perms = "0770"
	host_uuid = "77000000-0000-4000-8000-00000000000$i"
	log_outputs = "3:file:/var/log/libvirt/libvirtd.log"
	E
	echo 'uri_default = "qemu:///system"' >/etc/libvirt/libvirt.conf
	exit
fi
[[ ${1:-} == start ]] || { echo "usage: $0 config|start" >&2; exit 2; }
mkdir -p /run/libvirt /var/log/libvirt/qemu
libvirtd -d --pid-file /run/libvirtd.pid
for ((k = 0; k < 200; k++)); do [[ -S /run/libvirt/libvirt-sock ]] && exit; sleep 0.05; done
exit 1
