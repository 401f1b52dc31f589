# Counts words that a regular expression finds: text that Python takes apart, and little more.
#   words.py [LINES]
import re, sys, collections, random
n = int(sys.argv[1]) if len(sys.argv) > 1 else 80000
random.seed(1)
vocabulary = ["w%05d" % random.randrange(20000) for _ in range(3000)]
word = re.compile(r"\w+")
counts = collections.Counter()
def line(i):
    return " ".join(vocabulary[(i * 7 + j * 13) % 3000] for j in range(12))
def count(text):
    for m in word.finditer(text):
        counts[m.group().lower()] += 1
for i in range(n):
    count(line(i))
for w, c in counts.most_common(5):
    print(w, c)
