// Simulates an emitted stream machine (Verilated class Vkiln_accelerator) with one AXI4-Stream
// input, in_*, and one output, out_*, of the widths in design.h.
//
// Sends the bytes of a file as beats, receives --beats beats and writes them to another file, and
// with --times their cycles to a third one (64 bits each, counted from the first input beat).
// Prints one fact per line on standard output:
//
//   cycles N         from the cycle of the first input beat to that of the last output beat
//   counter NAME N   beats of each stream, and cycles in which the machine stalled its input
//
// With --sample it sends the input of a sample (kiln_simulate_sample.h) and compares the beats with
// its output; the last line is PASS, or FAIL after the first difference.
//
// The exit code is 0 if all beats arrived and are as the sample expects, 1 after a difference, 2
// for bad arguments or files or for more output than expected, 3 if the beats did not arrive in
// time.
#include <verilated.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "Vkiln_accelerator.h"
#include "design.h"
#include "kiln_simulate_options.h"
#include "kiln_simulate_sample.h"
#include "kiln_simulate_wave.h"

using kiln::testbench::Fail;
using kiln::testbench::Option;
using Wave = kiln::testbench::Wave<Vkiln_accelerator>;

namespace {

// Compares the beats with the sample. Returns the exit code.
int CompareWith(kiln::testbench::Sample& sample, const std::vector<uint8_t>& out) {
  std::map<uint64_t, std::vector<uint8_t>> streams;
  if (!sample.split()) streams[0] = out;
  for (size_t at = 0; sample.split() && at < out.size(); at += kiln_design::kOutBytes) {
    const uint8_t* const beat = &out[at];
    std::vector<uint8_t>& stream = streams[beat[kiln_design::kOutBytes - 1]];
    stream.insert(stream.end(), beat, beat + kiln_design::kOutBytes);
  }
  for (const kiln::testbench::SampleStep& step : sample.steps()) {
    if (!sample.Compare(step, streams[step.stream])) break;
  }
  return sample.Conclude();
}

struct Arguments {
  kiln::testbench::SimulateOptions options;
  uint64_t beats = 0;
  double stalls = 0;
  std::string times;
};

const char* const kHelp =
    "simulate --sample FOLDER --beats N [options]\n"
    "simulate --memory FILE --beats N [options]\n"
    "  --sample FOLDER    sends the sample in it and compares what the machine sends back\n"
    "  --memory FILE      sends the bytes of this file, whole beats of the stream in: %d bytes "
    "each\n"
    "  --beats N          of the stream out, %d bytes each: the simulation ends after so many\n"
    "  --result FILE      the beats of the stream out, as bytes\n"
    "  --times FILE       the cycle of each of these beats, 64 bits each\n"
    "  --stalls P         each stream stalls with this probability\n"
    "  --seed N           of the stalls, and of what registers hold at power-up; default 1\n"
    "  --limit CYCLES     gives up then\n"
    "  --wave FILE.fst    waveform (a simulation built with TRACE=1); by default of everything\n"
    "  --wave-from CYCLE  and --wave-to CYCLE: only these cycles\n"
    "Cycles count from the first beat in.\n"
    "Example: simulate --memory example.bin --beats 4 --result out.bin\n";

Arguments Parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    if (name == "--help") {
      std::printf(kHelp, kiln_design::kInBytes, kiln_design::kOutBytes);
      std::exit(0);
    }
    if (i + 1 >= count) Fail(name + ": a value is missing; see --help");
    const Option option{name, values[++i]};
    if (name == "--beats") {
      option.Take(arguments.beats);
    } else if (name == "--times") {
      arguments.times = option.value;
    } else if (name == "--stalls") {
      option.Take(arguments.stalls);
    } else if (!arguments.options.Take(option)) {
      Fail(name + " is no option; see --help");
    }
  }
  return arguments;
}

}  // namespace

int main(int count, char** values) {
  const Arguments arguments = Parse(count, values);
  const auto& options = arguments.options;
  const uint64_t beats = arguments.beats;
  std::optional<kiln::testbench::Sample> sample;
  if (!options.sample.empty()) sample.emplace(options.sample);
  const std::vector<uint8_t> in =
      sample ? sample->Input(0) : kiln::testbench::ReadBytes(options.memory);
  if (in.empty() || in.size() % kiln_design::kInBytes != 0)
    Fail((sample ? options.sample + "/input0.bin" : options.memory) + ": no whole number of beats");
  std::vector<uint8_t> out;
  std::vector<int64_t> out_cycles;

  VerilatedContext context;
  kiln::testbench::BeginAtRandom(context, options.seed);
  context.traceEverOn(Wave::kRecords);
  const auto top = std::make_unique<Vkiln_accelerator>(&context);
  Wave wave(top.get());
  if (!options.wave.empty() && options.wave_whole) {
    wave.RecordAll(options.wave);
  } else if (!options.wave.empty()) {
    wave.Record(options.wave, options.wave_from, options.wave_to);
  }
  std::mt19937_64 random(options.seed);
  const auto stalled = [&] {
    return arguments.stalls > 0 && static_cast<double>(random() >> 11) * 0x1p-53 < arguments.stalls;
  };
  size_t sent = 0;
  int64_t first = -1, last = -1, in_stalled = 0;
  bool offered = false;
  top->reset = 1;
  // After the last beat the machine must have accepted all of its input, and must not send any more
  // beats.
  constexpr int64_t kQuietCycles = 16;
  int64_t quiet = 0;
  for (int64_t cycle = -4; quiet < kQuietCycles; ++cycle) {
    quiet += out.size() == beats * kiln_design::kOutBytes ? 1 : 0;
    if (cycle > static_cast<int64_t>(options.limit)) {
      std::fprintf(stderr, "simulate: %zu of %" PRIu64 " beats after %" PRIu64 " cycles\n",
                   out.size() / kiln_design::kOutBytes, beats, options.limit);
      return 3;
    }
    if (cycle == 0) top->reset = 0;
    // A beat is offered until it is accepted; AXI4-Stream allows none in the first cycle after the
    // reset.
    offered = cycle > 0 && sent < in.size() && (offered || !stalled());
    top->in_tvalid = offered;
    if (offered) std::memcpy(&top->in_tdata, &in[sent], kiln_design::kInBytes);
    top->out_tready = cycle >= 0 && !stalled();
    top->clock = 0;
    top->eval();
    const bool take_in = offered && top->in_tready,
               take_out = cycle >= 0 && top->out_tvalid && top->out_tready;
    if (take_in) {
      if (first < 0) first = cycle;
      sent += kiln_design::kInBytes;
      offered = false;
    } else if (offered) {
      ++in_stalled;
    }
    if (take_out && out.size() == beats * kiln_design::kOutBytes) {
      Fail("the machine sends more than the expected beats");
    }
    if (take_out) {
      last = cycle;
      out_cycles.push_back(cycle - first);
      const auto* beat = reinterpret_cast<const uint8_t*>(&top->out_tdata);
      out.insert(out.end(), beat, beat + kiln_design::kOutBytes);
    }
    const auto dump = [&](int half) {
      wave.Dump(first >= 0, static_cast<uint64_t>(cycle - first), static_cast<uint64_t>(cycle + 4),
                half);
    };
    dump(0);
    top->clock = 1;
    top->eval();
    dump(1);
  }
  wave.Close();
  if (sent < in.size()) Fail("the machine has not taken all of its input");
  if (!options.result.empty()) kiln::testbench::WriteBytes(options.result, out.data(), out.size());
  if (!arguments.times.empty()) {
    kiln::testbench::WriteBytes(arguments.times,
                                reinterpret_cast<const uint8_t*>(out_cycles.data()),
                                out_cycles.size() * sizeof(int64_t));
  }
  std::printf("cycles %" PRId64 "\n", last - first + 1);
  std::printf("counter in.busy %zu\ncounter in.stalled %" PRId64 "\ncounter out.busy %zu\n",
              sent / kiln_design::kInBytes, in_stalled, out.size() / kiln_design::kOutBytes);
  return sample ? CompareWith(*sample, out) : 0;
}
