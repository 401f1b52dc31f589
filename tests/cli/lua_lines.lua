-- Keeps blocks of a mebibyte, each at a line and with callers that Lua itself tells (debug.getinfo), in each way
-- that Lua runs code. Prints for each the path that a profile has to have, innermost frame first. What resumed a
-- coroutine follows its frames.
local half = string.rep('x', 2 ^ 19)
local kept, counts, names, resumed, n = {}, {}, {}, {}, 1
local unpack = table.unpack or unpack
local load = loadstring or load
collectgarbage('stop')
local function warm() n = n + 1 kept[1] = half .. half .. n end -- 5.1 and 5.2: the buffer that strings are made in
warm()
names[collectgarbage] = 'collectgarbage' -- whose name in 5.3 is that of the finaliser that it runs

-- A function's name is that of its first call.
local function name_of(level)
  local key = level.what == 'C' and level.func or level.source .. level.linedefined .. ' ' .. level.lastlinedefined
  local is_named = level.name and level.name ~= '?' and level.name ~= 'integer index' and
                   (level.namewhat ~= 'metamethod' or level.name:match('gc$') and _VERSION ~= 'Lua 5.3') and level.namewhat ~= 'hook'
  local place = level.source:sub(1, 1) == '@' and level.short_src:match('[^/]*$') or level.source:match('^=(.*)') or '[string]'
  names[key] = names[key] or level.what == 'main' and '<main>' or is_named and level.name:gsub('^gc$', '__gc'):gsub('^for iterator$', '<iterator>') or level.what == 'C' and '?' or ('<%s:%d>'):format(place, level.linedefined)
  return level.what == 'C' and names[key] or ('%s:%d'):format(names[key], level.currentline)
end

local function path(depth)
  local text, i = {}, depth + 1
  while true do
    local level = debug.getinfo(i, 'Slnf')
    i = i + 1
    if not level or (level.what == 'C' and not debug.getinfo(i, 'S')) then break end
    if level.what ~= 'tail' then text[#text + 1] = name_of(level) end
  end
  local co, is_main = coroutine.running()
  if co and not is_main and resumed[co] then text[#text + 1] = resumed[co] end
  return table.concat(text, ' < ')
end

-- What is called at the line that has just made a block.
local function said()
  local text = path(2)
  counts[text] = (counts[text] or 0) + 1
end

local function resume(co, ...) resumed[co] = 'resume < ' .. path(1) local all = {coroutine.resume(co, ...)} return unpack(all) end
local function plain() n = n + 1 kept[n] = half .. half .. n said() end
local function caller_of()
  plain()

  plain()
end
local function recursive(depth)
  if depth > 0 then recursive(depth - 1) else plain() end
end
local function many_lines()
  for i = 1, 3 do
    if i == 1 then
      n = n + 1 kept[n] = half .. half .. n said()
    else
      n = n + 1 kept[n] = half .. half .. n said()
    end
  end
  local i = 0
  while i < 2 do
    i = i + 1
    plain()
  end
  repeat plain() until true
  plain(
    1,
    2)
end
function a_global() plain() end
local function varargs(...)
  plain()
  return select('#', ...), ...
end
local function tail(depth)
  plain()
  if depth > 0 then return tail(depth - 1) end
  return plain()
end
local shape = {}
shape.__index = shape
function shape.new() plain() return setmetatable({}, shape) end
function shape:area() plain() return 1 end
shape.parts = {deep = {inner = function() plain() end}}
shape[1] = function() plain() end
local function each(t)
  return function(state, i) plain() if i < 2 then return i + 1 end end, t, 0
end

caller_of()
recursive(5)
recursive(90)
many_lines()
a_global()
varargs()
varargs(1, 2, 3)
varargs(varargs(4))
tail(0)
tail(3)
local round = shape.new()
round:area()
shape.area(round)
shape.parts.deep.inner()
shape[1]()
;(function() plain() end)()
;(shape.missing or shape.area)(round)
local chosen = 'area'
shape[chosen](round)
for i in each(shape) do plain() end
for k, v in pairs({1, 2}) do plain() end

-- Functions between that are native.
pcall(plain)
pcall(function() plain() error('x') end)
xpcall(function() plain() error('x') end, function() plain() end)
xpcall(function() local nothing = nil; return nothing.field end, function() plain() return 1 end)
pcall(pcall, plain)
table.sort({3, 1, 2}, function(a, b) plain() return a < b end)
string.gsub('ab', '%w', function(c) plain() return c end)
for word in string.gmatch('a b', '%w') do plain() end
pcall(string.rep, 'x', 3)
select(1, plain())
assert(true, plain())
tostring(setmetatable({}, {__tostring = function() plain() return 'x' end}))
load('local f = ... f()')(plain)
load('\n\nlocal f = ...\nf()\nlocal function inside() f() end inside()', '=chunk')(plain)
load('\nreturn function(f) f() end', '@made.lua')()(plain)
if debug.sethook then
  local done = false
  debug.sethook(function() if not done then done = true plain() end end, 'l')
  debug.sethook()
end

-- Metamethods.
local meta = {}
meta.__index = function(t, k) plain() return 1 end
meta.__newindex = function(t, k, v) plain() end
meta.__call = function(self, ...) plain() return ... end
meta.__add = function(a, b) plain() return 1 end
meta.__unm = function(a) plain() return 1 end
meta.__concat = function(a, b) plain() return 'x' end
meta.__eq = function(a, b) plain() return true end
meta.__lt = function(a, b) plain() return true end
meta.__le = function(a, b) plain() return true end
meta.__len = function(a) plain() return 1 end
local one, two = setmetatable({}, meta), setmetatable({}, meta)
local x = one.field
x = one[1]
one.field = 1
one()
one(one(2))
x = one + two
x = -one
x = one .. two
x = 'a' .. 'b' .. one
x = one == two
x = one < two
x = one <= two
x = #one
x = setmetatable({}, {__index = one}).deep
if meta.__pairs == nil then
  meta.__pairs = function(t) plain() return next, {}, nil end
  for k in pairs(one) do end
end

-- Coroutines: in each other, that yield out of calls and loops, that end by an error, that are wrapped.
local function yields(n)
  plain()
  for i = 1, n do
    coroutine.yield(i)
    plain()
  end
end
local co = coroutine.create(yields)
for i = 1, 4 do resume(co, 2) end
co = coroutine.create(function(n) yields(n) plain() end)
for i = 1, 3 do resume(co, 1) end
co = coroutine.create(function()
  local inner = coroutine.create(function() plain() coroutine.yield() plain() end)
  resume(inner)
  plain()
  coroutine.yield()
  resume(inner)
  plain()
end)
resume(co)
plain()
resume(co)
plain()
co = coroutine.create(function() plain() error('x') end)
resume(co)
plain()
local function deep(n)
  plain()
  if n > 0 then resume(coroutine.create(deep), n - 1) end
  plain()
end
deep(8)
for i = 1, 3 do
  co = coroutine.create(function() plain() coroutine.yield() plain() end)
  resume(co)
  if i == 2 then resume(co) end
end
local made, at
made = coroutine.wrap(function()
  resumed[coroutine.running()] = 'made < ' .. at plain() coroutine.yield()
  resumed[coroutine.running()] = 'made < ' .. at plain() error('x')
end)
at = path(1) made()
pcall(function() at = path(1) made() end)
if _VERSION ~= 'Lua 5.1' then
  co = coroutine.create(function() pcall(function() plain() coroutine.yield() plain() error('x') end) plain() end)
  resume(co)
  resume(co)
  co = coroutine.create(function()
    for i in function(s, i) plain() coroutine.yield() end do end
    plain()
  end)
  resume(co)
  resume(co)
  co = coroutine.create(function() return setmetatable({}, {__index = function() plain() coroutine.yield() plain() return 1 end}).x end)
  resume(co)
  resume(co)
end

-- Files, modules and code of the collector's.
local folder = os.getenv('LUA_LINES_FOLDER')
if folder and folder ~= '' then
  package.path = folder .. '/?.lua;' .. package.path
  shared_plain = plain
  require('lua_loaded').run(plain)
  dofile(folder .. '/lua_done.lua')
  assert(loadfile(folder .. '/lua_done.lua'))()
end
if newproxy then
  getmetatable(newproxy(true)).__gc = function() warm() plain() end
else
  setmetatable({}, {__gc = function() warm() plain() end})
end
local function collects() collectgarbage() end
collects()
warm()

-- Later versions.
local function later(text) local f = load(text, '=later') if f then f(plain) end end
later('local plain = ...\nplain()\ngoto done\n::done::\nplain()')
later('local plain = ...\nlocal t = setmetatable({}, {__idiv = function() plain() return 1 end, __band = function() plain() return 1 end})\nlocal x = t // 1\nx = t & 2\nx = 1 & t')
later('local plain = ...\ndo local c <close> = setmetatable({}, {__close = function() plain() end})\nplain() end\nplain()')
later('local plain = ...\nlocal c <const> = plain\nc()')
later('local plain = ...\n' .. ('\n'):rep(300) .. 'plain()\n' .. ('local x = 1\n'):rep(150) .. 'plain()\nlocal function far() plain() end far()')

for text, count in pairs(counts) do for i = 1, count do print(text) end end
