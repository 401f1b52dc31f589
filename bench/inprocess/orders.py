# Reads orders as CSV and writes sums as JSON.
#   orders.py [ORDERS]
import csv, io, json, sys, collections
n = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
def rows():
    for i in range(n):
        yield "%d,customer%d,%d,%.2f\n" % (i, i % 997, i % 7 + 1, (i % 10007) / 3)
class Order:
    def __init__(self, row):
        self.id, self.customer, self.count, self.price = int(row[0]), row[1], int(row[2]), float(row[3])
    def total(self):
        return self.count * self.price
sums = collections.defaultdict(float)
kept = []
for row in csv.reader(rows()):
    order = Order(row)
    sums[order.customer] += order.total()
    if order.id % 50 == 0:
        kept.append({"id": order.id, "sum": order.total()})
print(len(json.dumps(sums)), len(json.dumps(kept)))
