# graphviz: lays out a graph, as text, SVG and PNG (cairo, pango, plug-ins)
{ echo 'digraph g {'; for i in $(seq 1 150); do echo "n$i -> n$((i * 7 % 151)); n$i -> n$((i * 13 % 151));"; done; echo '}'; } >graph.dot
same plain dot -Tplain graph.dot
same svg dot -Tsvg graph.dot
same png dot -Tpng graph.dot
same neato neato -Gstart=1 -Tplain graph.dot
