// Simulates an emitted VTA machine (Verilated class Vkiln_accelerator) with a memory behind its AXI4 port.
//
// With --launch it runs programs that stand in a memory image, one after the other, and prints what came of each, a
// line a fact:
//
//   launch I             number, from 0
//   cycles N             from the first cycle after launch to FINISH, both included
//   fault K INSTRUCTION  0: none (docs/vta-machine.md)
//   writes N             accumulator elements written
//   counters N N ...     in the order of the registers
//
// With --serve it runs what it is told on its standard input, one launch after the other on one machine, and answers on
// its standard output, in numbers of 8 bytes of this processor's order:
//
//   request   address, instructions, most cycles, ranges of memory R; R times begin, end; the bytes of the ranges.
//             What no range holds is not there.
//   answer    ended (1), cycles, fault, instruction, writes; kCounterCount counters; how many instructions each of the
//             stages load, compute, store has started, and then in which cycles; the bytes of the ranges.
//             ended is 0 where the launch was given up: the machine is in its midst then, and of no more use.
//
// --wave with a window records cycles of one launch (--wave-launch); the file is whole when that launch is answered.
//
// The exit code is 0 when all launches ended without a fault, 1 with one, 2 for bad arguments or files, 3 when a launch
// did not end in time.
#include <unistd.h>
#include <verilated.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Vkiln_accelerator.h"
#include "design.h"
#include "kiln_simulate_options.h"
#include "kiln_vta_bench.h"
#ifdef KILN_TRACE
#include <verilated_fst_c.h>
#endif

namespace {

using kiln::testbench::Fail;
using kiln::testbench::Option;
using kiln::testbench::ReadBytes;
using kiln::testbench::SimulateOptions;
using kiln::testbench::WriteBytes;
using Bench = kiln::testbench::VtaBench<Vkiln_accelerator>;
namespace vta = kiln::testbench::vta;

struct Arguments : SimulateOptions {
  std::vector<std::pair<uint64_t, uint64_t>> launches;  // address, instructions
  uint64_t base = 0, wave_launch = 0;
  bool serve = false;
};

const char* const kHelp =
    "simulate --memory FILE --launch ADDRESS:COUNT [--launch ...] [options]\n"
    "simulate --serve [options]\n"
    "  --memory FILE      bytes of the memory at the start\n"
    "  --base ADDRESS     of the first of them; default 0\n"
    "  --launch A:N       runs N instructions from byte address A on\n"
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
  if (!a.serve && (a.memory.empty() || a.launches.empty()))
    Fail("--memory or --launch is missing; see --help");
  return a;
}

int RunImage(const Arguments& arguments, Bench& bench) {
  const std::vector<uint8_t> image = ReadBytes(arguments.memory);
  std::vector<uint8_t>& memory = bench.memory().bytes();
  memory.assign(arguments.base + image.size(), 0);
  std::copy(image.begin(), image.end(),
            memory.begin() + static_cast<std::ptrdiff_t>(arguments.base));
  int code = 0;
  for (size_t i = 0; i < arguments.launches.size() && code == 0; ++i) {
    const auto [address, instructions] = arguments.launches[i];
    if (!bench.Launch(address, instructions, arguments.limit)) {
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
    WriteBytes(arguments.result, memory.data() + arguments.base, image.size());
  }
  return code;
}

// What the model prints goes to the error output, so that answers stand alone on the other.
class Connection {
 public:
  Connection() : answers_(dup(STDOUT_FILENO)) { dup2(STDERR_FILENO, STDOUT_FILENO); }

  // False: nothing more comes.
  bool Receive(void* to, size_t bytes) {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got = read(STDIN_FILENO, at, bytes);
      if (got <= 0) return false;
      at += got;
      bytes -= static_cast<size_t>(got);
    }
    return true;
  }
  void Answer(const void* from, size_t bytes) {
    const auto* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t put = write(answers_, at, bytes);
      if (put <= 0) std::exit(2);
      at += put;
      bytes -= static_cast<size_t>(put);
    }
  }

 private:
  int answers_;
};

// `launched`: a launch has ended.
int Serve(Bench& bench, const std::function<void()>& launched) {
  Connection connection;
  for (uint64_t request[4]; connection.Receive(request, sizeof request);) {
    const auto [address, instructions, limit, count] = request;
    std::vector<std::pair<uint64_t, uint64_t>> ranges(count);
    for (auto& [begin, end] : ranges) {
      if (!connection.Receive(&begin, sizeof begin) || !connection.Receive(&end, sizeof end))
        return 2;
    }
    std::vector<uint8_t>& memory = bench.memory().bytes();
    memory.assign(ranges.empty() ? 0 : ranges.back().second, 0);
    bench.memory().Heal();
    uint64_t before = 0;
    for (const auto& [begin, end] : ranges) {
      if (begin > before) bench.memory().Poison(before, begin - before);
      if (!connection.Receive(memory.data() + begin, end - begin)) return 2;
      before = end;
    }
    // Beats are whole: the last one may reach beyond the last range.
    memory.resize((memory.size() + 127) / 128 * 128);
    const bool ended = bench.Launch(address, instructions, limit);
    launched();
    std::vector<uint64_t> answer(5 + vta::kCounterCount);
    answer[0] = ended ? 1 : 0;
    if (ended) {
      answer[1] = bench.cycles();
      answer[2] = bench.fault();
      answer[3] = bench.fault_instruction();
      answer[4] = bench.ReadRegister(vta::kAccumulatorWrites);
      const std::vector<uint32_t> counters = bench.counters();
      std::copy(counters.begin(), counters.end(), answer.begin() + 5);
    }
    for (const std::vector<uint64_t>& cycles : bench.starts()) answer.push_back(cycles.size());
    for (const std::vector<uint64_t>& cycles : bench.starts()) {
      answer.insert(answer.end(), cycles.begin(), cycles.end());
    }
    connection.Answer(answer.data(), answer.size() * sizeof answer[0]);
    for (const auto& [begin, end] : ranges) connection.Answer(memory.data() + begin, end - begin);
  }
  return 0;
}

#ifdef KILN_TRACE
// The signals of the cycles that are asked for.
class Wave {
 public:
  Wave(const Arguments& arguments, Vkiln_accelerator* top) : arguments_(arguments) {
    top->trace(&file_, 99);
    file_.open(arguments.wave.c_str());
  }
  ~Wave() { file_.close(); }

  // `bench` is null while there is none.
  void Dump(const Bench* bench, uint64_t time, int half) {
    const bool inside = bench != nullptr && bench->running() &&
                        bench->launches() == arguments_.wave_launch + 1 &&
                        bench->ran() >= arguments_.wave_from && bench->ran() <= arguments_.wave_to;
    if (arguments_.wave_whole || inside) file_.dump(2 * time + static_cast<uint64_t>(half));
  }
  void LaunchHasEnded(const Bench& bench) {
    if (!arguments_.wave_whole && bench.launches() == arguments_.wave_launch + 1) file_.close();
  }

 private:
  const Arguments& arguments_;
  VerilatedFstC file_;
};
#endif

}  // namespace

int main(int count, char** values) {
  const Arguments arguments = Parse(count, values);
  VerilatedContext context;
  kiln::testbench::BeginAtRandom(context, arguments.seed);
  Bench::Dump dump;
  std::unique_ptr<Bench> bench;
  std::function<void()> launched = [] {};
#ifdef KILN_TRACE
  context.traceEverOn(true);
#endif
  const auto top = std::make_unique<Vkiln_accelerator>(&context);
#ifdef KILN_TRACE
  std::unique_ptr<Wave> wave;
  if (!arguments.wave.empty()) {
    wave = std::make_unique<Wave>(arguments, top.get());
    dump = [&](uint64_t time, int half) { wave->Dump(bench.get(), time, half); };
    launched = [&] { wave->LaunchHasEnded(*bench); };
  }
#else
  if (!arguments.wave.empty()) Fail("--wave needs a simulation built with TRACE=1");
#endif
  bench = std::make_unique<Bench>(top.get(), kiln_design::kPortBytes, 0, arguments.timing,
                                  arguments.seed, dump);
  const int code = arguments.serve ? Serve(*bench, launched) : RunImage(arguments, *bench);
  top->final();
  return code;
}
