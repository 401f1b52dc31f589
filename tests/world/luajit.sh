# luajit: a JIT with an allocator of its own over mmap, low addresses asked for
cat >work.lua <<'L'
local t = {}
for i = 1, 300000 do t[i] = tostring(i * 7919 % 100003) end
table.sort(t)
local co = coroutine.wrap(function() for i = 1, 1000 do coroutine.yield(i) end end)
local sum = 0
for _ = 1, 1000 do sum = sum + co() end
print(t[777], #table.concat(t, ","), sum, pcall(error, { }) == false)
local ffi = require("ffi")
ffi.cdef[[void *malloc(size_t); void free(void *); void *realloc(void *, size_t);]]
for i = 1, 10000 do ffi.C.free(ffi.C.realloc(ffi.C.malloc(i), 2 * i)) end
os.exit(7)
L
same run luajit work.lua
same interpreted luajit -joff work.lua
