-- Counts the visits of a log that it makes up, and forgets nobody: see doc/COOKBOOK.md.
local Visitors = {known = {}, count = 0}

function Visitors:of(address)
  if not self.known[address] then
    self.known[address] = {address = address, pages = {}}
    self.count = self.count + 1
  end
  return self.known[address]
end

local function saw(visitor, page)
  visitor.pages[#visitor.pages + 1] = page
end

local function parse(line)
  return line:match('^(%S+) GET (%S+)')
end

local lines = tonumber(arg[1]) or 200000
for i = 0, lines - 1 do
  local line = ('10.%d.%d.%d GET /articles/of/the/year/page/%d 200'):format(i % 7, i % 101, i % 97, i % 1000)
  local address, page = parse(line)
  saw(Visitors:of(address), page)
end
print(lines .. ' visits by ' .. Visitors.count .. ' visitors')
