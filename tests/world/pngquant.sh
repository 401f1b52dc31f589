# pngquant graphviz: reduces a picture's colours
echo 'digraph g { a -> b -> c -> a; a [style=filled fillcolor="red:blue" gradientangle=45]; }' | dot -Tpng -o input || skip "no picture"
same reduce pngquant 16 -
