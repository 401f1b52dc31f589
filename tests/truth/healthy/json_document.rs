// truth: healthy
// what: documents are built as trees of strings and dropped, one after the other
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

fn document(i: usize) -> BTreeMap<String, Vec<String>> {
    let mut map = BTreeMap::new();
    for k in 0..40 {
        map.insert(format!("key {}", k), vec![format!("a value of some length {}", i); 10]);
    }
    map
}

fn main() {
    let mut sum = 0;
    for i in 0..400 {
        sum += document(i).len();
        sleep(Duration::from_millis(1));
    }
    println!("{}", sum);
}
