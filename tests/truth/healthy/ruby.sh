# truth: healthy
# what: ruby with hashes and strings
# needs: ruby
echo 'h = {}; 150000.times { |i| h[i % 1500] = "value #{i}" }; puts h.size' >program.rb
record ruby program.rb >/dev/null
