# Completion of `holdfast` for bash. Names come from the daemon; without one there are none.

_holdfast_names() { # nodes|vms
    timeout 1 holdfast "$1" --json 2>/dev/null |
        grep -o '{"name":"[A-Za-z0-9._-]*","\(nodeid\|uid\)"' | cut -d '"' -f 4
}

_holdfast() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} word words=() i
    COMPREPLY=()

    case $prev in
    --socket | --config | --corosync | --key | --output)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --profile)
        mapfile -t COMPREPLY < <(compgen -W "fast safe" -- "$cur")
        return
        ;;
    --wait-for-all)
        mapfile -t COMPREPLY < <(compgen -W "yes no" -- "$cur")
        return
        ;;
    --preferred | --allowed | --typed | --node)
        mapfile -t COMPREPLY < <(compgen -W "$(_holdfast_names nodes)" -- "$cur")
        return
        ;;
    --subject)
        mapfile -t COMPREPLY < <(compgen -W "$(_holdfast_names nodes) $(_holdfast_names vms)" -- "$cur")
        return
        ;;
    --legs)
        mapfile -t COMPREPLY < <(compgen -W "a b a,b none" -- "$cur")
        return
        ;;
    --to)
        mapfile -t COMPREPLY < <(compgen -W "a b" -- "$cur")
        return
        ;;
    --timeout | --reason | --after | --level | --for | --name | --memory | --priority | --apart | \
        --together | --restarts-here | --restarts-max | --stop-grace | --ring0 | --ring1)
        return
        ;;
    esac

    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -* ]] || words+=("${COMP_WORDS[i]}")
    done
    if [[ $cur == -* ]]; then
        local options="--json --socket --help"
        case "${words[0]} ${words[1]}" in
        events*) options+=" --follow --after --subject" ;;
        "vm add") options+=" --wait --timeout --reason --stopped --name --memory --priority --apart
            --together --allowed --preferred --legs --restarts-here --restarts-max --stop-grace" ;;
        drain* | hold*) options+=" --wait --timeout --reason --for" ;;
        "nics failback") options+=" --to --yes" ;;
        "fence test") options+=" --level --power-cycle --yes --timeout --reason" ;;
        "fence confirm") options+=" --wait --timeout --reason --typed" ;;
        fence*) options+=" --wait --timeout --reason --yes" ;;
        vm* | undrain* | leave* | arm* | disarm* | "fence on") options+=" --wait --timeout --reason" ;;
        "config show") options+=" --file" ;;
        "config check") options+=" --corosync --node" ;;
        "setup corosync") options="--profile --config --ring0 --ring1 --key --output --force
            --wait-for-all --help" ;;
        " ") options+=" --version" ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
        return
    fi

    case "${words[*]}" in
    "") word="status nodes vms nics why events vm drain undrain hold leave arm disarm fence config setup" ;;
    vm) word="add remove start stop move" ;;
    config) word="check show" ;;
    setup) word="corosync" ;;
    why) word="$(_holdfast_names nodes) $(_holdfast_names vms)" ;;
    drain | undrain | hold | leave | "fence confirm" | "fence test" | "fence on") word=$(_holdfast_names nodes) ;;
    nics) word="failback $(_holdfast_names nodes)" ;;
    "nics failback") word=$(_holdfast_names vms) ;;
    fence) word="confirm test on $(_holdfast_names nodes)" ;;
    "vm remove" | "vm start" | "vm stop" | "vm move") word=$(_holdfast_names vms) ;;
    "vm move "*) word=$(_holdfast_names nodes) ;;
    "vm add"* | "config check" | "config show")
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    *) return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$word" -- "$cur")
}
complete -o filenames -F _holdfast holdfast
