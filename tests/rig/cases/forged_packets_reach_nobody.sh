# M4: somebody on the rings' own networks throws packets at corosync: random ones, long and short, and some with a right-looking
# header. They are not encrypted with the group's key: dropped, and nothing else happens.
vm web1 n1
pid=$(truth_pid web1)
ip netns exec "$RIG_NAME-sw" python3 - <<'P' || fail "nothing can be sent"
import os, random, socket
rng = random.Random(1)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for k in range(30000):
        head = bytes([1, rng.choice((1, 2, 0x80, 0x81, 0x82)), 0, rng.choice((1, 2, 3))])
        data = head + os.urandom(rng.choice((0, 4, 20, 60, 400, 1300)))
        s.sendto(data if k % 2 else data[4:] or b"x", ("10.77.%d.%d" % (k % 2, k % 3 + 1), 5405))
P
never 3 "it had a consequence" eval '[[ $(truth web1) != "n1 $pid" || $(all_offs) != 0 ]]'
for n in n2 n3; do no_event $n '.now == "lost"' || fail "a node was taken for lost, or $n does not tell"; done
must 5 "all three agree" group_agrees
