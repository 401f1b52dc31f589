# truth: healthy
# what: node with maps and buffers
# needs: node
echo 'const m = new Map(); for (let i = 0; i < 200000; i++) m.set(i % 2000, "value " + i); console.log(m.size)' >program.js
record node program.js >/dev/null
