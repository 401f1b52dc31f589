// truth: sick
// what: each edge of a graph is a box of sixteen bytes
// expect: small-blocks
struct Edge {
    from: u64,
    to: u64,
}

#[inline(never)]
fn connect(edges: &mut Vec<Box<Edge>>, from: u64, to: u64) {
    edges.push(Box::new(Edge { from, to })); // guilty: connect
}

fn main() {
    let mut edges = Vec::with_capacity(500000);
    for i in 0..500000 {
        connect(&mut edges, i, i * 7 % 1000);
    }
    let mut sum = 0;
    for round in 0..200 {
        sum += edges.iter().map(|e| e.from ^ e.to ^ round).sum::<u64>();
    }
    println!("{}", sum);
}
