# O1: n3 has another cluster file: it joins and is told; status says so; the group goes on as before.
vm web1 n1
daemon_stop n3
rig exec n3 sed -i 's/silent_grace: 4s/silent_grace: 7s/' /etc/holdfast/holdfast.conf
at_case_end() { rig exec n3 sed -i 's/silent_grace: 7s/silent_grace: 4s/' /etc/holdfast/holdfast.conf; daemon_stop n3; daemon_start n3; }
daemon_start n3
must 10 "n3 is a member" eval '[[ $(node_state n1 n3) == member ]]'
must 5 "n1 says that n3 differs" eval 'st n1 ".nodes[] | select(.name == \"n3\") | .config_same == false"'
st n1 '.needs[] | select(.name == "n3" and (.text | test("cluster file")))' >/dev/null || fail "n1's status does not complain"
st n3 '.daemon.file.differs' >/dev/null || fail "n3's own status does not say it"
hf n3 config show | grep -q 'silent_grace: 4s' || fail "n3 does not run with the group's configuration"
kill -9 "$(truth_pid web1)"
must 10 "the group goes on" runs_on web1 n1
at_case_end
must 10 "n3 is as the others" eval 'st n1 ".nodes[] | select(.name == \"n3\") | .config_same"'
