# truth: healthy
# what: a broker hands on ten thousand messages
# needs: mosquitto mosquitto_pub mosquitto_sub
printf 'listener 11883 127.0.0.1\nallow_anonymous true\npid_file %s/pid\nuser root\n' "$PWD" >c
record mosquitto -c c >log 2>&1 &
sleep 1
record mosquitto_sub -W 5 -p 11883 -t 'a/#' -C 6000 >got &
sub=$!
sleep 0.5
numbers 6000 | record mosquitto_pub -p 11883 -t a/b -l -q 1
sleep 1; kill $(cat pid); wait
