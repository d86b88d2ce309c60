// Simulates an emitted systolic accelerator (Verilated class Vkiln_accelerator) with a memory behind its AXI4 ports.
//
// Loads a memory image, writes the program's address and the start bit over AXI4-Lite, waits for the end, and writes
// the memory as it is then. What it found out goes to standard output, one line a fact:
//
//   cycles N              from the first cycle of the program to the end of its last instruction
//   finished T T T ...    when each instruction was finished, in the same cycles
//   error CODE            of the status register; 0: none
//   counter NAME N        the performance counters
//
// The exit code is 0 when the program ended without an error, 1 when the machine reports one, 2 for bad arguments or
// files, 3 when the machine did not end in time.
#include <verilated.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "Vkiln_accelerator.h"
#include "design.h"
#include "kiln_simulate_options.h"
#include "kiln_systolic_bench.h"
#ifdef KILN_TRACE
#include <verilated_fst_c.h>
#endif

namespace {

using kiln::testbench::Fail;
using kiln::testbench::Option;
using kiln::testbench::ReadBytes;
using kiln::testbench::SimulateOptions;
using kiln::testbench::WriteBytes;
namespace registers = kiln::testbench::systolic;

struct Arguments : SimulateOptions {
  uint64_t size = 0, program = 0;
};

const char* const kHelp =
    "simulate --memory FILE --program ADDRESS [options]\n"
    "  --memory FILE      the memory at the start: bytes (.bin), or $readmemh text of 16-byte "
    "words (.hex)\n"
    "  --size BYTES       of the memory; default: the image's\n"
    "  --program ADDRESS  of the program's first word\n"
    "  --result FILE      the memory at the end, as bytes\n"
    "  --latency CYCLES   of the memory, from an address to its first beat; default: the design "
    "point's\n"
    "  --dram BYTES       a DRAM that moves so many bytes a cycle for all ports together, instead "
    "of an ideal memory\n"
    "  --row-miss CYCLES  of the DRAM, more for a burst to another row\n"
    "  --stalls P         each channel stalls with this probability\n"
    "  --seed N           of the stalls, and of what registers hold at power-up; default 1\n"
    "  --limit CYCLES     gives up then\n"
    "  --wave FILE.fst    waveform (a simulation built with TRACE=1) [--wave-from CYCLE] "
    "[--wave-to CYCLE], cycles of "
    "the\n"
    "                     program; by default everything\n"
    "Example: simulate --memory memory.hex --program 4096 --result after.bin\n";

Arguments Parse(int count, char** values) {
  Arguments a;
  a.timing.latency = kiln_design::kMemoryLatency;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    if (name == "--help") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    if (i + 1 >= count) Fail(name + ": a value is missing; see --help");
    const Option option{name, values[++i]};
    if (a.Take(option)) continue;
    if (name == "--size")
      option.Take(a.size);
    else if (name == "--program")
      option.Take(a.program);
    else
      Fail(name + " is no option; see --help");
  }
  if (a.memory.empty()) Fail("--memory is missing; see --help");
  return a;
}

// $readmemh text of 16-byte words: "@ADDRESS" in words, then words of 32 digits, most significant byte first.
std::vector<uint8_t> ReadHex(const std::string& path) {
  std::ifstream in(path);
  if (!in) Fail(path + ": cannot be read");
  std::vector<uint8_t> bytes;
  size_t at = 0;
  for (std::string token; in >> token;) {
    if (token.compare(0, 2, "//") == 0) {
      std::getline(in, token);
    } else if (token[0] == '@') {
      at = std::strtoull(token.c_str() + 1, nullptr, 16) * 16;
    } else {
      if (token.size() != 32) Fail(path + ": '" + token + "' is no word of 32 digits");
      bytes.resize(std::max(bytes.size(), at + 16));
      for (size_t i = 0; i < 16; ++i) {
        bytes[at + 15 - i] =
            static_cast<uint8_t>(std::strtoul(token.substr(2 * i, 2).c_str(), nullptr, 16));
      }
      at += 16;
    }
  }
  return bytes;
}

}  // namespace

int main(int count, char** values) {
  const Arguments arguments = Parse(count, values);
  const bool hex =
      arguments.memory.size() > 4 && arguments.memory.substr(arguments.memory.size() - 4) == ".hex";
  const std::vector<uint8_t> image = hex ? ReadHex(arguments.memory) : ReadBytes(arguments.memory);

  VerilatedContext context;
  kiln::testbench::BeginAtRandom(context, arguments.seed);
#ifdef KILN_TRACE
  context.traceEverOn(true);
#endif
  const auto top = std::make_unique<Vkiln_accelerator>(&context);
  using Bench = kiln::testbench::SystolicBench<Vkiln_accelerator>;
  std::unique_ptr<Bench> bench;
  Bench::Dump dump;
#ifdef KILN_TRACE
  VerilatedFstC wave;
  if (!arguments.wave.empty()) {
    top->trace(&wave, 99);
    wave.open(arguments.wave.c_str());
    dump = [&](uint64_t cycle, int half) {
      const bool inside = bench != nullptr && bench->started() &&
                          bench->last_cycle() >= arguments.wave_from &&
                          bench->last_cycle() <= arguments.wave_to;
      if (arguments.wave_whole || inside) wave.dump(2 * cycle + static_cast<uint64_t>(half));
    };
  }
#else
  if (!arguments.wave.empty()) Fail("--wave needs a simulation built with TRACE=1");
#endif
  // A little room behind the program, which is fetched ahead.
  const uint64_t size = std::max<uint64_t>(arguments.size, image.size() + 4096);
  bench = std::make_unique<Bench>(top.get(), kiln_design::kPorts, size, arguments.timing,
                                  arguments.seed, dump);
  std::copy(image.begin(), image.end(), bench->memory().bytes().begin());
  const bool ended = bench->Run(arguments.program, arguments.limit);
  std::printf("cycles %" PRIu64 "\nfinished", bench->cycles());
  for (const uint64_t cycle : bench->finished()) std::printf(" %" PRIu64, cycle);
  std::printf("\n");
  uint32_t error = 0;
  if (ended) {
    error = bench->Error();
    std::printf("error %u\n", error);
    for (uint32_t unit = 0; unit < std::size(registers::kUnits); ++unit) {
      for (uint32_t counter = 0; counter < std::size(registers::kUnitCounters); ++counter) {
        std::printf("counter %s.%s %" PRIu64 "\n", registers::kUnits[unit],
                    registers::kUnitCounters[counter], bench->Counter(unit, counter));
      }
    }
  }
  top->final();
#ifdef KILN_TRACE
  if (!arguments.wave.empty()) wave.close();
#endif
  if (!ended) {
    std::fprintf(stderr, "simulate: the program did not end in %" PRIu64 " cycles\n",
                 arguments.limit);
    return 3;
  }
  if (!arguments.result.empty()) {
    const std::vector<uint8_t>& bytes = bench->memory().bytes();
    WriteBytes(arguments.result, bytes.data(), bytes.size());
  }
  return error == 0 ? 0 : 1;
}
