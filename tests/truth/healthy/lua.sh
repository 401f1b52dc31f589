# truth: healthy
# what: lua with tables and strings
# needs: lua5.4
echo 'local t = {} for i = 1, 300000 do t[i % 1000] = "value " .. i end local n = 0 for _ in pairs(t) do n = n + 1 end print(n)' >program.lua
record lua5.4 program.lua >/dev/null
