// truth: sick
// what: a reader thread makes every line, and another thread frees it
// expect: cross-thread-frees short-lived-blocks
// place: none
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

fn main() {
    let (sender, receiver) = mpsc::sync_channel::<String>(2000);
    let reader = thread::spawn(move || {
        for i in 0..120000u32 {
            sender.send(format!("line {} of the input", i)).unwrap();
            if i % 400 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let mut sum = 0;
    for line in receiver {
        sum += line.len();
    }
    reader.join().unwrap();
    println!("{}", sum);
}
