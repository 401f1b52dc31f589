# ruby: a conservative collector, fibers on stacks of their own, threads, a fork
cat >work.rb <<'L'
h = {}
200000.times { |i| h[(i * 7919 % 100003).to_s] = "x" * (i % 40) }
puts h.size, h.keys.sort[777]
f = (1..500).map { |n| Fiber.new { 3.times { |i| Fiber.yield n * i } } }
puts f.sum { |x| x.resume; x.resume }
puts 4.times.map { |t| Thread.new { (1..20000).map(&:to_s).join.size + t } }.sum(&:value)
pid = fork { x = Array.new(1000) { "y" * 100 }; exit!(x.size % 7) }
puts Process.wait2(pid)[1].exitstatus
GC.compact rescue puts "no compaction"
exit 3
L
same run ruby --disable-gems work.rb
