// truth: sick
// what: a callback is leaked by Box::leak for each request
// expect: leak-lost leak-growth
use std::hint::black_box;
use std::thread::sleep;
use std::time::Duration;

#[inline(never)]
fn register(i: u32) -> u32 {
    let callback: &'static mut [u32; 60] = Box::leak(Box::new([i; 60])); // guilty: register
    black_box(&callback);
    callback[3]
}

fn main() {
    let mut sum = 0u32;
    for i in 0..10000 {
        sum = sum.wrapping_add(register(i));
        if i % 25 == 0 {
            sleep(Duration::from_millis(1));
        }
    }
    println!("{}", sum);
}
