// Simulates an emitted systolic accelerator (Verilated class Vkiln_accelerator) with a memory
// behind its AXI4 ports.
//
// Loads a memory image, writes the program's address and the start bit over AXI4-Lite, waits for
// the end, and writes the final contents of the memory. Prints one fact per line on standard
// output:
//
//   cycles N              from the first cycle of the program to the end of its last instruction
//   finished T T T ...    the cycle in which each instruction finished, counted likewise
//   error CODE            of the status register; 0 for none
//   counter NAME N        the performance counters
//
// With --sample it runs the steps of a sample (kiln_simulate_sample.h) on the memory image; a run
// takes the program's address. It prints the cycles and counters of all runs together, and PASS or
// the first difference.
//
// With --serve it is a session (kiln_simulate_session.h). A run takes the program's address. Its
// counters are the performance counters, unit by unit; its events are the cycles in which the
// instructions finished.
//
// The exit code is 0 if the program ended without an error and as the sample expects, 1 if the
// machine reports an error or computed something else, 2 for bad arguments or files, 3 if the
// machine did not end in time.
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
#include "kiln_simulate_sample.h"
#include "kiln_simulate_session.h"
#include "kiln_simulate_wave.h"
#include "kiln_systolic_bench.h"

namespace {

using kiln::testbench::Fail;
using kiln::testbench::Option;
using kiln::testbench::ReadBytes;
using kiln::testbench::SimulateOptions;
using kiln::testbench::WriteBytes;
namespace registers = kiln::testbench::systolic;
using Bench = kiln::testbench::SystolicBench<Vkiln_accelerator>;
using Wave = kiln::testbench::Wave<Vkiln_accelerator>;

struct Arguments : SimulateOptions {
  uint64_t size = 0, program = 0;
  bool serve = false;
};

const char* const kHelp =
    "simulate --memory FILE --program ADDRESS [options]\n"
    "simulate --memory FILE --sample FOLDER [options]\n"
    "simulate --serve [options]\n"
    "  --memory FILE      the memory at the start: bytes (.bin), or $readmemh text of 16-byte "
    "words (.hex)\n"
    "  --size BYTES       of the memory; default: the image's\n"
    "  --program ADDRESS  of the program's first word\n"
    "  --sample FOLDER    runs the sample in it instead of one program, and compares its results\n"
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
    if (name == "--serve") {
      a.serve = true;
      continue;
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
  if (!a.serve && a.memory.empty()) Fail("--memory is missing; see --help");
  return a;
}

// Returns the bytes of $readmemh text with 16-byte words: "@ADDRESS", counted in words, then words
// of 32 digits, most significant byte first. Calls Fail for other text.
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

// Loads the memory image. Leaves some space after it, because the machine prefetches instructions.
void LoadImage(const Arguments& arguments, std::vector<uint8_t>& memory) {
  const bool hex =
      arguments.memory.size() > 4 && arguments.memory.substr(arguments.memory.size() - 4) == ".hex";
  const std::vector<uint8_t> image = hex ? ReadHex(arguments.memory) : ReadBytes(arguments.memory);
  memory.assign(std::max<uint64_t>(arguments.size, image.size() + 4096), 0);
  std::copy(image.begin(), image.end(), memory.begin());
}

int NotEnded(const Arguments& arguments) {
  std::fprintf(stderr, "simulate: the program did not end in %" PRIu64 " cycles\n",
               arguments.limit);
  return 3;
}

constexpr uint32_t kCountersOfUnit = registers::kUnitCounters;
constexpr size_t kAllCounters = std::size(registers::kUnits) * kCountersOfUnit;

// Adds the machine's counters to `sums`, unit by unit.
void AddCounters(Bench& bench, std::vector<uint64_t>& sums) {
  sums.resize(kAllCounters, 0);
  for (size_t i = 0; i < kAllCounters; ++i) {
    sums[i] += bench.Counter(static_cast<uint32_t>(i / kCountersOfUnit),
                             static_cast<uint32_t>(i % kCountersOfUnit));
  }
}

void PrintCounters(const std::vector<uint64_t>& counters) {
  for (size_t i = 0; i < counters.size(); ++i) {
    const registers::UnitNames& unit = registers::kUnits[i / kCountersOfUnit];
    if (const char* const name =
            registers::CounterName(unit, static_cast<uint32_t>(i % kCountersOfUnit)))
      std::printf("counter %s.%s %" PRIu64 "\n", unit.name, name, counters[i]);
  }
}

int RunImage(const Arguments& arguments, Bench& bench) {
  std::vector<uint8_t>& memory = bench.memory().bytes();
  LoadImage(arguments, memory);
  const bool ended = bench.Run(arguments.program, arguments.limit);
  std::printf("cycles %" PRIu64 "\nfinished", bench.cycles());
  for (const uint64_t cycle : bench.finished()) std::printf(" %" PRIu64, cycle);
  std::printf("\n");
  if (!ended) return NotEnded(arguments);
  const uint32_t error = bench.Error();
  std::printf("error %u\n", error);
  std::vector<uint64_t> counters;
  AddCounters(bench, counters);
  PrintCounters(counters);
  if (!arguments.result.empty()) WriteBytes(arguments.result, memory.data(), memory.size());
  return error == 0 ? 0 : 1;
}

int RunSample(const Arguments& arguments, Bench& bench) {
  using Kind = kiln::testbench::SampleStep::Kind;
  kiln::testbench::Sample sample(arguments.sample);
  std::vector<uint8_t>& memory = bench.memory().bytes();
  LoadImage(arguments, memory);
  uint64_t cycles = 0;
  std::vector<uint64_t> counters;
  for (const kiln::testbench::SampleStep& step : sample.steps()) {
    if (step.kind == Kind::kWrite) sample.Write(step, memory);
    if (step.kind == Kind::kExpect && !sample.Compare(step, memory)) break;
    if (step.kind != Kind::kRun) continue;
    if (step.words.size() != 1) Fail(arguments.sample + "/steps.txt: a run takes one address");
    if (!bench.Run(step.words[0], arguments.limit)) return NotEnded(arguments);
    cycles += bench.cycles();
    AddCounters(bench, counters);
    if (const uint32_t error = bench.Error(); error != 0) {
      std::printf("error %u in the program at %" PRIu64 "\nFAIL\n", error, step.words[0]);
      return 1;
    }
  }
  std::printf("cycles %" PRIu64 "\n", cycles);
  PrintCounters(counters);
  if (!arguments.result.empty()) WriteBytes(arguments.result, memory.data(), memory.size());
  return sample.Conclude();
}

kiln::testbench::SessionRun Run(Bench& bench, uint64_t limit, uint64_t program) {
  kiln::testbench::SessionRun run;
  run.ended = bench.Run(program, limit);
  run.cycles = bench.cycles();
  run.events = {bench.finished()};
  if (!run.ended) return run;
  run.error = bench.Error();
  if (run.error != 0) run.error_place = bench.ReadRegister(registers::kErrorPlace);
  AddCounters(bench, run.counters);
  return run;
}

int Serve(Bench& bench, Wave& wave) {
  kiln::testbench::SessionMachine machine;
  machine.memory = &bench.memory();
  machine.words = 1;
  machine.run = [&](uint64_t limit, const std::vector<uint64_t>& words) {
    kiln::testbench::SessionRun run = Run(bench, limit, words[0]);
    wave.Close();
    return run;
  };
  machine.record = [&](const std::string& file, uint64_t from, uint64_t to) {
    if (Wave::kRecords) wave.Record(file, from, to);
    return Wave::kRecords;
  };
  kiln::testbench::ServeRegisters(bench, machine);
  return kiln::testbench::Session(machine).Serve();
}

}  // namespace

int main(int count, char** values) {
  const Arguments arguments = Parse(count, values);
  VerilatedContext context;
  kiln::testbench::BeginAtRandom(context, arguments.seed);
  context.traceEverOn(Wave::kRecords);
  const auto top = std::make_unique<Vkiln_accelerator>(&context);
  Wave wave(top.get());
  if (!arguments.wave.empty()) {
    if (arguments.wave_whole) {
      wave.RecordAll(arguments.wave);
    } else {
      wave.Record(arguments.wave, arguments.wave_from, arguments.wave_to);
    }
  }
  std::unique_ptr<Bench> bench;
  const Bench::Dump dump = [&](uint64_t time, int half) {
    wave.Dump(bench && bench->started(), bench ? bench->last_cycle() : 0, time, half);
  };
  bench = std::make_unique<Bench>(top.get(), kiln_design::kPorts, 0, arguments.timing,
                                  arguments.seed, Wave::kRecords ? dump : Bench::Dump());
  const int code = arguments.serve             ? Serve(*bench, wave)
                   : !arguments.sample.empty() ? RunSample(arguments, *bench)
                                               : RunImage(arguments, *bench);
  top->final();
  wave.Close();
  return code;
}
