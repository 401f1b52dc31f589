# openssh-server openssh-client: a server that gives up privileges and sits in a seccomp sandbox
[ "$(id -u)" = 0 ] || skip "needs root"
ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f key
cp key.pub authorized && chmod 600 authorized
port=$("$SOURCE/tests/free_port.sh")
mkdir -p /run/sshd
cat >conf <<C
Port $port
ListenAddress 127.0.0.1
HostKey $work/host
AuthorizedKeysFile $work/authorized
StrictModes no
UsePAM no
PidFile none
C
same text /usr/sbin/sshd -T -f conf
"$TIDEMARK" record -q --separate -o 'sshd.%n.%p.tmk' /usr/sbin/sshd -D -e -f "$work/conf" 2>log &
recorder=$!
tries=0
until ssh-keyscan -p $port 127.0.0.1 >known 2>/dev/null && [ -s known ]; do
    tries=$((tries + 1)); [ $tries -lt 100 ] || { fail "sshd does not answer: $(tail -3 log)"; break; }
    sleep 0.1
done
for i in 1 2 3; do
    said=$(ssh -F none -i key -p $port -o UserKnownHostsFile=known -o BatchMode=yes 127.0.0.1 'echo in; exit 5' 2>client)
    status=$?
    [ "$status $said" = "5 in" ] || fail "ssh: status $status, $said $(tail -2 client) $(tail -5 log)"
done
pkill -TERM -P $recorder -x sshd
wait $recorder
count=0
for profile in sshd.*.tmk; do
    cp "$profile" one.tmk && check_account one
    count=$((count + 1))
done
[ $count -ge 4 ] || fail "sshd: only $count profiles"
