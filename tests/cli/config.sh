# Defaults under XDG: the user's before the system's, the command line before both; what is wrong is said
# with its place, and nothing is done.
. "$HERE/lib.sh"
unset TIDEMARK_CONFIG
export XDG_CONFIG_HOME="$PWD/home" XDG_CONFIG_DIRS="$PWD/system"
mkdir -p home/tidemark system/tidemark
config=home/tidemark/config.toml

echo "[record]
output = 'system.tmk'
quiet = true" >system/tidemark/config.toml
try tidemark record true
ls *.tmk
wc -c <err
echo "[record]
output = 'user.tmk'
[report]
top = 1
json = true" >$config
try tidemark record true
ls *.tmk
try tidemark record -o line.tmk true
ls *.tmk
tidemark report line.tmk | jq -e '.program | length > 0'

# Recorded by hand: the same defaults.
rm -f ./*.tmk
LD_PRELOAD="$(dirname "$BIN")/lib/libtidemark.so" ls / >/dev/null
until_true test -s user.tmk && ls ./*.tmk

tidemark doctor --no-try -w 400 >out
for file in home/tidemark system/tidemark; do grep -c "$file/config.toml *is read" out; done

for wrong in "[recrod]" "[record]
rign = '1M'" "[record]
ring = '1Q'" "[record]
ring = 1M" "ring = '1M'"; do
    printf '%s\nquiet = true\n' "$wrong" >$config
    try tidemark record -o wrong.tmk touch ran
    sentence 'config.toml:( line )?[12]:'
    ls ran 2>/dev/null
done
rm $config
mkdir $config
try tidemark record -o wrong.tmk touch ran
sentence 'config.toml: it is no regular file'
rmdir $config
ln -s /dev/zero $config
try tidemark record -o wrong.tmk touch ran
sentence 'config.toml: it is no regular file'
rm $config
printf '[recrod]\nquiet = true\n' >$config
tidemark help >/dev/null && tidemark help record >/dev/null && echo "help comes all the same"
TIDEMARK_CONFIG= tidemark record -q -o none.tmk true && echo "none"
TIDEMARK_CONFIG=nowhere try tidemark record -q -o none.tmk true
sentence "nowhere"
echo "--- the example of the manual page"
page="$HERE/../../man/tidemark-config.5.scd"
sed -n '/^```$/,/^```$/p' "$page" | sed "/^\`/d; s|/var/tmp|$PWD|" >$config
try tidemark record -q -o page.tmk true
try tidemark report page.tmk
echo "--- a home that is closed to us has none; a file that is closed is said"
chmod 711 .
mkdir closed
chmod 0 closed
nobody=
[ "$(id -u)" = 0 ] && nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
export XDG_CONFIG_HOME="$PWD/closed" XDG_CONFIG_DIRS="$PWD/nothing"
try $nobody "$BIN/tidemark" ps -f csv -n 1
wc -c <err
chmod 755 closed
mkdir closed/tidemark
touch closed/tidemark/config.toml
chmod 0 closed/tidemark/config.toml
try $nobody "$BIN/tidemark" ps -f csv -n 1
sentence 'closed/tidemark/config.toml: Permission denied'
echo "--- what others could have written is not followed"
mkdir others others/tidemark
config=$PWD/others/tidemark/config.toml
export XDG_CONFIG_HOME="$PWD/others"
printf '[record]\noutput = "theirs.tmk"\n' >$config
for mode in 666 646 622; do
    chmod $mode $config
    chgrp 12345 $config 2>/dev/null
    try tidemark record -q touch ran
    sentence 'others could write it'
done
TIDEMARK_CONFIG=$config try tidemark record -q touch ran
sentence 'others could write it'
TIDEMARK_CONFIG= try tidemark record -q -o none.tmk true
chmod 644 $config
chgrp "$(id -g)" $config
try tidemark record -q true
if [ "$(id -u)" = 0 ]; then
    chown 65534 $config
    try tidemark record -q touch ran
    sentence 'others could write it'
    printf '[replay]\nunder = "%s"\n' "$PWD/evil.so" >$config
    try tidemark replay nothing.tmt
    sentence 'others could write it'
else # what root's test would see
    printf 'status 125\none sentence about others could write it\nstatus 125\none sentence about others could write it\n'
fi
ls | grep -x 'ran\|theirs.tmk'
