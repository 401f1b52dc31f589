# truth: healthy
# what: luajit, whose heap is its own
# needs: luajit
echo 'local t = {} for i = 1, 300000 do t[i % 1000] = "value " .. i end print(#t)' >program.lua
record luajit program.lua >/dev/null
