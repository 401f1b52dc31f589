#!/bin/sh
# check_memory.sh TIDEMARK BUDGET PROFILE PROGRAM [ARGUMENTS…]: fails as the program does, else as the
# budget says.
tidemark=$1 budget=$2 profile=$3
shift 3
"$tidemark" record -q -o "$profile" -- "$@" || exit
exec "$tidemark" check "$profile" --budget "$budget"
