# truth: healthy
# what: a redis that is filled, asked and told to end
# needs: redis-server redis-cli
record redis-server --port 0 --unixsocket "$PWD/socket" --dir "$PWD" --save '' >log 2>&1 &
for i in $(seq 200); do redis-cli -s "$PWD/socket" ping 2>/dev/null | grep -q PONG && break; sleep 0.05; done
redis-cli -s "$PWD/socket" eval 'for i=1,20000 do redis.call("set", "k"..i, string.rep("v", 100)) end return 1' 0 >/dev/null
for i in $(seq 20); do redis-cli -s "$PWD/socket" get k$i >/dev/null; done
redis-cli -s "$PWD/socket" shutdown nosave
wait
