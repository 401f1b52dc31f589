# shellcheck: Haskell's run-time: a garbage collector of its own
same check shellcheck -f gcc "$SOURCE"/tests/cli/lib.sh "$SOURCE"/tests/real/*.sh
