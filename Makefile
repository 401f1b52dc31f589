# The front door: everything else is CMake and ctest. `make` alone says what there is.
.POSIX:
.DEFAULT_GOAL = help
.PHONY: help demo build check check-asan check-tsan check-world check-truth check-storm check-faults check-attach check-takeover check-types check-python check-firefox vscode fuzz bench install uninstall clean

PREFIX = /usr/local
JOBS = $$(nproc)
# Tests wait for clocks, sockets and pages as often as they compute.
TEST_JOBS = $$(($$(nproc) + 1))
SECONDS_EACH = 600
MINUTES = 40
PART = 1/1
TIDEMARK = build/release/bin/tidemark
CTEST = ctest --output-on-failure --no-tests=error

help:
	@echo 'make demo     install what is missing, build, profile g++ on examples/heavy.cpp, show the report'
	@echo 'make build    build (release) into build/release, with the web view'
	@echo 'make check    every test; the units again under AddressSanitizer and ThreadSanitizer'
	@echo 'make check-world  65 workloads of Debian'"'"'s under record (installs them; doc/WORLD.md)'
	@echo 'make check-truth  known sick and healthy programs: is the first answer the right one (doc/TRUTH.md)'
	@echo 'make check-storm  thousands of processes under record, with few descriptors'
	@echo 'make check-faults  every system call of recorder, collector and attach fails or is killed in turn (doc/FAULTS.md)'
	@echo 'make check-attach  500 kills of attach beside services with one thread and many, 200 cycles (half an hour)'
	@echo 'make check-takeover  20 rounds of 30, 60 and 90 processes whose collector is killed at random'
	@echo 'make check-python  lines of Python against tracemalloc, for each interpreter of PYTHONS'
	@echo 'make check-firefox  every view of the web view in Firefox; CI does that in Chromium'
	@echo 'make check-types  types of what real programs allocate, and for how much they are known'
	@echo 'make fuzz     ten minutes of each fuzzer (doc/FUZZING.md)'
	@echo 'make vscode   the extension of editors/vscode as a package to install (fetches vsce)'
	@echo 'make bench    the benchmarks'
	@echo 'make install  into PREFIX (now $(PREFIX)); DESTDIR works'
	@echo 'make uninstall  what make install put there is taken away again'
	@echo 'make clean    remove build/'

# What needs no tests leaves them out: no test packages are asked for. Nor is npm, without which the
# web view is a plain page: make build makes it.
demo:
	@tools/setup.sh build
	@VIEWER=no tools/web.sh
	@cmake --preset release -DBUILD_TESTING=OFF >build.log 2>&1 && cmake --build --preset release -j $(JOBS) >>build.log 2>&1 || { cat build.log; exit 1; }
	@rm -f build.log
	@tools/demo.sh $(TIDEMARK)

build:
	@tools/setup.sh build web
	@tools/web.sh
	cmake --preset release -DBUILD_TESTING=OFF
	cmake --build --preset release -j $(JOBS)

# The sanitizers first, so that the last line is the summary of the run of the release build. What reads
# damaged files takes a minute, and has run under AddressSanitizer by then: it is not run again.
check: check-asan check-tsan
	@tools/setup.sh build test web
	@tools/web.sh needed
	cmake --preset release -DBUILD_TESTING=ON
	cmake --build --preset release -j $(JOBS)
	$(CTEST) --preset release -j $(TEST_JOBS) -E '^unit/((symbols|trace|profile)/damage|trace/trace_state)$$'

check-asan:
	@tools/setup.sh build test
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	$(CTEST) --preset asan -j $(TEST_JOBS) -R '^(unit|sanitized)/'

check-tsan:
	@tools/setup.sh build test
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS)
	$(CTEST) --preset tsan -j $(TEST_JOBS) -R '^unit/.*(ring|merge|shared|thread|tracer|look_schedule|offline)'

check-firefox:
	@tools/setup.sh build test web firefox
	@tools/web.sh needed
	cmake --preset release -DBUILD_TESTING=ON
	cmake --build --preset release -j $(JOBS)
	cd web && BROWSER=firefox node e2e/run.mjs ../$(TIDEMARK) ../build/release/tests/web

# Nothing is published.
vscode:
	cd editors/vscode && npx --yes @vscode/vsce@4.1.0 package --allow-missing-repository --no-dependencies -o ../../build/tidemark.vsix

check-world:
	@tools/setup.sh build test
	cmake --preset release -DBUILD_TESTING=ON
	cmake --build --preset release -j $(JOBS)
	@INSTALL=1 tests/world/run.sh

check-truth:
	@tools/setup.sh build test
	cmake --preset release -DBUILD_TESTING=ON
	cmake --build --preset release -j $(JOBS)
	@TIDEMARK=$$PWD/$(TIDEMARK) python3 tests/truth/run.py

check-storm:
	@tools/setup.sh build test
	cmake --preset release -DBUILD_TESTING=ON
	cmake --build --preset release -j $(JOBS)
	@TIDEMARK=$$PWD/$(TIDEMARK) BUILD=$$PWD/build/release/tests/real SOURCE=$$PWD tests/torture/storm.sh \
	    exec 1000 4 1024 exec 3000 16 20000 exec 10000 8 256 fork 2000 2000 1024
check-faults:
	@tools/setup.sh build test
	cmake --preset release -DBUILD_TESTING=ON
	cmake --build --preset release -j $(JOBS)
	@python3 tests/faults/faults.py --whole --part $(PART) --minutes $(MINUTES) build/release/bin build/release/lib build/release/tests/faults

check-attach:
	@tools/setup.sh build test
	cmake --preset release -DBUILD_TESTING=ON
	cmake --build --preset release -j $(JOBS)
	@for test in kills cycles execs detach; do echo "== $$test"; \
		KILLS=500 CYCLES=200 ROUNDS=100 SOURCE=$$PWD BUILD=$$PWD/build/release/tests/real TIDEMARK=$$PWD/$(TIDEMARK) \
			tests/torture/$$test.sh || exit 1; done

check-types:
	$(CTEST) --preset release -R real/types --verbose

# PYTHONS='/usr/bin/python3.11 …': each is asked as cli/python asks the one that is found.
check-python: build
	TIDEMARK_PYTHONS="$(PYTHONS)" $(CTEST) --test-dir build/release -R '^cli/python$$'

check-takeover:
	@tools/setup.sh build test
	cmake --preset release -DBUILD_TESTING=ON
	cmake --build --preset release -j $(JOBS)
	@ROUNDS=20 SOURCE=$$PWD BUILD=$$PWD/build/release/tests/real TIDEMARK=$$PWD/$(TIDEMARK) tests/torture/takeover.sh

fuzz:
	@tools/setup.sh build test
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	@tools/fuzz.sh $(SECONDS_EACH)

bench:
	@tools/setup.sh build test
	@tools/web.sh
	cmake --preset release -DBUILD_TESTING=ON
	cmake --build --preset release -j $(JOBS)
	@for bench in bench/*.sh bfm/bench/*.sh; do [ -f "$$bench" ] && { echo "== $$bench"; BIN=build/release/bin sh "$$bench" || exit 1; }; done

install: build
	cmake --install build/release --prefix $(PREFIX)

uninstall:
	cmake --build build/release --target uninstall

clean:
	rm -rf build
