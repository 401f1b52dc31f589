// filled_rust: Rust's vectors, strings and maps that are more or less full. Prints what each has: FUNCTION
// BLOCKS BYTES USED, by the containers' own words.
use std::collections::HashMap;
use std::hint::black_box;

#[inline(never)]
fn make_vectors() -> Vec<Vec<u64>> {
    let mut all = Vec::with_capacity(100);
    for i in 0..100 {
        let mut one: Vec<u64> = Vec::with_capacity(50 + i);
        for k in 0..i {
            one.push(black_box(k as u64));
        }
        all.push(one);
    }
    all
}

#[inline(never)]
fn make_texts() -> Vec<String> {
    let mut all = Vec::with_capacity(64);
    for i in 0..64 {
        let mut one = String::with_capacity(1000);
        for _ in 0..i {
            one.push('x');
        }
        all.push(one);
    }
    all
}

#[inline(never)]
fn make_maps() -> Vec<HashMap<u64, u64>> {
    let mut all = Vec::with_capacity(32);
    for i in 0..32 {
        let mut one = HashMap::with_capacity(200);
        for k in 0..i * 6 {
            one.insert(k as u64, 1);
        }
        all.push(one);
    }
    all
}

fn main() {
    let vectors: &'static Vec<Vec<u64>> = Box::leak(Box::new(make_vectors()));
    let texts: &'static Vec<String> = Box::leak(Box::new(make_texts()));
    let maps: &'static Vec<HashMap<u64, u64>> = Box::leak(Box::new(make_maps()));
    let bytes: usize = vectors.iter().map(|one| one.capacity() * 8).sum::<usize>() + vectors.capacity() * 24;
    let used: usize = vectors.iter().map(|one| one.len() * 8).sum::<usize>() + vectors.len() * 24;
    println!("make_vectors {} {} {}", vectors.len() + 1, bytes, used);
    let bytes: usize = texts.iter().map(|one| one.capacity()).sum::<usize>() + texts.capacity() * 24;
    let used: usize = texts.iter().map(|one| one.len()).sum::<usize>() + texts.len() * 24;
    println!("make_texts {} {} {}", texts.len() + 1, bytes, used);
    // 256 buckets: 16 bytes and one of control each, and a group of 16 more
    let bytes = maps.len() * (256 * 17 + 16) + maps.capacity() * 48;
    let used = maps.iter().map(|one| one.len() * 17).sum::<usize>() + maps.len() * 48;
    println!("make_maps {} {} {}", maps.len() + 1, bytes, used);
    // held to the end
    black_box((vectors, texts, maps));
    std::process::exit(0);
}
