# Keeps blocks of a mebibyte, each at a line and with callers that Ruby itself tells (caller_locations), in
# each way that Ruby runs code. Prints for each the path that a profile has to have, innermost frame first;
# a native method has the line that calls it.
require 'fiber' unless Fiber.method_defined?(:alive?) # 2.7
N = 1 << 20
$kept = []
$said = Hash.new(0)

# What is called at the line that has just made a block.
def said
  $said[caller_locations(1).map { |l| l.lineno > 0 ? "#{l.label}:#{l.lineno}" : l.label }.join(' < ')] += 1
end

def plain() $kept << 'x' * N; said end
def caller_of
  plain
  [1, 2].each do
    plain
  end
end
def recursive(depth)
  depth > 0 ? recursive(depth - 1) : plain
end
def many_lines
  3.times do |i|
    if i == 1
      $kept << 'x' * N; said
    else
      $kept << 'x' * N; said
    end
  end
  i = 0
  while i < 2
    i += 1
    plain
  end
  for j in [1] do plain end
end
def größe() $kept << 'x' * N; said end
def defaults(a = plain, *rest, b: plain, **more, &block)
  plain
  block&.call
end

module Paints
  def paint() plain; end
  def self.included(base) plain; end
  def self.extended(base) plain; end
end
module Before
  def area() plain; super; end
end
module Refined
  refine String do
    def shout() plain; end
  end
end
class Shape
  include Paints
  include Comparable
  include Enumerable
  prepend Before
  attr_accessor :size
  plain
  class << self
    plain
    def mix() plain; end
    def inherited(other) plain; super; end
    def const_missing(name) plain; 1; end
    def method_added(name) plain if name == :late; end
  end
  def self.make() plain; new(2); end
  def initialize(size = 1) plain; @size = size; end
  def initialize_copy(other) plain; end
  def area() plain; 1; end
  alias surface area
  def method_missing(name, *arguments) plain; 1; end
  def respond_to_missing?(name, all = false) plain; true; end
  def to_s() plain; 's'; end
  def to_str() plain; 's'; end
  def to_ary() plain; [1, 2]; end
  def to_proc() plain; proc { plain }; end
  def inspect() plain; 'i'; end
  def call(*) plain; end
  def [](at) plain; 1; end
  def []=(at, value) plain; end
  def +(other) plain; self; end
  def -@() plain; self; end
  def !() plain; false; end
  def =~(other) plain; 1; end
  def ==(other) plain; true; end
  def ===(other) plain; true; end
  def eql?(other) plain; true; end
  def hash() plain; 1; end
  def <=>(other) plain; size <=> other.size; end
  def coerce(other) plain; [1, 1]; end
  def each
    plain
    yield 1
    yield 2
    plain
  end
  def deconstruct() plain; [1, 2]; end
  def deconstruct_keys(keys) plain; { size: 1 }; end
  def marshal_dump() plain; [1]; end
  def marshal_load(from) plain; end
  def late() end
  define_method(:defined) { |x = 1| plain }
  define_method(:again, instance_method(:paint))
  class_eval "def evaluated() plain; end", __FILE__, 1000
end
class Round < Shape
  def area() plain; super(); end
  def paint; plain; super; end
end
Pair = Struct.new(:a, :b) do
  plain
  def both() plain; end
end

def objects
  shape = Round.new
  shape.area
  shape.surface
  shape.paint
  shape.defined
  shape.again
  shape.evaluated
  Round.mix
  Shape.make
  shape.missing
  shape.respond_to?(:nothing)
  Shape::Missing
  text = "a #{shape}"
  text = 'a' + shape
  a, b = shape
  [1].each(&shape)
  shape.()
  shape[1]
  shape[1] = 2
  shape + 1
  -shape
  !shape
  shape =~ 1
  shape == 1
  case 1 when shape then 1 end
  1 + shape
  { shape => 1 }[shape]
  shape.dup
  shape.clone
  shape.inspect
  shape < Round.new(2)
  [shape, Shape.new].sort
  [shape, Shape.new].max
  shape.clamp(shape, shape)
  shape.each { |x| plain }
  shape.map { |x| plain }
  shape.first
  shape.each_slice(1) { plain }
  shape.each_with_index { plain }
  shape.inject { plain; 1 }
  shape.lazy.map { |x| plain; x }.first(1)
  shape.sort_by { plain; 1 }
  shape.to_a
  case shape
  in [x, y] then plain
  end
  case shape
  in { size: } then plain
  end
  Marshal.load(Marshal.dump(shape))
  Pair.new(1, 2).both
  shape.send(:area)
  shape.public_send(:paint)
  shape.method(:area).call
  shape.method(:area).unbind.bind(shape).call
  Shape.instance_method(:paint).bind_call(shape)
  def shape.own() plain; end
  shape.own
  shape.singleton_class.define_method(:more) { plain }
  shape.more
  shape.extend(Paints)
  Class.new(Shape) { plain; def area() plain; end }.new.area
  Module.new { plain }
  shape.instance_eval { plain }
  shape.instance_eval 'plain'
  shape.instance_exec(1) { plain }
  Shape.class_eval { plain }
  Shape.class_exec { plain }
  Shape.module_eval "plain\nplain"
  'x'.then { plain }
  'x'.tap { plain }
end

using Refined
def blocks
  [1].map { plain }
  [1].map { |x| [x].map { |y| plain } }
  [1, 2].each_with_index { plain }
  [2, 1].sort { |a, b| plain; a <=> b }
  [2, 1].sort_by { plain; 1 }
  [1, 2].inject { plain; 1 }
  [1].select { plain }
  [1].each_slice(1) { plain }
  [1].each_with_object([]) { plain }
  [1].group_by { plain }
  [1].cycle(1) { plain }
  [[1, 2]].each { |(a, b)| plain }
  Array.new(2) { plain }
  Hash.new { plain; 1 }[1]
  { a: 1 }.each { plain }
  { a: 1 }.each_pair { |k, v| plain }
  { a: 1 }.map { plain }
  { a: 1 }.transform_values { plain }
  {}.fetch(1) { plain }
  (1..2).each { plain }
  (1..2).step(2) { plain }
  1.upto(2) { plain }
  1.step(2, 2) { plain }
  2.times { plain }
  loop { plain; break }
  'aa'.gsub('a') { plain; '' }
  "a\nb".each_line { plain }
  'ab'.each_char { plain }
  'x'.shout
  proc { plain }.call
  lambda { |x| plain }.(1)
  ->(x, y = plain) { plain }[1]
  [1].each(&method(:defaults))
  [Shape.new].each(&:area)
  ->(a, b) { plain }.curry[1][2]
  (method(:defaults) >> proc { plain }).call
  [1].map { _1; plain }
  defaults(1, 2, b: 3) { plain }
  defaults(b: 1)
  yielder { plain }
  block = proc { plain; next 1; plain }
  yielder(&block)
  [1].each { |x| plain; break }
  catch(:out) { plain; throw :out }
  catch(:out) { [1].each { plain; throw :out } }
  ObjectSpace.each_object(Class.new.singleton_class) { plain }
  send(:plain)
  __send__(:plain)
  method(:plain).call
  method(:plain).to_proc.call
  binding.eval 'plain'
  Comparable.instance_method(:between?).bind_call(Shape.new, Shape.new, Shape.new)
  File.open(__FILE__) { plain }
  Dir.chdir('.') { plain }
  format('%s', Shape.new)
  [Shape.new].join
  [[3, Shape.new]].flatten
  [Shape.new, Shape.new].uniq
  trace = TracePoint.new(:line) { |t| trace.disable; plain }
  trace.enable
  plain
end
def yielder
  yield
  yield if false
end

def throws
  begin
    plain
    raise 'out'
  rescue => e
    plain
  else
    plain
  ensure
    plain
  end
  begin
    deep
  rescue ArgumentError, RuntimeError
    plain
  end
  (raise 'x' rescue plain)
  tries = 0
  begin
    tries += 1
    plain
    raise 'again' if tries < 2
  rescue
    retry
  end
  [1].each do
    begin
      plain
      next
    ensure
      plain
    end
  end
end
def deep
  [1].each { begin; raise 'deep'; ensure; plain; end }
ensure
  plain
end
def ensured
  plain
  return 1
ensure
  plain
end

def fibers
  fiber = Fiber.new do |x|
    plain
    Fiber.yield
    plain
    [1].each { plain; Fiber.yield; plain }
  end
  fiber.resume while fiber.alive?
  plain
  numbers = Enumerator.new { |y| plain; y << 1; plain; y.yield 2; plain }
  numbers.next
  numbers.next
  numbers.take(2)
  numbers.each { plain }
  numbers.lazy.select { plain }.first
  [1].each.with_index { plain }
  [1, 2].each_entry { plain }
  outer = Fiber.new { inner = Fiber.new { plain; Fiber.yield; plain }; inner.resume; plain; inner.resume }
  outer.resume
  Thread.new { plain; [1].each { plain } }.join
  Thread.new { Thread.current.report_on_exception = false; begin; plain; raise 'x'; ensure; plain; end }.join rescue plain
  2.times.map { Thread.new { 2.times { plain; Thread.pass } } }.each(&:join)
  Mutex.new.synchronize { plain }
  queue = Queue.new
  reader = Thread.new { queue.pop; plain }
  queue << 1
  reader.join
end

def files
  # Code that comes and goes at the same addresses, with other names and lines.
  4.times do |i|
    lines = "\n" * i
    eval "#{lines}def made_#{i}() plain; end; plain; made_#{i}; proc { plain }.call"
    eval "#{lines}$kept << 'x' * N; said"
    eval 'plain', binding, 'elsewhere.rb', 100 + i
    GC.start
  end
  20.times do |i|
    Class.new { class_eval "def m#{i % 10}() \n#{"\n" * (i % 4)} plain; end\n#{"\n" * (3 - i % 4)}", 'made.rb' }.new.send("m#{i % 10}")
    GC.start if i % 7 == 0
  end
  file = ENV['RUBY_LINES_FILE']
  3.times do |i|
    File.write(file, "\n" * i + "plain\ndef more()\n plain; end\nmore\n")
    load file
  end
  require file
  GC.compact if GC.respond_to?(:compact) && ENV['RUBY_LINES_COMPACT']
  plain
  <<~TEXT
    #{plain}
  TEXT
  <<~TEXT.each_line { plain }
    a
    b
  TEXT
end

def everything
  plain
  caller_of
  recursive(4)
  many_lines
  größe
  defaults(1, 2, 3)
  objects
  blocks
  throws
  ensured
  fibers
  files
end

def tell
  $said.sort.each { |path, count| puts "#{count} #{path}" }
end

case ARGV[0]
when 'fork'
  if child = fork
    Process.wait(child)
    exit!(0)
  end
  $said.clear
  everything
when 'thread'
  Thread.new { everything }.join
else
  everything
end
plain
at_exit { plain; tell }
