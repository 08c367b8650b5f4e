#!/bin/sh
# Every include is written from the root of the tree and allowed by layers.txt.
. "$(dirname "$0")/lib.sh"

rule() {
    tree=$1
    list=$(c_files "$tree")
    [ -n "$list" ] || return 0
    (cd "$tree" && $AWK '
        # The rule of a path: the longest prefix.
        function rule_of(path, prefix, best) {
            best = ""
            for (prefix in may)
                if (index(path, prefix) == 1 && length(prefix) > length(best))
                    best = prefix
            return best
        }
        function is_allowed(rule, name, words, count, i) {
            count = split(may[rule], words, " ")
            for (i = 1; i <= count; i++)
                if (words[i] == "*" || index(name, words[i]) == 1)
                    return 1
            return 0
        }
        FILENAME == table {
            if ($1 ~ /^#/ || NF == 0)
                next
            prefix = $1
            $1 = ""
            may[prefix] = $0
            next
        }
        FNR == 1 { own = rule_of(FILENAME) }
        FNR == 1 && own == "" { print FILENAME ": no rule in layers.txt" }
        /^[ \t]*#[ \t]*include[ \t]*"/ {
            split($0, part, "\"")
            name = part[2]
            if (index(name, "/") == 0 || name ~ /^\.|\/\.\.?\//)
                print FILENAME ":" FNR ": write the path from the root of the tree: " name
            else if (rule_of(name) != own && !is_allowed(own, name))
                print FILENAME ":" FNR ": may not include " name
            else if (name ~ /^tests\// && FILENAME !~ /^tests\//)
                print FILENAME ":" FNR ": includes a test: " name
        }
        /^[ \t]*#[ \t]*include[ \t]*</ {
            match($0, /<[^>]*/)
            name = substr($0, RSTART, RLENGTH)
            if (name ~ /^<(qb|corosync|libvirt|libxml|nettle|libmnl|curl)\// ||
                name ~ /^<(jansson|sqlite3|microhttpd|check)\.h/)
                if (!is_allowed(own, name))
                    print FILENAME ":" FNR ": may not include " name ">"
        }' table="$TIDY/layers.txt" "$TIDY/layers.txt" $list)
}

fixture() {
    echo '#include "supervisord/base/err.h"' | put supervisord/base/err.c
    echo '#include <stdint.h>' | put supervisord/base/err.h
    printf '#include "supervisord/engine/internal.h"\n#include "supervisord/model/ids.h"\n' |
        put supervisord/engine/step.c
    printf '#include "supervisord/engine/step.h"\n#include <libvirt/libvirt.h>\n' |
        put tests/sim/main.c
    echo '#include <libvirt/libvirt.h>' | put agents/vm/start.c
    echo '#include "supervisord/engine/engine.h"' | put supervisord/cluster/replica.c
    echo '#include "supervisord/cluster/link/link.h"' | put supervisord/cluster/link/main.c
}
cases() { echo upwards engine_log engine_stdlib_library internals sideways replica test library relative stray; }
case_upwards() { echo '#include "supervisord/model/ids.h"' | put supervisord/base/err.c; }
case_engine_log() { echo '#include "supervisord/base/log.h"' | put supervisord/engine/vm.c; }
case_engine_stdlib_library() { echo '#include <libxml/tree.h>' | put supervisord/engine/vm.c; }
case_internals() { echo '#include "supervisord/engine/internal.h"' | put supervisord/wire/group.c; }
case_sideways() { echo '#include "agents/host/probe.h"' | put agents/vm/start.c; }
case_replica() { echo '#include "supervisord/cluster/link/link.h"' | put supervisord/cluster/replica.c; }
case_test() { echo '#include "tests/unit/check.h"' | put supervisord/main.c; }
case_library() { echo '# include <corosync/cpg.h>' | put supervisord/cluster/group.c; }
case_relative() { echo '#include "err.h"' | put supervisord/base/err.c; }
case_stray() { echo 'int x;' | put nowhere.c; mkdir -p "$FIXTURE/agents/x"; echo '#include "../host/a.h"' | put agents/x/x.c; }

tidy_main "$@"
