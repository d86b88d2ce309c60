# Two commands, each by itself from a clean clone on Debian 12: `make demo` and `make test`.
.DEFAULT_GOAL := build
.PHONY: setup build demo test check-deep bench format lint clean

BUILD := build
DEMO_DATA := /usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz
DEMO_CALIBRATION := /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz

setup:
	tools/setup

$(BUILD)/build.ninja: CMakeLists.txt CMakePresets.json | setup
	cmake --preset release

# The program, at build/bin/kiln, and what `cmake --install` puts beside it.
build: $(BUILD)/build.ninja
	cmake --build $(BUILD) --target kiln kiln_libraries

# A trained network, quantised to INT8, on a 16x16 systolic accelerator: 10,000 images
# bit-accurately, 20 of them at the cycle level.
demo: build
	$(BUILD)/bin/kiln run models/demo_fashion_mnist.onnx \
	  --on accelerators/systolic-int8-16x16.yaml --data $(DEMO_DATA) \
	  --calibrate $(DEMO_CALIBRATION) --cycle-limit 20 \
	  --report $(BUILD)/demo/report.html --json $(BUILD)/demo/report.json

# The whole test suite. ctest counts skipped tests as passed; they are named at the end.
test: $(BUILD)/build.ninja
	cmake --build $(BUILD)
	ctest --test-dir $(BUILD) --output-on-failure --parallel $$(nproc) \
	  --output-junit tests.xml; status=$$?; \
	  tools/report_skips $(BUILD)/tests.xml; exit $$status

# Sanitisers and fuzzers, for hours: tools/check_deep -h.
check-deep: | setup
	tools/check_deep

bench: | setup
	cmake --preset bench
	cmake --build $(BUILD) --target bench

format:
	tools/format

lint:
	tools/lint

clean:
	rm -rf build build-*
