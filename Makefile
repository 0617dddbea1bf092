# The few commands of the project. Each installs what it needs (scripts/packages.txt), builds what is out of date,
# and works in a fresh clone without a step before it.
.DEFAULT_GOAL := help
.PHONY: help demo build test asan thread lint format fuzz engine cuda bench device clean
MAKEFLAGS += --no-print-directory
# Most of the long tests wait, for processes, servers and clocks: twice as many as there are cores.
TESTS_AT_ONCE := $(shell expr 2 \* $$(nproc))
CTEST_ARGS ?=

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## build plimsoll and weigh ResNet-50 with it
	@echo "== plimsoll weigh resnet50"
	@build/release/apps/plimsoll weigh resnet50

build: ## build the program: build/release/apps/plimsoll
	@scripts/bootstrap --preset release build
	@scripts/build release plimsoll

test: ## build what ships, the engine and the tests; run every test (CTEST_ARGS="-R name")
	@scripts/bootstrap --preset test build engine test
	@if scripts/nvcc >/dev/null; then $(MAKE) cuda; else scripts/nvcc --or-say-so; fi
	@[ -e build/mlflow-3 ] || echo "== some tests fetch MLflow 2 and 3 from PyPI into build/mlflow-2 and -3 (1.2 GB each on the disk); without PyPI they are skipped"
	@scripts/build test
	@echo "== testing"
	@ctest --preset test --parallel $(TESTS_AT_ONCE) --output-junit tests.xml --test-output-size-passed 100000 --test-output-truncation head $(CTEST_ARGS)
	@scripts/check_skips build/release/tests.xml

asan: ## run unit and integration tests under AddressSanitizer and UBSan
	@scripts/bootstrap build test fuzz
	@scripts/build sanitize unit_tests plimsoll fake_nvml
	@echo "== testing (sanitize)"
	@scripts/sanitized_tests sanitize --parallel $(TESTS_AT_ONCE) $(CTEST_ARGS)

thread: ## run the tests of the rooms with threads under ThreadSanitizer
	@scripts/bootstrap build test fuzz
	@scripts/build thread unit_tests plimsoll fake_nvml
	@echo "== testing (thread)"
	@scripts/sanitized_tests thread --parallel $(TESTS_AT_ONCE) $(CTEST_ARGS)

device: ## on a machine with a GPU: run what only that can show (docs/device.md)
	@scripts/device

lint: ## check format, layers, scripts, and run clang-tidy
	@scripts/bootstrap build lint
	@scripts/build lint --configure-only
	@echo "== linting"
	@scripts/lint

format: ## rewrite the C++ files as .clang-format wants them
	@scripts/bootstrap lint
	@echo "== formatting"
	@git ls-files -z --cached --others --exclude-standard -- '*.cpp' '*.hpp' '*.cu' '*.cuh' | \
	  xargs -0r "$$(scripts/clang_tool clang-format)" -i

fuzz: ## feed the readers with nonsense for FUZZ_SECONDS (60)
	@scripts/bootstrap build test fuzz
	@scripts/build sanitize fuzzers
	@scripts/fuzz

engine: ## build plimsoll-engine on Debian's LibTorch, or TORCH=FOLDER of an installed PyTorch
	@if [ -z "$(TORCH)" ]; then scripts/bootstrap --preset engine build engine; else scripts/bootstrap build; fi
	@scripts/build engine --configure-only
	@cmake build/engine -DPLIMSOLL_TORCH="$(TORCH)" >/dev/null
	@scripts/build engine plimsoll-engine
	@mkdir -p build/release/apps && ln -sf ../../engine/apps/plimsoll-engine build/release/apps/plimsoll-engine
	@echo "== build/release/apps/plimsoll-engine, where plimsoll looks for it"

cuda: ## build plimsoll-cuda, which probes a GPU; needs CUDA's compiler, nvcc
	@scripts/bootstrap build
	@scripts/build cuda plimsoll-cuda
	@mkdir -p build/release/apps && ln -sf ../../cuda/apps/plimsoll-cuda build/release/apps/plimsoll-cuda
	@echo "== build/release/apps/plimsoll-cuda, where plimsoll looks for it"

bench: ## run the benchmarks and print their tables
	@if [ ! -e bench/CMakeLists.txt ]; then echo "there are no benchmarks yet"; exit 2; fi
	@scripts/bootstrap --preset bench build bench
	@scripts/build bench benchmarks
	@scripts/bench

clean: ## remove all that was built
	rm -rf build .stamps
