// Simulates an emitted stream machine behind memory (Verilated class Vkiln_memory_accelerator) with
// a memory behind its AXI4 port.
//
// With --sample it runs the steps of a sample (kiln_simulate_sample.h); a run takes the address and
// the number of beats of every stream. It prints the cycles and counters of all runs together, and
// PASS or the first difference.
//
// With --run it performs one run on the bytes of a file as the memory, writes the memory to another
// file, and prints the cycles and counters. With --channels it also prints when words entered the
// channels of the machine, a line `channel C W H F L` for each: words, the highest level, and the
// cycles of the first and the last word. Cycle 0 is the first one that CYCLES counts.
//
// The memory begins at the address KILN_MEMORY_BASE of the buses (kiln_axi_memory.h). The addresses
// of samples, of --run and of sessions count from its beginning; KILN_MEMORY_BASE is added to those
// that registers take.
//
// A machine with ports of its own (KILN_PORTS in design.h) reads the same memory through them. It
// is started by registers of its own, from KILN_MACHINE_REGISTERS on: by the sample, or by --set.
// A run starts when the ports have read as far ahead as they can.
//
// With --serve it is a session (kiln_simulate_session.h) whose runs take the same words.
//
// The exit code is 0 if everything is as the sample expects, 1 after an error of the machine or a
// difference, 2 for bad arguments or files, 3 if a run did not end in time.
#include <verilated.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "Vkiln_memory_accelerator.h"
#include "design.h"
#include "kiln_axi_lite.h"
#include "kiln_axi_memory.h"
#include "kiln_simulate_options.h"
#include "kiln_simulate_sample.h"
#include "kiln_simulate_session.h"
#include "kiln_simulate_wave.h"

namespace {

using kiln::testbench::Fail;
using kiln::testbench::Option;
using Top = Vkiln_memory_accelerator;
using Wave = kiln::testbench::Wave<Top>;

constexpr uint32_t kControl = 0x008, kError = 0x010, kErrorStream = 0x014, kCycles = 0x018;

#ifdef KILN_PORTS
// The machine's own registers, as kiln_axi_lite.h reaches them.
struct MachineBus {
  explicit MachineBus(Top& top)
      : control_awvalid(top.machine_awvalid),
        control_awready(top.machine_awready),
        control_wvalid(top.machine_wvalid),
        control_wready(top.machine_wready),
        control_wstrb(top.machine_wstrb),
        control_bvalid(top.machine_bvalid),
        control_bready(top.machine_bready),
        control_bresp(top.machine_bresp),
        control_arvalid(top.machine_arvalid),
        control_arready(top.machine_arready),
        control_rvalid(top.machine_rvalid),
        control_rready(top.machine_rready),
        control_rresp(top.machine_rresp),
        control_awaddr(top.machine_awaddr),
        control_araddr(top.machine_araddr),
        control_wdata(top.machine_wdata),
        control_rdata(top.machine_rdata) {}
  CData &control_awvalid, &control_awready, &control_wvalid, &control_wready, &control_wstrb,
      &control_bvalid, &control_bready, &control_bresp, &control_arvalid, &control_arready,
      &control_rvalid, &control_rready, &control_rresp;
  SData &control_awaddr, &control_araddr;
  IData &control_wdata, &control_rdata;
};
#endif

// Words that entered a channel of the machine, and when the first and the last one did.
struct Channel {
  uint64_t words = 0;
  int64_t first = -1, last = -1;
};

// The machine and its memory.
class Bench {
 public:
  using Dump = std::function<void(uint64_t cycle, int half)>;

  Bench(Top* top, const kiln::testbench::AxiTiming& timing, uint64_t seed, Dump dump)
      : top_(*top),
        dump_(std::move(dump)),
        memory_(0, timing),
        seed_(seed * 2),
        reads_(&memory_, kiln_design::kPortBytes, seed_),
        writes_(&memory_, kiln_design::kPortBytes, seed_ + 1) {
    kiln::testbench::AxiLiteIdle(top_);
    top_.reset = 1;
    for (int i = 0; i < 4; ++i) {
      Settle();
      Clock();
    }
    top_.reset = 0;
    Cycle();
  }

  kiln::testbench::AxiMemory& memory() { return memory_; }
  bool WriteRegister(uint32_t address, uint32_t data) {
#ifdef KILN_PORTS
    if (address >= KILN_MACHINE_REGISTERS) {
      MachineBus machine(top_);
      return kiln::testbench::AxiLiteWrite(
          machine, address - KILN_MACHINE_REGISTERS, data, [&] { Settle(); }, [&] { Edge(); });
    }
#endif
    return kiln::testbench::AxiLiteWrite(top_, address, data, [&] { Settle(); }, [&] { Edge(); });
  }
  // Writes the bus address of byte `place` of the memory to a register of two words.
  bool Place(uint32_t address, uint64_t place) {
    place += KILN_MEMORY_BASE;
    return WriteRegister(address, static_cast<uint32_t>(place)) &&
           WriteRegister(address + 4, static_cast<uint32_t>(place >> 32));
  }
  uint32_t ReadRegister(uint32_t address, bool* error = nullptr) {
#ifdef KILN_PORTS
    if (address >= KILN_MACHINE_REGISTERS) {
      MachineBus machine(top_);
      return kiln::testbench::AxiLiteRead(
          machine, address - KILN_MACHINE_REGISTERS, [&] { Settle(); }, [&] { Edge(); }, error);
    }
#endif
    return kiln::testbench::AxiLiteRead(top_, address, [&] { Settle(); }, [&] { Edge(); }, error);
  }
  void Idle(uint64_t cycles) {
    for (uint64_t i = 0; i < cycles; ++i) Cycle();
  }

  // Lets the machine's own ports read ahead, until they have been idle for some cycles.
  void ReadAhead() {
#ifdef KILN_PORTS
    constexpr int kQuietCycles = 64;
    for (int quiet = 0; quiet < kQuietCycles; ++quiet) {
      Cycle();
#define KILN_PORT(name, beat_bytes) \
  if (!port_##name.idle()) quiet = 0;
      KILN_PORTS(KILN_PORT)
#undef KILN_PORT
    }
#endif
  }
  // Writes the words to the registers of a run, starts it, and waits for its end for at most
  // `limit` cycles. Returns whether it has ended. If an earlier run is still in progress, starts
  // nothing and returns false.
  bool Run(const std::vector<uint64_t>& words, uint64_t limit) {
    for (size_t i = 0; i < words.size(); ++i) {
      const auto& word = kiln_design::kProgram[i];
      const bool written = word.words == 2
                               ? Place(word.address, words[i])
                               : WriteRegister(word.address, static_cast<uint32_t>(words[i]));
      if (!written) return false;
    }
    ReadAhead();
    channels_.assign(kiln_design::kChannels, {});
    WriteRegister(kControl, 1);
    began_ = time_;
    running_ = true;
    for (uint64_t waited = 0; !top_.irq; ++waited) {
      if (waited == limit) return false;
      Cycle();
    }
    running_ = false;
    ended_ = time_;
    return true;
  }
  // Waits until each channel has received its number of `words`, for at most `limit` cycles.
  // Returns whether all have.
  bool WaitForWords(const std::vector<uint64_t>& words, uint64_t limit) {
    const auto entered = [](const Channel& channel, uint64_t count) {
      return channel.words >= count;
    };
    for (; !std::ranges::equal(channels_, words, entered); Cycle()) {
      if (limit-- == 0) return false;
    }
    return true;
  }
  // Returns what entered each channel. The cycles count from the first one of the run.
  std::vector<Channel> Channels() {
    // The interrupt rises two cycles after the last one of the run.
    const auto first = static_cast<int64_t>(ended_ - cycles() - 1);
    std::vector<Channel> channels = channels_;
    for (Channel& channel : channels) {
      channel.first -= first;
      channel.last -= first;
    }
    return channels;
  }
  uint32_t Highest(size_t channel) const {
    uint32_t level = 0;
    std::memcpy(&level, static_cast<const char*>(kiln_design::Highest(top_)) + 4 * channel,
                sizeof level);
    return level;
  }
  uint64_t cycles() {
    const uint64_t low = ReadRegister(kCycles);
    return low | uint64_t{ReadRegister(kCycles + 4)} << 32;
  }
  std::vector<uint64_t> counters() {
    std::vector<uint64_t> values;
    for (const auto& counter : kiln_design::kCounters)
      values.push_back(ReadRegister(counter.address));
    return values;
  }
  // Return whether a run is in progress, and its cycles so far.
  bool running() const { return running_; }
  uint64_t ran() const { return time_ - began_; }

 private:
  void Cycle() {
    Settle();
    Edge();
  }
  void Settle() {
    KILN_AXI_DRIVE_READ_ID(top_, memory, reads_);
    KILN_AXI_DRIVE_WRITE_ID(top_, memory, writes_);
#ifdef KILN_PORTS
#define KILN_PORT(name, beat_bytes) KILN_AXI_DRIVE_READ(top_, name, port_##name);
    KILN_PORTS(KILN_PORT)
#undef KILN_PORT
#endif
    top_.clock = 0;
    top_.eval();
    if (dump_) dump_(time_, 0);
  }
  void Edge() {
    KILN_AXI_SAMPLE_READ_ID(top_, memory, reads_);
    KILN_AXI_SAMPLE_WRITE_ID(top_, memory, writes_);
#ifdef KILN_PORTS
#define KILN_PORT(name, beat_bytes) KILN_AXI_SAMPLE_READ(top_, name, port_##name);
    KILN_PORTS(KILN_PORT)
#undef KILN_PORT
#endif
    for (size_t i = 0; i < channels_.size(); ++i) {
      const auto* bits = static_cast<const uint8_t*>(kiln_design::Pushed(top_));
      if ((bits[i / 8] >> (i % 8) & 1) == 0) continue;
      Channel& channel = channels_[i];
      channel.last = static_cast<int64_t>(time_);
      if (channel.words++ == 0) channel.first = channel.last;
    }
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
  kiln::testbench::AxiMemory memory_;
  uint64_t seed_;  // of the last port
  kiln::testbench::AxiReadPort reads_;
  kiln::testbench::AxiWritePort writes_;
#ifdef KILN_PORTS
#define KILN_PORT(name, beat_bytes) \
  kiln::testbench::AxiReadPort port_##name{&memory_, beat_bytes, ++seed_ + 1};
  KILN_PORTS(KILN_PORT)
#undef KILN_PORT
#endif
  std::vector<Channel> channels_;  // cycles since the simulation began
  uint64_t time_ = 0, began_ = 0, ended_ = 0;
  bool running_ = false;
};

const char* const kHelp =
    "simulate --sample FOLDER [options]\n"
    "simulate --memory IN --run WORD,... --result OUT [options]\n"
    "simulate --serve [options]\n"
    "  --sample FOLDER    runs the sample in it and compares its results\n"
    "  --run WORD,...     one run: address and number of beats of every stream\n"
    "  --set A,V,...      writes registers of the machine itself first: address and value\n"
    "  --channels N,...   words that each channel receives before the simulation ends\n"
    "  --folder DIR       the design's folder, with the contents of its memories\n"
    "  --latency CYCLES   of the memory, from an address to its first beat\n"
    "  --dram BYTES       a DRAM that moves so many bytes a cycle, instead of an ideal memory\n"
    "  --row-miss CYCLES  of the DRAM, more for a burst to another row\n"
    "  --stalls P         each channel stalls with this probability\n"
    "  --seed N           of the stalls, and of what registers hold at power-up; default 1\n"
    "  --limit CYCLES     of a run, which is given up then\n"
    "  --wave FILE.fst    waveform (a simulation built with TRACE=1); by default of everything\n"
    "  --wave-from CYCLE  of a run, and --wave-to CYCLE: only these cycles\n"
    "Example: simulate --sample sample --latency 20\n";

struct Arguments : kiln::testbench::SimulateOptions {
  bool serve = false;
  std::vector<uint64_t> run, set, channels;
  std::string folder;
};

// Returns numbers with commas between them.
std::vector<uint64_t> NumbersOf(const Option& option) {
  std::vector<uint64_t> words;
  std::istringstream parts(option.value);
  for (std::string part; std::getline(parts, part, ',');) {
    Option{option.name, part}.Take(words.emplace_back());
  }
  return words;
}

// Returns `count` numbers with commas between them.
std::vector<uint64_t> NumbersOf(const Option& option, size_t count) {
  std::vector<uint64_t> words = NumbersOf(option);
  if (words.size() != count)
    Fail(option.name + " takes " + std::to_string(count) + " numbers with commas between them");
  return words;
}

Arguments Parse(int count, char** values) {
  Arguments a;
  a.timing.latency = 20;
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
    if (name == "--run") {
      a.run = NumbersOf(option, std::size(kiln_design::kProgram));
    } else if (name == "--set") {
      a.set = NumbersOf(option);
      if (a.set.size() % 2 != 0) Fail("--set takes pairs of an address and a value");
    } else if (name == "--channels") {
      a.channels = NumbersOf(option, kiln_design::kChannels);
    } else if (name == "--folder") {
      a.folder = option.value;
    } else if (!a.Take(option)) {
      Fail(name + " " + option.value + " is no option; see --help");
    }
  }
  if (!a.run.empty() && (a.memory.empty() || a.result.empty()))
    Fail("--run needs --memory and --result; see --help");
  if (!a.serve && a.run.empty() && a.sample.empty()) Fail("--sample is missing; see --help");
  return a;
}

// What runs took together.
struct Totals {
  uint64_t cycles = 0;
  std::vector<uint64_t> counters = std::vector<uint64_t>(std::size(kiln_design::kCounters), 0);

  void Print() const {
    std::printf("cycles %" PRIu64 "\n", cycles);
    for (size_t i = 0; i < counters.size(); ++i)
      std::printf("counter %s %" PRIu64 "\n", kiln_design::kCounters[i].name, counters[i]);
  }
};

// Makes the memory large enough for what a run of these words reads and stores.
void MakeRoom(const std::vector<uint64_t>& words, std::vector<uint8_t>& memory) {
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const uint64_t end = words[i] + words[i + 1] * kiln_design::kMostBeatBytes;
    if (end > memory.size()) memory.resize((end + 4095) / 4096 * 4096, 0);
  }
}

// Writes a register, which must take its value.
void Set(Bench& bench, uint64_t address, uint64_t value) {
  if (!bench.WriteRegister(static_cast<uint32_t>(address), static_cast<uint32_t>(value)))
    Fail("register " + std::to_string(address) + " refuses its value");
}

// Performs a run and adds what it took. Returns the exit code, and says what failed.
int RunOnce(const Arguments& arguments, const std::vector<uint64_t>& words, Bench& bench,
            Wave& wave, Totals* totals) {
  if (!arguments.wave.empty() && !arguments.wave_whole)
    wave.Record(arguments.wave, arguments.wave_from, arguments.wave_to);
  if (!bench.Run(words, arguments.limit)) {
    std::fprintf(stderr, "simulate: the run did not end in %" PRIu64 " cycles\n", arguments.limit);
    return 3;
  }
  if (const uint32_t error = bench.ReadRegister(kError); error != 0) {
    std::printf("error %u of stream %u\nFAIL\n", error, bench.ReadRegister(kErrorStream));
    return 1;
  }
  totals->cycles += bench.cycles();
  const std::vector<uint64_t> values = bench.counters();
  for (size_t i = 0; i < values.size(); ++i) totals->counters[i] += values[i];
  return 0;
}

int RunSample(const Arguments& arguments, Bench& bench, Wave& wave) {
  using Kind = kiln::testbench::SampleStep::Kind;
  kiln::testbench::Sample sample(arguments.sample);
  std::vector<uint8_t>& memory = bench.memory().bytes();
  for (const kiln::testbench::SampleStep& step : sample.steps()) {
    if (step.kind == Kind::kRun) MakeRoom(step.words, memory);
  }
  Totals totals;
  for (const kiln::testbench::SampleStep& step : sample.steps()) {
    if (step.kind == Kind::kWrite) sample.Write(step, memory);
    if (step.kind == Kind::kSet) Set(bench, step.address, step.value);
    if (step.kind == Kind::kPlace && !bench.Place(step.address, step.base))
      Fail("register " + std::to_string(step.address) + " refuses its address");
    if (step.kind == Kind::kExpect && !sample.Compare(step, memory)) break;
    if (step.kind != Kind::kRun) continue;
    if (step.words.size() != std::size(kiln_design::kProgram))
      Fail(arguments.sample + "/steps.txt: a run takes an address and beats of every stream");
    if (const int code = RunOnce(arguments, step.words, bench, wave, &totals); code != 0)
      return code;
  }
  totals.Print();
  return sample.Conclude();
}

int RunMemory(const Arguments& arguments, Bench& bench, Wave& wave) {
  std::vector<uint8_t>& memory = bench.memory().bytes();
  memory = kiln::testbench::ReadBytes(arguments.memory);
  MakeRoom(arguments.run, memory);
  for (size_t i = 0; i < arguments.set.size(); i += 2)
    Set(bench, arguments.set[i], arguments.set[i + 1]);
  Totals totals;
  if (const int code = RunOnce(arguments, arguments.run, bench, wave, &totals); code != 0)
    return code;
  totals.Print();
  if (!arguments.channels.empty()) {
    if (!bench.WaitForWords(arguments.channels, arguments.limit)) {
      std::fprintf(stderr, "simulate: the words of the channels do not come\n");
      return 3;
    }
    const std::vector<Channel> channels = bench.Channels();
    for (size_t i = 0; i < channels.size(); ++i) {
      std::printf("channel %zu %" PRIu64 " %" PRIu32 " %" PRId64 " %" PRId64 "\n", i,
                  channels[i].words, bench.Highest(i), channels[i].first, channels[i].last);
    }
  }
  kiln::testbench::WriteBytes(arguments.result, memory.data(), memory.size());
  return 0;
}

int Serve(Bench& bench, Wave& wave) {
  kiln::testbench::SessionMachine machine;
  machine.memory = &bench.memory();
  machine.words = std::size(kiln_design::kProgram);
  machine.run = [&](uint64_t limit, const std::vector<uint64_t>& words) {
    kiln::testbench::SessionRun run;
    run.ended = bench.Run(words, limit);
    wave.Close();
    if (!run.ended) return run;
    run.cycles = bench.cycles();
    run.error = bench.ReadRegister(kError);
    run.error_place = bench.ReadRegister(kErrorStream);
    run.counters = bench.counters();
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
  const kiln::testbench::WorkingFolder working(arguments.folder);
  const auto top = std::make_unique<Top>(&context);
  // Nothing drives the registers that the machine itself may have.
  kiln_design::IdleMachine(*top);
  top->clock = 0;
  top->eval();
  working.Leave();
  Wave wave(top.get());
  if (!arguments.wave.empty() && arguments.wave_whole) wave.RecordAll(arguments.wave);
  std::unique_ptr<Bench> bench;
  const Bench::Dump dump = [&](uint64_t time, int half) {
    wave.Dump(bench && bench->running(), bench ? bench->ran() : 0, time, half);
  };
  bench = std::make_unique<Bench>(top.get(), arguments.timing, arguments.seed,
                                  Wave::kRecords ? dump : Bench::Dump());
  const int code = arguments.serve         ? Serve(*bench, wave)
                   : arguments.run.empty() ? RunSample(arguments, *bench, wave)
                                           : RunMemory(arguments, *bench, wave);
  top->final();
  wave.Close();
  return code;
}
