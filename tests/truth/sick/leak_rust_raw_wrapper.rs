// truth: sick
// what: nodes are boxed by a helper and given to a foreign interface that never takes them back
// expect: leak-lost leak-growth
// wrapper: alloc_node
use std::hint::black_box;
use std::thread::sleep;
use std::time::Duration;

struct Node {
    data: [u64; 30],
}

#[inline(never)]
fn alloc_node(seed: u64) -> *mut Node {
    Box::into_raw(Box::new(Node { data: [seed; 30] }))
}

#[inline(never)]
fn session_open(i: u64) -> u64 {
    let node = alloc_node(i); // guilty: session_open
    unsafe { black_box((*node).data[7]) }
}

#[inline(never)]
fn probe(i: u64) -> u64 {
    let node = alloc_node(i);
    let value = unsafe { black_box((*node).data[3]) };
    drop(unsafe { Box::from_raw(node) });
    value
}

fn main() {
    let mut sum = 0u64;
    for i in 0..9000 {
        sum = sum.wrapping_add(session_open(i)).wrapping_add(probe(i));
        if i % 20 == 0 {
            sleep(Duration::from_millis(1));
        }
    }
    println!("{}", sum);
}
