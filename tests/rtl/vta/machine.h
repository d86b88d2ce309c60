// Shared by the tests of the whole machine (kiln_vta): the design points of its models, and a
// machine with its memory.
#ifndef KILN_TESTS_RTL_VTA_MACHINE_H_
#define KILN_TESTS_RTL_VTA_MACHINE_H_

#include <gtest/gtest.h>
#include <verilated.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kiln/hardware/axi_port.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/faults.h"
#include "rtl/testbench/kiln_vta_bench.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::rtl {

using testbench::AxiTiming;
using vta::Config;
using vta::RandomProgram;

constexpr uint64_t kMemoryBytes = uint64_t{1} << 18;
constexpr uint64_t kCycleLimit = 2'000'000;

// The design points of the models; the parameters are those in CMakeLists.txt.
inline Config Small() {
  Config c;
  c.name = "small";
  c.block_in = c.block_out = 4;
  c.uop_buffer_bytes = 256;
  c.input_buffer_bytes = 256;
  c.weight_buffer_bytes = 1024;
  c.accumulator_buffer_bytes = 1024;
  c.memory_latency = 12;
  c.instruction_queue_depth = 8;
  return c;
}

// Other widths, and unequal block sizes.
inline Config Batch() {
  Config c = Small();
  c.name = "batch";
  c.input_bits = 4;
  c.batch = 2;
  c.block_out = 8;
  c.input_buffer_bytes = 128;
  c.accumulator_buffer_bytes = 2048;
  c.memory_port_bytes = 16;
  c.memory_latency = 5;
  c.instruction_queue_depth = 3;
  c.accumulator_banks = 2;
  return c;
}
// Elements of each kind are longer than a beat; one bank.
inline Config Wide() {
  Config c = Small();
  c.name = "wide";
  c.input_bits = c.weight_bits = 16;
  c.block_in = 8;
  c.input_buffer_bytes = 512;
  c.weight_buffer_bytes = 2048;
  c.accumulator_buffer_bytes = 512;
  c.memory_latency = 40;
  c.accumulator_banks = 1;
  return c;
}
// The narrowest accumulators and indices; wider operands would not fit. Every accumulator is a
// bank.
inline Config Narrow() {
  Config c = Small();
  c.name = "narrow";
  c.input_bits = 1;
  c.weight_bits = 2;
  c.accumulator_bits = 8;
  c.batch = 4;
  c.block_in = c.block_out = 8;
  c.uop_buffer_bytes = 64;
  c.input_buffer_bytes = 64;
  c.weight_buffer_bytes = 64;
  c.accumulator_buffer_bytes = 512;
  c.memory_port_bytes = 64;
  c.memory_latency = 3;
  c.accumulator_banks = 16;
  return c;
}

inline AxiTiming Ideal(const Config& config) {
  AxiTiming timing;
  timing.latency = static_cast<uint64_t>(config.memory_latency - kAxiPortLatency);
  return timing;
}

// The contents of the fault register.
inline uint32_t CodeOf(const std::optional<vta::Fault>& fault) {
  return fault.has_value() ? static_cast<uint32_t>(fault->kind) + 1 : 0;
}

// A machine with the memory behind its port. Registers without a reset have random initial values.
template <typename Model>
class Machine {
 public:
  using Bench = testbench::VtaBench<Model>;
  Machine(const Config& config, const AxiTiming& timing, uint64_t seed) {
    context_.randReset(2);
    context_.randSeed(static_cast<int>(seed) + 1);
    context_.fatalOnError(false);
    model_ = std::make_unique<Model>(&context_);
    bench_ = std::make_unique<Bench>(model_.get(), static_cast<unsigned>(config.memory_port_bytes),
                                     kMemoryBytes, timing, seed);
  }
  // Fails the test if an assertion in the RTL failed, also one of an AXI checker.
  ~Machine() { EXPECT_FALSE(context_.gotError()); }

  // Copies an image to memory at RandomProgram::kBase.
  void Load(const std::vector<uint8_t>& image) {
    std::copy(image.begin(), image.end(), bench_->memory().bytes().begin() + RandomProgram::kBase);
  }
  std::vector<uint8_t> Image(size_t bytes) {
    const auto begin = bench_->memory().bytes().begin() + RandomProgram::kBase;
    return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
  }
  Bench& bench() { return *bench_; }

 private:
  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Bench> bench_;
};

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_VTA_MACHINE_H_
