// truth: sick
// what: two Rc hold each other
// expect: leak-lost leak-growth
use std::cell::RefCell;
use std::rc::Rc;
use std::thread::sleep;
use std::time::Duration;

struct Node {
    other: RefCell<Option<Rc<Node>>>,
    data: [u64; 20],
}

#[inline(never)]
fn link(i: u64) -> u64 {
    let a = Rc::new(Node { other: RefCell::new(None), data: [i; 20] }); // guilty: link
    let b = Rc::new(Node { other: RefCell::new(Some(a.clone())), data: [i; 20] }); // guilty: link
    *a.other.borrow_mut() = Some(b.clone());
    a.data[3] + b.data[4]
}

fn main() {
    let mut sum = 0;
    for i in 0..8000 {
        sum += link(i);
        if i % 20 == 0 {
            sleep(Duration::from_millis(1));
        }
    }
    println!("{}", sum);
}
