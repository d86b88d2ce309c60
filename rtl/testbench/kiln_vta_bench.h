// Drives a Verilated VTA machine (rtl/vta/kiln_vta.sv, or an emitted kiln_accelerator) with a
// memory behind its AXI4 port: launches programs over AXI4-Lite and reports how they ended.
// Self-contained C++17, because it is copied into emitted designs.
#ifndef KILN_TESTBENCH_VTA_BENCH_H_
#define KILN_TESTBENCH_VTA_BENCH_H_

#include <verilated.h>

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "kiln_axi_lite.h"
#include "kiln_axi_memory.h"

namespace kiln::testbench {

namespace vta {

// The addresses of the registers in rtl/vta/kiln_vta_pkg.sv.
enum Register : uint32_t {
  kControl = 0x00,
  kCycles = 0x04,
  kInstructions = 0x08,
  kProgramAddress = 0x0c,
  kUopBase = 0x10,
  kInputBase = 0x14,
  kWeightBase = 0x18,
  kAccumulatorBase = 0x1c,
  kOutputBase = 0x20,
  kAccumulatorWrites = 0x24,
  kFault = 0x28,
  kFaultInstruction = 0x2c,
  kIdentity = 0x30,
  kCounters = 0x40,
};
constexpr uint32_t kControlLaunch = 1, kControlFinished = 2;
constexpr unsigned kCounterCount = 30;

}  // namespace vta

// A testbench with a VTA machine and its memory.
template <typename Top>
class VtaBench {
 public:
  // Called twice per cycle, after the falling and after the rising edge, to record waveforms.
  using Dump = std::function<void(uint64_t cycle, int half)>;

  VtaBench(Top* top, unsigned port_bytes, uint64_t memory_bytes, const AxiTiming& timing,
           uint64_t seed, Dump dump = {})
      : top_(*top),
        dump_(std::move(dump)),
        memory_(memory_bytes, timing),
        reads_(&memory_, port_bytes, seed * 2),
        writes_(&memory_, port_bytes, seed * 2 + 1) {
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
  // Whether no transaction is in flight between memory and machine.
  bool quiet() const { return reads_.idle() && writes_.idle(); }

  // Writes a register. Returns false if the machine rejects the write.
  bool WriteRegister(uint32_t address, uint32_t data) {
    return AxiLiteWrite(top_, address, data, [&] { Settle(); }, [&] { Edge(); });
  }
  uint32_t ReadRegister(uint32_t address, bool* error = nullptr) {
    return AxiLiteRead(top_, address, [&] { Settle(); }, [&] { Edge(); }, error);
  }
  // Lets cycles pass.
  void Idle(uint64_t cycles) {
    for (uint64_t i = 0; i < cycles; ++i) Cycle();
  }

  // Runs `count` instructions from byte address `address` on until the launch ends, or for at most
  // `limit` cycles. Returns false if the launch did not end.
  bool Launch(uint64_t address, uint64_t count, uint64_t limit) {
    ran_ = 0;
    ++launches_;
    for (std::vector<uint64_t>& cycles : starts_) cycles.clear();
    WriteRegister(vta::kInstructions, static_cast<uint32_t>(count));
    WriteRegister(vta::kProgramAddress, static_cast<uint32_t>(address));
    WriteRegister(vta::kControl, vta::kControlLaunch);
    for (uint64_t waited = 0; !top_.irq; ++waited) {
      if (waited == limit) return false;
      Cycle();
    }
    return true;
  }

  // Return facts about the last launch: the cycles in which the machine ran, counted by the bench
  // and by its own register; the fault (0 for none) and the number of its instruction.
  uint64_t ran() const { return ran_; }
  uint32_t cycles() { return ReadRegister(vta::kCycles); }
  uint32_t fault() { return ReadRegister(vta::kFault); }
  uint32_t fault_instruction() { return ReadRegister(vta::kFaultInstruction); }
  // Returns, for each of the stages load, compute and store, the cycles of the launch in which it
  // started its instructions.
  const std::array<std::vector<uint64_t>, 3>& starts() const { return starts_; }
  // Return the number of launches, including the current one, and whether the machine is running.
  uint64_t launches() const { return launches_; }
  bool running() const { return top_.running != 0; }
  std::vector<uint32_t> counters() {
    std::vector<uint32_t> values;
    for (unsigned i = 0; i < vta::kCounterCount; ++i)
      values.push_back(ReadRegister(vta::kCounters + 4 * i));
    return values;
  }

  void Cycle() {
    Settle();
    Edge();
  }

 private:
  // Drives the memory's signals of this cycle and evaluates the combinational logic.
  void Settle() {
    KILN_AXI_DRIVE_READ(top_, memory, reads_);
    KILN_AXI_DRIVE_WRITE(top_, memory, writes_);
    top_.clock = 0;
    top_.eval();
    if (dump_) dump_(time_, 0);
  }
  void Edge() {
    KILN_AXI_SAMPLE_READ(top_, memory, reads_);
    KILN_AXI_SAMPLE_WRITE(top_, memory, writes_);
    for (size_t stage = 0; stage < starts_.size(); ++stage) {
      if ((top_.starts >> stage & 1) != 0) starts_[stage].push_back(ran_);
    }
    ran_ += top_.running ? 1 : 0;
    Clock();
  }
  void Clock() {
    top_.clock = 1;
    top_.eval();
    if (dump_) dump_(time_, 1);
    ++time_;
  }

  Top& top_;
  Dump dump_;
  AxiMemory memory_;
  AxiReadPort reads_;
  AxiWritePort writes_;
  uint64_t time_ = 0, ran_ = 0, launches_ = 0;
  std::array<std::vector<uint64_t>, 3> starts_;
};

}  // namespace kiln::testbench

#endif  // KILN_TESTBENCH_VTA_BENCH_H_
