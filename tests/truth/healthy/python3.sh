# truth: healthy
# what: python3 builds dictionaries, sorts, and parses JSON
# needs: /usr/bin/python3
# small: yes
echo 'import json
d = {str(i): list(range(i % 20)) for i in range(40000)}
for i in range(5):
    d = json.loads(json.dumps(d))
print(len(sorted(d)))' >program.py
record /usr/bin/python3 program.py >/dev/null
