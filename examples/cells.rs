// A simulation of cells that know their neighbours, who know them in turn: a cycle of Rc, which nobody
// frees; and a log that grows by pushing.
use std::cell::RefCell;
use std::rc::Rc;

struct Cell {
    _state: [u64; 16],
    neighbours: RefCell<Vec<Rc<Cell>>>,
}

fn ring(length: usize) -> Rc<Cell> {
    let cells: Vec<Rc<Cell>> = (0..length)
        .map(|at| Rc::new(Cell { _state: [at as u64; 16], neighbours: RefCell::new(Vec::new()) }))
        .collect();
    for at in 0..length {
        cells[at].neighbours.borrow_mut().push(cells[(at + 1) % length].clone());
    }
    cells[0].clone()
}

fn main() {
    let mut log = Vec::new();
    for step in 0..2000u64 {
        let first = ring(100);
        log.push(format!("step {} began with {} neighbours", step, first.neighbours.borrow().len()));
    }
    println!("{} steps", log.len());
}
