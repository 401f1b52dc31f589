# bash completion for tidemark and tidemark-mpi. Commands and options come from the programs themselves
# (--dump-commands, --dump-options). A shell keeps the options that it has asked for: those of a
# tidemark that is installed meanwhile show in a new shell.

_tidemark_choices() { # WORD VALUE|VALUE…
    local IFS='|'
    COMPREPLY=($(compgen -W "$2" -- "$1"))
}

# The options of "$@", as lines of letter, name, argument, help.
declare -gA _tidemark_options 2>/dev/null
_tidemark_options_of() {
    [[ -n ${_tidemark_options["$*"]} ]] ||
        _tidemark_options["$*"]=$("$@" --dump-options 2>/dev/null </dev/null)
    printf '%s\n' "${_tidemark_options["$*"]}"
}

# The argument that the option WORD of "$@" takes: nothing for flags, "-" for no such option.
_tidemark_argument() {
    local word=$1 letter name argument help
    shift
    while IFS= read -r line; do
        letter=${line%%$'\t'*} line=${line#*$'\t'}
        name=${line%%$'\t'*} line=${line#*$'\t'}
        argument=${line%%$'\t'*}
        [[ $word == "--$name" || ( -n $letter && $word == "-$letter" ) ]] || continue
        printf '%s' "$argument"
        return
    done < <(_tidemark_options_of "$@")
    printf '%s' -
}

_tidemark_value() { # WORD ARGUMENT
    case $2 in
    *'|'*) _tidemark_choices "$1" "$2" ;;
    DIR | JOBDIR) COMPREPLY=($(compgen -d -- "$1")) ;;
    *) COMPREPLY=($(compgen -f -- "$1")) ;;
    esac
}

# Where a program is expected, it and its arguments are completed as they would be without us.
_tidemark_program() { # index of the program's word
    if [[ $COMP_CWORD -eq $1 ]]; then
        COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    else
        COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
}

_tidemark() {
    local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} first=1 command argument at
    compopt -o filenames 2>/dev/null
    if [[ ${program##*/} == tidemark-mpi* ]]; then
        command=("$program")
    elif [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W "$("$program" --dump-commands 2>/dev/null | cut -f 1)" -- "$word"))
        return
    elif [[ ${COMP_WORDS[1]} == help ]]; then
        COMPREPLY=($(compgen -W "$("$program" --dump-commands 2>/dev/null | cut -f 1)" -- "$word"))
        return
    else
        command=("$program" "${COMP_WORDS[1]}") first=2
    fi
    case ${COMP_WORDS[1]} in
    record | count)
        for ((at = first; at < COMP_CWORD; at++)); do
            [[ ${COMP_WORDS[at]} == = ]] && { ((at++)); continue; }
            if [[ ${COMP_WORDS[at]} == -- ]]; then
                _tidemark_program $((at + 1))
                return
            elif [[ ${COMP_WORDS[at]} != -* ]]; then
                _tidemark_program $at
                return
            elif [[ ${COMP_WORDS[at + 1]} != = ]]; then
                argument=$(_tidemark_argument "${COMP_WORDS[at]}" "${command[@]}")
                [[ -n $argument && $argument != - ]] && ((at++))
            fi
        done ;;
    esac
    local before=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $word == = ]]; then # "--sort=|" is three words for bash
        word= before=${COMP_WORDS[COMP_CWORD - 1]}
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ $before == -* ]]; then
        argument=$(_tidemark_argument "$before" "${command[@]}")
        if [[ -n $argument && $argument != - ]]; then
            _tidemark_value "$word" "$argument"
            return
        fi
    fi
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(_tidemark_options_of "${command[@]}" | cut -f 2 | sed 's/^/--/')" -- "$word"))
        return
    fi
    case ${COMP_WORDS[1]} in
    record | count) _tidemark_program $COMP_CWORD ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}

complete -F _tidemark tidemark tidemark-mpi tidemark-mpi.openmpi tidemark-mpi.mpich
