#!/bin/sh
# free_port.sh: prints a port that nobody has. It lies below those that the kernel gives to clients: a
# connection of another test may have any of these, and a server of ours listen there.
first=10000
last=$(cut -f 1 /proc/sys/net/ipv4/ip_local_port_range 2>/dev/null || echo 32768)
[ "$last" -gt $((first + 1000)) ] || last=32768
port=$((first + $$ * 7 % (last - first)))
while cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -qi "^ *[0-9]*: [0-9a-f]*:$(printf %04x "$port") "; do
    port=$((first + (port + 1 - first) % (last - first)))
done
echo "$port"
