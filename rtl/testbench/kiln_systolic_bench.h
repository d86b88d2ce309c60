// Drives a Verilated systolic machine (rtl/systolic/kiln_systolic.sv, or an emitted
// kiln_accelerator) with a memory behind its AXI4 ports: writes the program's address and the start
// bit over AXI4-Lite, runs the program to its end, and reports when its instructions finished.
// Self-contained C++17, because it is copied into emitted designs.
#ifndef KILN_TESTBENCH_SYSTOLIC_BENCH_H_
#define KILN_TESTBENCH_SYSTOLIC_BENCH_H_

#include <verilated.h>

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln_axi_lite.h"
#include "kiln_axi_memory.h"
#include "kiln_systolic_registers.h"

namespace kiln::testbench {

// Widths of the ports, in bytes.
struct SystolicPorts {
  unsigned program = 16, input = 16, weight = 16, operand = 16, output = 16;
};

// Whether a design has the ports for block scales. Their width is a constant of the RTL
// (SCALE_PORT_BYTES).
template <typename Top, typename = void>
struct HasScalePorts : std::false_type {};
template <typename Top>
struct HasScalePorts<Top, std::void_t<decltype(std::declval<Top&>().output_scale_awvalid)>>
    : std::true_type {};
constexpr unsigned kScalePortBytes = 8;

// Whether all of a design's ports share one bus (kiln_shared_bus).
template <typename Top, typename = void>
struct HasSharedBus : std::false_type {};
template <typename Top>
struct HasSharedBus<Top, std::void_t<decltype(std::declval<Top&>().memory_arvalid)>>
    : std::true_type {};

// A testbench with a systolic machine and its memory.
template <typename Top>
class SystolicBench {
 public:
  // Called twice per cycle, after the falling and after the rising edge, to record waveforms.
  using Dump = std::function<void(uint64_t cycle, int half)>;

  SystolicBench(Top* top, const SystolicPorts& ports, uint64_t memory_bytes,
                const AxiTiming& timing, uint64_t seed, Dump dump = {})
      : top_(*top),
        dump_(std::move(dump)),
        memory_(memory_bytes, timing),
        program_(&memory_, ports.program, seed * 16 + 0),
        input_(&memory_, ports.input, seed * 16 + 1),
        weight_(&memory_, ports.weight, seed * 16 + 2),
        operand_(&memory_, ports.operand, seed * 16 + 3),
        output_(&memory_, ports.output, seed * 16 + 4),
        input_scale_(&memory_, kScalePortBytes, seed * 16 + 5),
        weight_scale_(&memory_, kScalePortBytes, seed * 16 + 6),
        operand_scale_(&memory_, kScalePortBytes, seed * 16 + 7),
        output_scale_(&memory_, kScalePortBytes, seed * 16 + 8),
        shared_reads_(&memory_, ports.program, seed * 16 + 9),
        shared_writes_(&memory_, ports.output, seed * 16 + 10) {
    AxiLiteIdle(top_);
    // Before its reset the machine may drive any values, so the memory does not sample them.
    top_.reset = 1;
    for (int i = 0; i < 4; ++i) {
      Settle();
      Clock();
    }
    top_.reset = 0;
    Cycle();
  }

  AxiMemory& memory() { return memory_; }

  // Writes a register. Returns false if the machine rejects the write.
  bool WriteRegister(uint32_t address, uint32_t data) {
    if (address == systolic::kControl && (data & systolic::kControlStart) != 0) Forget();
    return AxiLiteWrite(top_, address, data, [&] { Settle(); }, [&] { Edge(); });
  }
  uint32_t ReadRegister(uint32_t address, bool* error = nullptr) {
    return AxiLiteRead(top_, address, [&] { Settle(); }, [&] { Edge(); }, error);
  }
  // Lets cycles pass.
  void Idle(uint64_t cycles) {
    for (uint64_t i = 0; i < cycles; ++i) Cycle();
  }

  // Runs the program at `address` until the machine ends it, or for at most `limit` cycles. Returns
  // false if the program did not end.
  bool Run(uint64_t address, uint64_t limit) {
    WriteRegister(systolic::kProgramAddress, static_cast<uint32_t>(address));
    WriteRegister(systolic::kControl, systolic::kControlStart);
    for (uint64_t waited = 0; !ended_ && waited < limit; ++waited) Cycle();
    return ended_;
  }

  // Return the cycles of the last run, from its first one to the end of its last instruction, and
  // the cycle in which each instruction finished.
  uint64_t cycles() const { return finished_.empty() ? cycles_ : finished_.back(); }
  const std::vector<uint64_t>& finished() const { return finished_; }
  // Return the last cycle in which the machine was running, whether or not an instruction finished
  // in it, and whether the run has started.
  uint64_t last_cycle() const { return cycles_; }
  bool started() const { return started_; }
  // Returns the error code of the status registers, or 0 if there is none.
  uint32_t Error() {
    const uint32_t status = ReadRegister(systolic::kStatus);
    return (status & systolic::kStatusError) != 0 ? ReadRegister(systolic::kErrorCode) : 0;
  }
  // Returns a counter of a unit; both numbers are indices of kiln_systolic_registers.h.
  uint64_t Counter(uint32_t unit, uint32_t counter) {
    const uint32_t at = systolic::CounterAddress(unit, counter);
    const uint64_t low = ReadRegister(at), high = ReadRegister(at + 4);
    return high << 32 | low;
  }

 private:
  // Forgets the last run.
  void Forget() {
    started_ = ended_ = false;
    cycles_ = 0;
    finished_.clear();
  }
  void Cycle() {
    Settle();
    Edge();
  }
  // Drives the memory's signals of this cycle and evaluates the combinational logic.
  void Settle() {
    if constexpr (HasSharedBus<Top>::value) {
      KILN_AXI_DRIVE_READ_ID(top_, memory, shared_reads_);
      KILN_AXI_DRIVE_WRITE_ID(top_, memory, shared_writes_);
    } else {
      KILN_AXI_DRIVE_READ(top_, program, program_);
      KILN_AXI_DRIVE_READ(top_, input, input_);
      KILN_AXI_DRIVE_READ(top_, weight, weight_);
      KILN_AXI_DRIVE_READ(top_, operand, operand_);
      KILN_AXI_DRIVE_WRITE(top_, output, output_);
    }
    if constexpr (HasScalePorts<Top>::value) {
      KILN_AXI_DRIVE_READ(top_, input_scale, input_scale_);
      KILN_AXI_DRIVE_READ(top_, weight_scale, weight_scale_);
      KILN_AXI_DRIVE_READ(top_, operand_scale, operand_scale_);
      KILN_AXI_DRIVE_WRITE(top_, output_scale, output_scale_);
    }
    top_.clock = 0;
    top_.eval();
    if (!top_.reset) Observe();
    if (dump_) dump_(time_, 0);
  }
  void Edge() {
    if constexpr (HasSharedBus<Top>::value) {
      KILN_AXI_SAMPLE_READ_ID(top_, memory, shared_reads_);
      KILN_AXI_SAMPLE_WRITE_ID(top_, memory, shared_writes_);
    } else {
      KILN_AXI_SAMPLE_READ(top_, program, program_);
      KILN_AXI_SAMPLE_READ(top_, input, input_);
      KILN_AXI_SAMPLE_READ(top_, weight, weight_);
      KILN_AXI_SAMPLE_READ(top_, operand, operand_);
      KILN_AXI_SAMPLE_WRITE(top_, output, output_);
    }
    if constexpr (HasScalePorts<Top>::value) {
      KILN_AXI_SAMPLE_READ(top_, input_scale, input_scale_);
      KILN_AXI_SAMPLE_READ(top_, weight_scale, weight_scale_);
      KILN_AXI_SAMPLE_READ(top_, operand_scale, operand_scale_);
      KILN_AXI_SAMPLE_WRITE(top_, output_scale, output_scale_);
    }
    Clock();
  }
  void Clock() {
    top_.clock = 1;
    top_.eval();
    if (dump_) dump_(time_, 1);
    ++time_;
  }
  void Observe() {
    if (!top_.running) {
      ended_ = started_;
      return;
    }
    if (!started_) {
      started_ = true;
      first_ = time_;
    }
    cycles_ = time_ - first_;
    while (finished_.size() % 65536 != top_.finished) finished_.push_back(cycles_);
  }

  Top& top_;
  Dump dump_;
  AxiMemory memory_;
  AxiReadPort program_, input_, weight_, operand_;
  AxiWritePort output_;
  AxiReadPort input_scale_, weight_scale_, operand_scale_;  // used if HasScalePorts
  AxiWritePort output_scale_;
  AxiReadPort shared_reads_;  // used instead of the ports above if HasSharedBus
  AxiWritePort shared_writes_;
  uint64_t time_ = 0, first_ = 0, cycles_ = 0;
  bool started_ = false, ended_ = false;
  std::vector<uint64_t> finished_;
};

}  // namespace kiln::testbench

#endif  // KILN_TESTBENCH_SYSTOLIC_BENCH_H_
