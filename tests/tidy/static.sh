#!/bin/sh
# clang-tidy and cppcheck over every source that the build compiles; exit 1 on findings.
#   static.sh SOURCE_DIR BUILD_DIR [PATH_PREFIX ...]   only sources below a prefix, if any is given
# Minutes, not seconds: for CI, and for your own folder before a commit.
#   static.sh --can-fail                               proves that both tools find something
set -eu
LC_ALL=C
export LC_ALL

# One tree with code in supervisord/x.c; prints what this script says of it.
look_at() {
    printf '%s\n' "$1" >"$scratch/tree/supervisord/x.c"
    sh "$0" "$scratch/tree" "$scratch/tree" 2>&1 || :
}

if [ "${1:-}" = --can-fail ]; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    mkdir -p "$scratch/tree/supervisord"
    cp "$(dirname "$0")/../../.clang-tidy" "$scratch/tree"
    printf '[{"directory": "%s", "command": "cc -std=c11 -c supervisord/x.c", "file": "%s"}]\n' \
        "$scratch/tree" "$scratch/tree/supervisord/x.c" >"$scratch/tree/compile_commands.json"
    good=$(look_at 'int f(int *p); int f(int *p) { return *p; }')
    bad=$(look_at 'int f(int n); int f(int n) { int a[2] = {n, n}; int *p = 0; return a[2] + *p; }')
    case $good in *findings*) echo "found in clean code: $good"; exit 1 ;; esac
    for tool in clang-tidy cppcheck; do
        case $bad in
        *"$tool: findings above"*) ;;
        *) echo "$tool found nothing: $bad"; exit 1 ;;
        esac
    done
    echo "2 cases"
    exit 0
fi

source_dir=$(cd "$1" && pwd)
build_dir=$(cd "$2" && pwd)
shift 2
here=$(cd "$(dirname "$0")" && pwd)
for tool in clang-tidy cppcheck python3; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed" >&2; exit 2; }
done
[ -f "$build_dir/compile_commands.json" ] || { echo "$build_dir: run cmake first" >&2; exit 2; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The commands of this tree's own files that exist, without what gcc knows and clang does not.
python3 - "$source_dir" "$build_dir" "$scratch" "$@" <<'PY'
import json, os, sys
source, build, scratch, *prefixes = sys.argv[1:]
kept, seen = [], set()
for command in json.load(open(os.path.join(build, "compile_commands.json"))):
    path = os.path.relpath(command["file"], source)
    if path.startswith("..") or path in seen or not os.path.exists(command["file"]):
        continue
    if prefixes and not any(path.startswith(p) for p in prefixes):
        continue
    seen.add(path)
    kept.append(command)
json.dump(kept, open(os.path.join(scratch, "compile_commands.json"), "w"))
open(os.path.join(scratch, "files"), "w").write("".join(c["file"] + "\n" for c in kept))
PY
count=$(wc -l <"$scratch/files")
[ "$count" -gt 0 ] || { echo "no source to look at" >&2; exit 2; }
echo "$count sources"

status=0
jobs=$(nproc)
# Checks that make no sense on Check's macros and on hostile samples are off for tests.
# One file a run: with more, clang 14's analyzer takes a second file's va_list for uninitialised.
tidy() { # tidy CHECKS: names on standard input
    xargs -r -P "$jobs" -n 1 clang-tidy -p "$scratch" --quiet --config-file="$source_dir/.clang-tidy" \
        --checks="$1" --extra-arg=-Wno-unknown-warning-option 2>"$scratch/tidy.log" || return 1
}
grep -v '/tests/' "$scratch/files" | tidy '' || status=1
not_in_tests=-bugprone-sizeof-expression,-bugprone-branch-clone
not_in_tests=$not_in_tests,-bugprone-suspicious-memory-comparison
not_in_tests=$not_in_tests,-clang-analyzer-security.insecureAPI.strcpy
not_in_tests=$not_in_tests,-bugprone-not-null-terminated-result,-bugprone-suspicious-missing-comma
not_in_tests=$not_in_tests,-cert-env33-c,-cert-err34-c
grep '/tests/' "$scratch/files" | tidy "$not_in_tests" || status=1
[ "$status" -eq 0 ] || echo "clang-tidy: findings above"

cppcheck --project="$scratch/compile_commands.json" --quiet --std=c11 -j "$jobs" \
    --enable=warning,performance,portability --inconclusive --error-exitcode=1 \
    --suppressions-list="$here/cppcheck.txt" --library=posix --library=gnu \
    --library="$here/cppcheck.cfg" || {
    status=1
    echo "cppcheck: findings above"
}
exit "$status"
