# Counts the visits of a log that it makes up, and forgets nobody: see doc/COOKBOOK.md.
class Visitor
  @known = {}

  def self.of(address)
    @known[address] ||= new(address)
  end

  def self.count
    @known.size
  end

  def initialize(address)
    @address = address
    @pages = []
  end

  def saw(page)
    @pages << page
  end
end

def parse(line)
  line.match(/\A(\S+) GET (\S+)/).captures
end

lines = (ARGV[0] || 200_000).to_i
lines.times do |i|
  line = format('10.%d.%d.%d GET /articles/of/the/year/page/%d 200', i % 7, i % 101, i % 97, i % 1000)
  address, page = parse(line)
  Visitor.of(address).saw(page)
end
puts "#{lines} visits by #{Visitor.count} visitors"
