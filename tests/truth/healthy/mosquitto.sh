# truth: healthy
# what: a broker hands on ten thousand messages
# needs: mosquitto mosquitto_pub mosquitto_sub python3
port=$(free_port)
printf 'listener %s 127.0.0.1\nallow_anonymous true\npid_file %s/pid\nuser root\n' $port "$PWD" >c
record mosquitto -c c >log 2>&1 &
sleep 1
record mosquitto_sub -W 5 -p $port -t 'a/#' -C 6000 >got &
sub=$!
sleep 0.5
numbers 6000 | record mosquitto_pub -p $port -t a/b -l -q 1
sleep 1; kill $(cat pid); wait
