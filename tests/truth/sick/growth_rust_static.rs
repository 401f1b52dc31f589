// truth: sick
// what: a list of past events grows for ever; nobody reads it
// expect: leak-growth leak-possible
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

static EVENTS: Mutex<Vec<Box<[u8]>>> = Mutex::new(Vec::new());

#[inline(never)]
fn log_event(i: usize) {
    let text = vec![i as u8; 200].into_boxed_slice(); // guilty: log_event
    EVENTS.lock().unwrap().push(text);
}

fn main() {
    for i in 0..15000 {
        log_event(i);
        if i % 30 == 0 {
            sleep(Duration::from_millis(1));
        }
    }
    std::process::exit(0);
}
