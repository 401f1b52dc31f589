# What the shells offer comes from the programs: the same in bash, and in zsh and fish where they are.
. "$HERE/lib.sh"
completions=$HERE/../../completions

tidemark --dump-commands | awk -F '\t' 'NF != 2 { print "not two fields:", $0 }'
tidemark --dump-commands | cut -f 1 | while read -r command; do
    case $command in help | version) continue ;; esac
    tidemark "$command" --dump-options | awk -F '\t' -v command="$command" 'NF != 4 || $2 == "" {
        print command ": not four fields:", $0 }'
    tidemark "$command" --dump-options | cut -f 2 | grep -qx help || echo "$command has no --help"
done

# offers WORD…: what is offered for the last of them, as `read -e` would ask for it.
. "$completions/tidemark.bash"
offers() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _tidemark 2>/dev/null
    printf '%s\n' "${COMPREPLY[@]}" | sort -u
}
echo "== bash"
offers tidemark re
offers tidemark report --so
offers tidemark report --color ''
offers tidemark report --color = a
touch run.tmk
offers tidemark report run
offers tidemark report --show sites run
mkdir runs
offers tidemark record --job ru
offers tidemark record --job runs --no-fol
offers tidemark record -q -o x.tmk printen
offers tidemark record -- printen
offers tidemark record true run
offers tidemark unknown --x
offers tidemark help rec

for shell in zsh fish; do
    command -v $shell >/dev/null || continue
    case $shell in
    zsh) zsh -n "$completions/_tidemark" || echo "zsh does not read it" ;;
    fish)
        fish -n "$completions/tidemark.fish" || echo "fish does not read it"
        for line in 'tidemark repo' 'tidemark report --so' 'tidemark report --color '; do
            fish --no-config -c "source $completions/tidemark.fish; complete -C '$line'" >fish.out 2>fish.err
            grep -q . fish.out && ! [ -s fish.err ] || { echo "fish offers nothing for $line"; cat fish.err; }
        done ;;
    esac
done
