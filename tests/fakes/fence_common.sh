# Read by every fake fence agent: `action`, `plug` (a file holding on or off: the physical truth)
# and `record` (a file that gets what the agent was given: stdin, argv, environment).
action=reboot # what a real agent does when it is given none
plug=/dev/null
record=/dev/null
input=$(cat)
while IFS='=' read -r key value; do
	case $key in
	action) action=$value ;;
	plug) plug=$value ;;
	record) record=$value ;;
	esac
done <<EOF
$input
EOF
{
	echo "argv: $#"
	env | sed -e '/^PWD=/d' -e '/^SHLVL=/d' -e '/^_=/d' -e '/^OLDPWD=/d' -e 's/^/env: /'
	printf '%s\n' "$input" | sed 's/^/stdin: /'
} >>"$record"
report() {
	if [ "$(cat "$plug")" = off ]; then
		echo "Status: OFF"
		exit 2
	fi
	echo "Status: ON"
	exit 0
}
switch_off() {
	echo off >"$plug"
	echo "Success: Powered OFF"
	exit 0
}
[ "$action" = off ] || [ "$action" = status ] || echo "$action" >"$plug" # shows in the test
