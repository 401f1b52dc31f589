# Scripts of an interpreter whose version is not known have native call paths, and the report says so.
. "$HERE/lib.sh"

[ "$(uname -m)" = x86_64 ] || skip "scripts' frames are read on x86-64 only"
tidemark record -q -o unread.tmk "$CLI/cli_unread"
tidemark report unread.tmk | tr '\n' ' ' | tr -s ' ' | grep -o "frames of this version of [^(]*([^,]*" || :
# Blocks of mimalloc's inside are not followed, and so are not frees of what nobody allocated.
tidemark report unread.tmk | grep -cE "frees? of blocks? (whose|from)" || :
tidemark report unread.tmk | tr '\n' ' ' | tr -s ' ' | grep -o 'not seen: mimalloc in cli_unread (its blocks are made by no function' || :
tidemark record -q --native -o native.tmk "$CLI/cli_unread"
tidemark report native.tmk | grep -c "frames of this version" || :
tidemark record -q -o other.tmk true
tidemark report other.tmk | grep -c "frames of this version" || :
