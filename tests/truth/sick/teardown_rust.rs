// truth: sick
// what: sessions are never taken out of their map, which is dropped at the end
// expect: grew-until-teardown leak-growth
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

#[inline(never)]
fn session_store(sessions: &mut BTreeMap<u32, Vec<u8>>, i: u32) {
    sessions.insert(i, vec![i as u8; 900]); // guilty: session_store
}

#[inline(never)]
fn answer(i: u32) -> usize {
    let text = vec![i as u8; 3000];
    std::hint::black_box(&text).len()
}

fn main() {
    let mut sessions = BTreeMap::new();
    let mut sum = 0;
    for i in 0..9000 {
        session_store(&mut sessions, i);
        sum += answer(i);
        if i % 15 == 0 {
            sleep(Duration::from_millis(1));
        }
    }
    println!("{} {}", sum, sessions.len());
}
