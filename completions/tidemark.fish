# fish completion. Commands and options come from the program itself (--dump-commands,
# --dump-options), so that completion is never older than the program.

function __tidemark_options
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return
    $words[1] $words[2] --dump-options 2>/dev/null </dev/null | while read -l -d \t letter name argument help
        printf '%s\t%s\n' --$name $help
        test -n "$letter"; and printf '%s\t%s\n' -$letter $help
    end
end

# The values of an option that has a list of them.
function __tidemark_values
    set -l words (commandline -opc)
    test (count $words) -ge 3; or return
    $words[1] $words[2] --dump-options 2>/dev/null </dev/null | while read -l -d \t letter name argument help
        if test "$words[-1]" = --$name -o "$words[-1]" = "-$letter"
            string match -q '*|*' -- $argument; and string split '|' -- $argument
        end
    end
end

complete -c tidemark -n __fish_use_subcommand -f -a '(tidemark --dump-commands 2>/dev/null)'
complete -c tidemark -n '__fish_seen_subcommand_from help' -f -a '(tidemark --dump-commands 2>/dev/null)'
complete -c tidemark -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -a '(__tidemark_options)'
complete -c tidemark -n 'not __fish_use_subcommand' -a '(__tidemark_values)'
complete -c tidemark -n '__fish_seen_subcommand_from record count' -a '(__fish_complete_subcommand --fcs-skip=2)'
