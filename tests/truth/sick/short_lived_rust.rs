// truth: sick
// what: format! makes a String for each comparison
// expect: short-lived-blocks
#[inline(never)]
fn same(i: u32, name: &str) -> bool {
    format!("item-{:08}", i) == name // guilty: same
}

fn main() {
    let mut found = 0;
    for i in 0..300000 {
        if same(i, "item-00012345") {
            found += 1;
        }
    }
    println!("{}", found);
}
