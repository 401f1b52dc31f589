# A setuid program drops LD_PRELOAD: said, not recorded. Needs root to make one.
. "$HERE/lib.sh"

[ "$(id -u)" = 0 ] || skip "not root"
command -v setpriv >/dev/null || skip "no setpriv"
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
cp "$VICTIMS/basic" setuid && chmod 4755 setuid
mkdir public && chmod 777 public && cd public || exit 1
# The repository may lie where other users cannot look.
mkdir bin lib && cp "$BIN/tidemark" bin && cp "$BIN/../lib/libtidemark.so" lib
PATH=$PWD/bin:$PATH
$nobody sh -c 'tidemark --version' >/dev/null 2>&1 || skip "another user cannot reach $PWD"
$nobody sh -c 'test -u ../setuid && ../setuid' >/dev/null 2>&1 || skip "another user cannot run it"
$nobody sh -c 'tidemark record ../setuid 1 >out 2>err'
echo "status $?"
sentence "setuid"

# The same user, in a directory that is not his.
cd .. && mkdir -m 755 closed && cd closed || exit 1
$nobody sh -c 'tidemark record -o here.tmk true' >/tmp/closed.$$ 2>&1
mv /tmp/closed.$$ err
sentence "here.tmk"
