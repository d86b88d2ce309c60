// Simulates an emitted VTA machine (Verilated class Vkiln_accelerator) with a memory behind its
// AXI4 port.
//
// With --launch it runs programs in a memory image, one after the other, and prints the results of
// each, one fact per line:
//
//   launch I             number of the launch, from 0
//   cycles N             from the first cycle after launch to FINISH, both inclusive
//   fault K INSTRUCTION  0 for none (docs/vta-machine.md)
//   writes N             accumulator elements written
//   counters N N ...     in the order of the registers
//
// With --sample it runs the steps of a sample (kiln_simulate_sample.h) on the memory image; a run
// takes the program's address and its number of instructions. It prints the cycles and counters of
// all launches together, and PASS or the first difference.
//
// With --serve it is a session (kiln_simulate_session.h). A run takes the program's address and its
// number of instructions. Its error is the machine's fault, and the place of the error is the
// number of the instruction. Its counters are the accumulator elements written and the machine's
// counters; its events are the cycles in which each of the stages load, compute and store started
// its instructions.
//
// --wave records everything, or, if a window is given, cycles of one launch (--wave-launch).
//
// The exit code is 0 if all launches ended without a fault and as the sample expects, 1 after a
// fault or a difference, 2 for bad arguments or files, 3 if a launch did not end in time.
#include <verilated.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Vkiln_accelerator.h"
#include "design.h"
#include "kiln_simulate_options.h"
#include "kiln_simulate_sample.h"
#include "kiln_simulate_session.h"
#include "kiln_simulate_wave.h"
#include "kiln_vta_bench.h"

namespace {

using kiln::testbench::Fail;
using kiln::testbench::Option;
using kiln::testbench::ReadBytes;
using kiln::testbench::SimulateOptions;
using kiln::testbench::WriteBytes;
using Bench = kiln::testbench::VtaBench<Vkiln_accelerator>;
using Wave = kiln::testbench::Wave<Vkiln_accelerator>;
namespace vta = kiln::testbench::vta;

struct Arguments : SimulateOptions {
  std::vector<std::pair<uint64_t, uint64_t>> launches;  // address, instructions
  uint64_t base = 0, wave_launch = 0;
  bool serve = false;
};

const char* const kHelp =
    "simulate --memory FILE --launch ADDRESS:COUNT [--launch ...] [options]\n"
    "simulate --memory FILE --sample FOLDER [options]\n"
    "simulate --serve [options]\n"
    "  --memory FILE      bytes of the memory at the start\n"
    "  --base ADDRESS     of the first of them; default 0\n"
    "  --launch A:N       runs N instructions from byte address A on\n"
    "  --sample FOLDER    runs the sample in it instead of launches, and compares its results\n"
    "  --result FILE      the same bytes at the end\n"
    "  --latency CYCLES   of the memory, from an address to its first beat; default: the design "
    "point's\n"
    "  --dram BYTES       a DRAM that moves so many bytes a cycle, instead of an ideal memory\n"
    "  --row-miss CYCLES  of the DRAM, more for a burst to another row\n"
    "  --stalls P         each channel stalls with this probability\n"
    "  --seed N           of the stalls, and of what registers hold at power-up; default 1\n"
    "  --limit CYCLES     of a launch, which is given up then\n"
    "  --wave FILE.fst    waveform (a simulation built with TRACE=1); by default of everything\n"
    "  --wave-from CYCLE  of a launch, and --wave-to CYCLE: only these cycles\n"
    "  --wave-launch I    which launch that is, from 0; default 0\n"
    "Example: simulate --memory memory.bin --base 4096 --launch 4096:17 --result after.bin\n";

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
    char* end = nullptr;
    const uint64_t address = std::strtoull(option.value.c_str(), &end, 0);
    if (name == "--base") {
      option.Take(a.base);
    } else if (name == "--wave-launch") {
      option.Take(a.wave_launch);
    } else if (name == "--launch" && end != option.value.c_str() && *end == ':') {
      a.launches.emplace_back(address, std::strtoull(end + 1, nullptr, 0));
    } else {
      Fail(name + " " + option.value + " is no option; see --help");
    }
  }
  if (!a.serve && (a.memory.empty() || (a.launches.empty() && a.sample.empty())))
    Fail("--memory or --launch is missing; see --help");
  return a;
}

// Loads the memory image and returns its bytes.
size_t LoadImage(const Arguments& arguments, std::vector<uint8_t>& memory) {
  const std::vector<uint8_t> image = ReadBytes(arguments.memory);
  memory.assign(arguments.base + image.size(), 0);
  std::copy(image.begin(), image.end(),
            memory.begin() + static_cast<std::ptrdiff_t>(arguments.base));
  return image.size();
}

int RunImage(const Arguments& arguments, Bench& bench, Wave& wave) {
  std::vector<uint8_t>& memory = bench.memory().bytes();
  const size_t image_bytes = LoadImage(arguments, memory);
  int code = 0;
  for (size_t i = 0; i < arguments.launches.size() && code == 0; ++i) {
    const auto [address, instructions] = arguments.launches[i];
    const bool recorded =
        !arguments.wave.empty() && !arguments.wave_whole && i == arguments.wave_launch;
    if (recorded) wave.Record(arguments.wave, arguments.wave_from, arguments.wave_to);
    const bool ended = bench.Launch(address, instructions, arguments.limit);
    if (recorded) wave.Close();
    if (!ended) {
      std::fprintf(stderr, "simulate: launch %zu did not end in %" PRIu64 " cycles\n", i,
                   arguments.limit);
      return 3;
    }
    code = bench.fault() == 0 ? 0 : 1;
    std::printf("launch %zu\ncycles %u\nfault %u %u\nwrites %u\ncounters", i, bench.cycles(),
                bench.fault(), bench.fault_instruction(),
                bench.ReadRegister(vta::kAccumulatorWrites));
    for (const uint32_t value : bench.counters()) std::printf(" %u", value);
    std::printf("\n");
  }
  if (!arguments.result.empty()) {
    WriteBytes(arguments.result, memory.data() + arguments.base, image_bytes);
  }
  return code;
}

int RunSample(const Arguments& arguments, Bench& bench) {
  using Kind = kiln::testbench::SampleStep::Kind;
  kiln::testbench::Sample sample(arguments.sample);
  std::vector<uint8_t>& memory = bench.memory().bytes();
  const size_t image_bytes = LoadImage(arguments, memory);
  uint64_t cycles = 0, writes = 0, counters[vta::kCounterCount] = {};
  for (const kiln::testbench::SampleStep& step : sample.steps()) {
    if (step.kind == Kind::kWrite) sample.Write(step, memory);
    if (step.kind == Kind::kExpect && !sample.Compare(step, memory)) break;
    if (step.kind != Kind::kRun) continue;
    if (step.words.size() != 2)
      Fail(arguments.sample + "/steps.txt: a run takes an address and a number of instructions");
    if (!bench.Launch(step.words[0], step.words[1], arguments.limit)) {
      std::fprintf(stderr,
                   "simulate: the launch at %" PRIu64 " did not end in %" PRIu64 " cycles\n",
                   step.words[0], arguments.limit);
      return 3;
    }
    if (bench.fault() != 0) {
      std::printf("fault %u in instruction %u of the launch at %" PRIu64 "\nFAIL\n", bench.fault(),
                  bench.fault_instruction(), step.words[0]);
      return 1;
    }
    cycles += bench.cycles();
    writes += bench.ReadRegister(vta::kAccumulatorWrites);
    const std::vector<uint32_t> values = bench.counters();
    for (unsigned i = 0; i < vta::kCounterCount; ++i) counters[i] += values[i];
  }
  std::printf("cycles %" PRIu64 "\ncounter accumulators.writes %" PRIu64 "\n", cycles, writes);
  for (unsigned i = 0; i < vta::kCounterCount; ++i)
    std::printf("counter %s %" PRIu64 "\n", kiln_design::kCounterNames[i], counters[i]);
  if (!arguments.result.empty())
    WriteBytes(arguments.result, memory.data() + arguments.base, image_bytes);
  return sample.Conclude();
}

kiln::testbench::SessionRun Run(Bench& bench, uint64_t limit, const std::vector<uint64_t>& words) {
  kiln::testbench::SessionRun run;
  run.ended = bench.Launch(words[0], words[1], limit);
  run.events.assign(bench.starts().begin(), bench.starts().end());
  if (!run.ended) return run;
  run.cycles = bench.cycles();
  run.error = bench.fault();
  run.error_place = bench.fault_instruction();
  run.counters = {bench.ReadRegister(vta::kAccumulatorWrites)};
  for (const uint32_t counter : bench.counters()) run.counters.push_back(counter);
  return run;
}

int Serve(Bench& bench, Wave& wave) {
  kiln::testbench::SessionMachine machine;
  machine.memory = &bench.memory();
  machine.words = 2;
  machine.run = [&](uint64_t limit, const std::vector<uint64_t>& words) {
    kiln::testbench::SessionRun run = Run(bench, limit, words);
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
  if (!arguments.wave.empty() && arguments.wave_whole) wave.RecordAll(arguments.wave);
  std::unique_ptr<Bench> bench;
  const Bench::Dump dump = [&](uint64_t time, int half) {
    wave.Dump(bench && bench->running(), bench ? bench->ran() : 0, time, half);
  };
  bench = std::make_unique<Bench>(top.get(), kiln_design::kPortBytes, 0, arguments.timing,
                                  arguments.seed, Wave::kRecords ? dump : Bench::Dump());
  const int code = arguments.serve             ? Serve(*bench, wave)
                   : !arguments.sample.empty() ? RunSample(arguments, *bench)
                                               : RunImage(arguments, *bench, wave);
  top->final();
  wave.Close();
  return code;
}
