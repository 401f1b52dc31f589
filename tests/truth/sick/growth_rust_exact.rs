// truth: sick
// what: reserve_exact(1) before each push
// expect: realloc-constant-growth
#[inline(never)]
fn add(values: &mut Vec<u64>, value: u64) {
    values.reserve_exact(1); // guilty: add
    values.push(value);
}

fn main() {
    let mut values = Vec::new();
    for i in 0..50000 {
        add(&mut values, i);
    }
    println!("{}", values[49999]);
}
