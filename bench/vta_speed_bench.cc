// Measures the VTA functional level and cycle level on one thread, on complete programs with loads
// and stores: a 256x256x256 matrix multiply and a 3x3 convolution of 64 channels at 56x56, in the
// original's default configuration. Prints the processor's int16 multiply-add peak of the same run
// beside the rates.
//
//   build/bench/vta_speed_bench [seconds a figure]
//   KILN_CPU=avx2 build/bench/vta_speed_bench
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

#include "bench/peak.h"
#include "kiln/support/check.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"
#include "kiln/targets/vta/simulate/functional/functional.h"

namespace kiln::vta {
namespace {

// Returns the time of a clock in seconds.
double SecondsOn(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Returns the best rate of several rounds of `work`, by the thread's processor time, in 1e9/s.
double GigaPerSecond(double macs, double seconds, const std::function<void()>& work) {
  const double begin = SecondsOn(CLOCK_MONOTONIC);
  double best = 1e30;
  do {
    const double start = SecondsOn(CLOCK_THREAD_CPUTIME_ID);
    work();
    best = std::min(best, SecondsOn(CLOCK_THREAD_CPUTIME_ID) - start);
  } while (SecondsOn(CLOCK_MONOTONIC) - begin < seconds);
  return macs * 1e-9 / best;
}

// Assembles a program: micro-ops and instructions, in a memory that begins with the data.
class Builder {
 public:
  explicit Builder(const Config& config) : encoding_(config) {}

  // Appends a load of micro-ops [first, first + count) at the begin of the program.
  void AddUop(const Uop& uop) { uops_.push_back(encoding_.EncodeUop(uop)); }
  Instruction& Add(Instruction in) { return program_.emplace_back(in); }
  Instruction& Load(Memory memory, uint32_t sram, uint32_t dram, uint32_t rows, uint32_t columns,
                    uint32_t stride) {
    Instruction in;
    in.opcode = memory == Memory::kOutput ? Opcode::kStore : Opcode::kLoad;
    in.memory = memory;
    in.sram_base = sram;
    in.dram_base = dram;
    in.y_size = rows;
    in.x_size = columns;
    in.x_stride = stride;
    return Add(in);
  }

  // Returns the memory with data, micro-ops and instructions, and the address of the program.
  std::vector<uint8_t> Finish(std::vector<uint8_t> data, uint64_t* address) {
    Instruction load;
    load.opcode = Opcode::kLoad;
    load.dram_base =
        static_cast<uint32_t>((DeviceMemory::kPageBytes + data.size()) / Config::kUopBytes);
    load.y_size = 1;
    load.x_size = load.x_stride = static_cast<uint32_t>(uops_.size());
    for (const uint32_t word : uops_) {
      for (int i = 0; i < 4; ++i) data.push_back(static_cast<uint8_t>(word >> (8 * i)));
    }
    while (data.size() % kInstructionBytes != 0) data.push_back(0);
    *address = DeviceMemory::kPageBytes + data.size();
    program_.insert(program_.begin(), load);
    for (const Instruction& in : program_) {
      const Encoding::Bytes bytes = encoding_.Encode(in);
      data.insert(data.end(), bytes.begin(), bytes.end());
    }
    return data;
  }
  size_t count() const { return program_.size(); }
  uint32_t uops() const { return static_cast<uint32_t>(uops_.size()); }

 private:
  const Encoding encoding_;
  std::vector<uint32_t> uops_;
  std::vector<Instruction> program_;
};

Instruction Loops(Opcode opcode, uint32_t uop_begin, uint32_t uop_end, uint32_t outer,
                  uint32_t inner) {
  Instruction in;
  in.opcode = opcode;
  in.uop_begin = uop_begin;
  in.uop_end = uop_end;
  in.outer = outer;
  in.inner = inner;
  return in;
}

// Orders compute -> store -> compute and compute -> load -> compute by tokens, so that the parts of
// the work follow each other.
void EndPart(Builder& builder, Instruction& store) {
  store.pop_previous = store.push_previous = true;
  Instruction nop;
  nop.opcode = Opcode::kLoad;
  nop.pop_next = nop.push_previous = true;
  builder.Add(nop);
}

// A program with its memory.
struct Program {
  std::vector<uint8_t> memory;
  uint64_t address = 0;
  size_t instructions = 0;
  double macs = 0;
};

constexpr uint32_t kBlocks = 16;  // blocks of 16 rows or columns in 256
constexpr uint32_t kRows = 128;   // rows per part of the work
// Addresses in units of the buffers' elements.
constexpr uint32_t kInputs = 4096 / 16, kWeights = (4096 + 65536) / 256,
                   kOutputs = (4096 + 131072) / 16;

std::vector<uint8_t> RandomBytes(size_t count) {
  Random random(1);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

Program MatrixMultiply(const Config& config) {
  Builder builder(config);
  for (uint32_t k = 0; k < kBlocks; ++k) {
    for (uint32_t n = 0; n < kBlocks; ++n) builder.AddUop({n, k, n * kBlocks + k});
  }
  builder.Load(Memory::kWeight, 0, kWeights, 1, kBlocks * kBlocks, kBlocks * kBlocks);
  for (uint32_t part = 0; part < 2; ++part) {
    Instruction& load = builder.Load(Memory::kInput, 0, kInputs + part * kRows * kBlocks, 1,
                                     kRows * kBlocks, kRows * kBlocks);
    load.pop_next = part > 0;
    load.push_next = true;
    Instruction gemm = Loops(Opcode::kGemm, 0, kBlocks, kRows, 1);
    gemm.dst_outer = kBlocks;
    gemm.reset = true;
    builder.Add(gemm);
    gemm.reset = false;
    gemm.uop_end = builder.uops();
    gemm.src_outer = kBlocks;
    gemm.pop_previous = true;
    builder.Add(gemm);
    Instruction shift = Loops(Opcode::kAlu, 0, 1, kRows, kBlocks);
    shift.alu = AluOp::kShiftRight;
    shift.use_immediate = true;
    shift.immediate = 8;
    shift.dst_outer = shift.src_outer = kBlocks;
    shift.dst_inner = shift.src_inner = 1;
    shift.push_next = true;
    builder.Add(shift);
    EndPart(builder, builder.Load(Memory::kOutput, 0, kOutputs + part * kRows * kBlocks, 1,
                                  kRows * kBlocks, kRows * kBlocks));
  }
  Instruction last;  // takes the token that the compute stage gives after the last part
  last.opcode = Opcode::kLoad;
  last.memory = Memory::kInput;
  last.pop_next = last.push_next = true;
  builder.Add(last);
  Instruction finish;
  finish.pop_previous = true;
  builder.Add(finish);
  Program program;
  program.macs = 256.0 * 256 * 256;
  program.memory = builder.Finish(RandomBytes(3 * 65536 + 65536), &program.address);
  program.instructions = builder.count();
  return program;
}

Program Convolution(const Config& config) {
  // kChannels counts blocks of channels; kTile counts output rows.
  constexpr uint32_t kSize = 56, kWidth = kSize + 2, kChannels = 4, kTile = 6;
  constexpr uint32_t kInputBytes = kSize * kSize * 64;
  constexpr uint32_t kIn = 4096 / 16, kOut = kIn + kInputBytes / 16,
                     kFilters = (4096 + 2 * kInputBytes) / 256;
  Builder builder(config);
  for (uint32_t o = 0; o < kChannels; ++o) {
    for (uint32_t i = 0; i < kChannels; ++i) {
      for (uint32_t y = 0; y < 3; ++y) {
        for (uint32_t x = 0; x < 3; ++x) {
          builder.AddUop({o * kTile * kSize, i * (kTile + 2) * kWidth + y * kWidth + x,
                          ((o * kChannels + i) * 3 + y) * 3 + x});
        }
      }
    }
  }
  builder.Load(Memory::kWeight, 0, kFilters, 1, kChannels * kChannels * 9,
               kChannels * kChannels * 9);
  for (uint32_t first = 0; first < kSize; first += kTile) {
    const uint32_t rows = std::min(kTile, kSize - first);
    for (uint32_t i = 0; i < kChannels; ++i) {
      const uint32_t from = first == 0 ? 0 : first - 1, to = std::min(kSize, first + rows + 1);
      Instruction& load = builder.Load(Memory::kInput, i * (kTile + 2) * kWidth,
                                       kIn + (i * kSize + from) * kSize, to - from, kSize, kSize);
      load.x_pad_before = load.x_pad_after = 1;
      load.y_pad_before = first == 0 ? 1 : 0;
      load.y_pad_after = first + rows == kSize ? 1 : 0;
      load.pop_next = first > 0 && i == 0;
      load.push_next = i + 1 == kChannels;
    }
    Instruction gemm = Loops(Opcode::kGemm, 0, builder.uops(), rows, kSize);
    gemm.dst_outer = kSize;
    gemm.dst_inner = 1;
    gemm.reset = true;
    builder.Add(gemm);
    gemm.reset = false;
    gemm.src_outer = kWidth;
    gemm.src_inner = 1;
    gemm.pop_previous = gemm.push_next = true;
    builder.Add(gemm);
    Instruction& store =
        builder.Load(Memory::kOutput, 0, kOut + first * kSize, 1, rows * kSize, rows * kSize);
    EndPart(builder, store);
  }
  Instruction last;
  last.opcode = Opcode::kLoad;
  last.memory = Memory::kInput;
  last.pop_next = last.push_next = true;
  builder.Add(last);
  Instruction finish;
  finish.pop_previous = true;
  builder.Add(finish);
  Program program;
  program.macs = 56.0 * 56 * 64 * 64 * 9;
  program.memory = builder.Finish(RandomBytes(2 * kInputBytes + kChannels * kChannels * 9 * 256),
                                  &program.address);
  program.instructions = builder.count();
  return program;
}

void Print(const char* name, const Program& program, const Config& config, double seconds,
           double peak) {
  DeviceMemory memory(DeviceMemory::kPageBytes, program.memory);
  FunctionalMachine machine(config);
  const double rate = GigaPerSecond(program.macs, seconds, [&] {
    const auto fault = machine.Launch(memory, program.address, program.instructions);
    KILN_CHECK(!fault.has_value());
  });
  fmt::print("{:<34} {:>7.1f} GMAC/s", name, rate);
  if (peak > 0) fmt::print(" {:>5.0f} %", 100 * rate / peak);
  fmt::print("\n");
}

void PrintCycles(const char* name, const Program& program, const Config& config, double seconds) {
  DeviceMemory memory(DeviceMemory::kPageBytes, program.memory);
  CycleMachine machine(config);
  const RunTime time = machine.Launch(memory, program.address, program.instructions).time;
  const double rate = GigaPerSecond(static_cast<double>(time.cycles), seconds, [&] {
    const auto result = machine.Launch(memory, program.address, program.instructions);
    KILN_CHECK(!result.fault.has_value());
  });
  fmt::print(
      "{:<34} {:>7.1f} million cycles/s ({} cycles, GEMM steps in {:.0f} %), {:.1f} GMAC/s\n", name,
      1000 * rate, time.cycles,
      100 * static_cast<double>(time.counters[Counter::kGemmSteps]) /
          static_cast<double>(time.cycles),
      rate * program.macs / static_cast<double>(time.cycles));
}

int Main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const Config config = *ParseOriginalConfig("{}", "default");
  const bench::Peak peak = bench::Int16Peak(GetCpuLevel());
  const double most = peak.run == nullptr ? 0 : GigaPerSecond(peak.macs, seconds, peak.run);
  fmt::print("one thread, {}; the processor's int16 multiply-adds: {:.1f} GMAC/s\n",
             NameOf(GetCpuLevel()), most);
  const Program multiply = MatrixMultiply(config), convolution = Convolution(config);
  Print("matrix multiply 256x256x256", multiply, config, seconds, most);
  Print("convolution 3x3, 64 at 56x56", convolution, config, seconds, most);
  fmt::print("cycle level\n");
  PrintCycles("matrix multiply 256x256x256", multiply, config, seconds);
  PrintCycles("convolution 3x3, 64 at 56x56", convolution, config, seconds);
  return 0;
}

}  // namespace
}  // namespace kiln::vta

int main(int argc, char** argv) { return kiln::vta::Main(argc, argv); }
