# Hooks for Pacemaker. VARIANT, from the product's name after the dash:
#   (none)     Pacemaker, corosync, fence_ipmilan and VirtualDomain as they come, totem too
#   tuned      the tightest settings an operator could defend, fencing still a reboot; same totem
#              timing as every other product of the bench
#   tuned-off  the same, fencing only powers off (stonith-action=off)
HOOK_LOGS=(pacemaker/pacemaker.log)
HOOK_MARKS=(
	'fence_begin|(Requesting peer fencing \(\w+\) targeting|wants to fence \(\w+\)) {V}'
	"fence_ok|Operation '\w+' targeting {V} by \w+ .*: OK"
	'start_ok|Result of start operation for vm1 on \w+: ok'
	'noticed|(Result of monitor operation for vm1 on {V}: (not running|error)|vm1_monitor_[1-9]\d+ .*not running)'
)

pcmk() { rig exec "$@"; }
variant() {
	MON=10s FENCE_EXTRA='' STONITH_ACTION=reboot VD_EXTRA='' PROPS=''
	case $VARIANT in
	'') export TOKEN= ;;
	tuned | tuned-off)
		MON=1s
		FENCE_EXTRA='<nvpair id="@-pw" name="power_wait" value="0"/>'
		VD_EXTRA='<nvpair id="vm1-ac" name="autoset_utilization_cpu" value="false"/>
			<nvpair id="vm1-am" name="autoset_utilization_hv_memory" value="false"/>'
		PROPS='<nvpair id="p-bl" name="batch-limit" value="30"/><nvpair id="p-cf" name="concurrent-fencing" value="true"/>'
		[[ $VARIANT == tuned-off ]] && STONITH_ACTION=off
		;;
	esac
}

hook_setup() {
	local n
	variant
	cluster_files && libvirt_files || return 1
	for n in $NODES; do
		pcmk "$n" sh -c 'mkdir -p /var/log/pacemaker; chown hacluster:haclient /var/log/pacemaker'
		boot_file "$n" <<-'E'
		#!/bin/bash
		bash /rig/libvirt-node.sh start
		bash /rig/corosync-node.sh start || exit 1
		export PCMK_logfile=/var/log/pacemaker/pacemaker.log PCMK_logfacility=none
		exec setsid pacemakerd </dev/null >>/var/log/pacemaker.out 2>&1
		E
	done
}
all_online() { pcmk "${NODES%% *}" crm_mon -1 2>/dev/null | grep -q "Online: \[ $NODES \]"; }
hook_start() { local n; for n in $NODES; do rig daemon "$n" /etc/rig/boot; done; until_true 90 all_online; }

hook_define_vm() {
	local i f s x
	variant
	x=$RIG_STATE/shared/cib
	{
		echo '<crm_config><cluster_property_set id="cib-bootstrap-options">'
		echo '<nvpair id="p-se" name="stonith-enabled" value="true"/>'
		echo "<nvpair id=\"p-sa\" name=\"stonith-action\" value=\"$STONITH_ACTION\"/>$PROPS"
		echo '</cluster_property_set></crm_config>'
	} >"$x.crm_config"
	{
		echo '<resources>'
		for i in $NODES; do
			f=fence-$i
			cat <<-E
			<primitive id="$f" class="stonith" type="fence_ipmilan"><instance_attributes id="$f-ia">
			<nvpair id="$f-ip" name="ip" value="10.77.2.$((100 + ${i#n}))"/><nvpair id="$f-u" name="username" value="admin"/>
			<nvpair id="$f-p" name="password" value="secret"/><nvpair id="$f-l" name="lanplus" value="1"/>
			<nvpair id="$f-c" name="cipher" value="3"/><nvpair id="$f-h" name="pcmk_host_list" value="$i"/>${FENCE_EXTRA//@/$f}
			</instance_attributes><operations><op id="$f-m" name="monitor" interval="60s"/></operations></primitive>
			E
		done
		cat <<-E
		<primitive id="vm1" class="ocf" provider="heartbeat" type="VirtualDomain"><instance_attributes id="vm1-ia">
		<nvpair id="vm1-c" name="config" value="/shared/vm1.xml"/><nvpair id="vm1-h" name="hypervisor" value="qemu:///system"/>
		<nvpair id="vm1-f" name="force_stop" value="true"/>$VD_EXTRA
		</instance_attributes><operations>
		<op id="vm1-mon" name="monitor" interval="$MON" timeout="30s"/>
		<op id="vm1-start" name="start" interval="0" timeout="90s"/><op id="vm1-stop" name="stop" interval="0" timeout="90s"/>
		</operations></primitive></resources>
		E
	} >"$x.resources"
	{
		echo '<constraints>'
		for i in $NODES; do echo "<rsc_location id=\"l-$i\" rsc=\"fence-$i\" node=\"$i\" score=\"-INFINITY\"/>"; done
		echo '</constraints>'
	} >"$x.constraints"
	echo '<rsc_defaults><meta_attributes id="rd"><nvpair id="rd-s" name="resource-stickiness" value="100"/></meta_attributes></rsc_defaults>' >"$x.rsc_defaults"
	for s in rsc_defaults crm_config resources constraints; do
		pcmk "${NODES%% *}" cibadmin --modify --allow-create --scope "$s" --xml-file "/shared/cib.$s" >/dev/null || return 1
	done
}

# all online, no unclean node, vm1 and every fence device started, controller idle
hook_is_ready() {
	local n s dc
	for n in $NODES; do
		s=$(pcmk "$n" crm_mon -1 2>/dev/null) || continue
		dc=$(sed -n 's/.*Current DC: \(n[0-9]*\) .*/\1/p' <<<"$s")
		grep -q "Online: \[ $NODES \]" <<<"$s" && grep -q 'vm1.*Started' <<<"$s" &&
			[[ $(grep -c 'fence-n.*Started' <<<"$s") == $(wc -w <<<"$NODES") ]] &&
			pcmk "$n" crmadmin --quiet -S "$dc" 2>/dev/null | grep -q S_IDLE
		return
	done
	return 1
}
hook_clean() {
	pcmk "$1" crm_resource --cleanup >/dev/null 2>&1
	pcmk "$1" stonith_admin --cleanup --history='*' >/dev/null 2>&1
}
hook_version() { pacemakerd --version | head -1; corosync -v | head -1; }
