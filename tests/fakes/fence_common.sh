# Read by every fake fence agent: `action`, `plug` (a file holding on or off: the physical truth)
# and `record` (a file that gets what the agent was given: stdin, argv, environment).
action=reboot # what a real agent does when it is given none
plug=/dev/null
record=/dev/null
password=
input=$(cat)
while IFS='=' read -r key value; do
	case $key in
	action) action=$value ;;
	password) password=$value ;;
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
switch_off() { # or on, when that is what was asked
	echo "$action" >"$plug"
	echo "Success: Powered"
	exit 0
}
case $action in
off | on | status) ;;
*) echo "$action" >"$plug" ;; # shows in the test
esac
