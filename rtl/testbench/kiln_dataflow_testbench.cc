// Simulates an emitted dataflow machine (Verilated class Vkiln_accelerator), whose AXI4-Streams are
// listed in design.h.
//
// Sends the bytes of one file per input stream as beats, receives the beats of --images images on
// every output stream, and writes them to one file per output stream. A machine whose weights come
// from memory first gets their addresses over AXI4-Lite; every port for weights reads the bytes of
// weights.bin through an AXI4 memory of its own. Prints one fact per line on
// standard output; cycles count from that of the first input beat:
//
//   cycles N              to the cycle after that of the last output beat
//   image I N             the same, of each image
//   channel C W H F L     words that entered channel C, its highest level, and the cycles in which
//                         its first and its last word entered
//
// With --sample it sends the inputs of a sample (kiln_simulate_sample.h), prints the channels by
// name, and compares the beats with the sample's outputs; the last line is PASS, or FAIL after the
// first difference.
//
// The exit code is 0 if all beats were accepted, arrived and are as the sample expects, 1 after a
// difference, 2 for bad arguments or files or for more output than expected, 3 if the beats did not
// pass in time.
#include <verilated.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "Vkiln_accelerator.h"
#include "design.h"
#include "kiln_axi_memory.h"
#include "kiln_simulate_options.h"
#include "kiln_simulate_sample.h"
#ifdef KILN_TRACE
#include <verilated_fst_c.h>
#endif

using kiln::testbench::Fail;
using kiln::testbench::Option;

namespace {

// A stream of the machine: the signals of its port, and its beats.
struct Stream {
  std::string name;
  CData *valid, *ready;
  void* data;
  size_t bytes;    // of a beat
  uint64_t beats;  // of an image
  std::vector<uint8_t> content;
  size_t at = 0;  // bytes sent or received
  bool offered = false;
  uint64_t done() const { return at / bytes; }
};

// Returns a bit of a port of any width.
bool BitOf(const CData& port, size_t bit) { return (port >> bit & 1) != 0; }
bool BitOf(const SData& port, size_t bit) { return (port >> bit & 1) != 0; }
bool BitOf(const IData& port, size_t bit) { return (port >> bit & 1) != 0; }
bool BitOf(const QData& port, size_t bit) { return (port >> bit & 1) != 0; }
template <size_t Words>
bool BitOf(const VlWide<Words>& port, size_t bit) {
  return (port[bit / 32] >> (bit % 32) & 1) != 0;
}
uint32_t WordOf(const IData& port, size_t) { return port; }
uint32_t WordOf(const QData& port, size_t word) {
  return static_cast<uint32_t>(port >> (32 * word));
}
template <size_t Words>
uint32_t WordOf(const VlWide<Words>& port, size_t word) {
  return port[word];
}

// What entered a channel, and the words of an image.
struct ChannelEvents {
  uint64_t words_of_image = 0, words = 0;
  int64_t first = -1, last = -1;
};

// Writes registers over AXI4-Lite, one after the other, without waiting for anything else.
class RegisterWrites {
 public:
  void Add(uint32_t address, uint32_t value) { writes_.emplace_back(address, value); }
  // Set the machine's inputs before the clock's edge, and take its answers.
  void Drive(Vkiln_accelerator& top) const {
    top.control_awvalid = !writes_.empty() && !address_taken_;
    top.control_wvalid = !writes_.empty() && !value_taken_;
    if (writes_.empty()) return;
    top.control_awaddr = static_cast<SData>(writes_.front().first);
    top.control_wdata = writes_.front().second;
    top.control_wstrb = 15;
  }
  void Sample(const Vkiln_accelerator& top) {
    if (top.control_awvalid != 0 && top.control_awready != 0) address_taken_ = true;
    if (top.control_wvalid != 0 && top.control_wready != 0) value_taken_ = true;
    if (top.control_bvalid == 0) return;
    if (top.control_bresp != 0)
      Fail("register " + std::to_string(writes_.front().first) + " refuses its value");
    writes_.pop_front();
    address_taken_ = value_taken_ = false;
  }

 private:
  std::deque<std::pair<uint32_t, uint32_t>> writes_;
  bool address_taken_ = false, value_taken_ = false;  // of the first write
};

struct Arguments {
  kiln::testbench::SimulateOptions common;
  std::vector<std::string> in, out;
  std::string folder;
  uint64_t images = 1;
  double stalls = 0;
};

// Returns the timing of a port's memory, whose latency is `cycles` unless an option sets another.
[[maybe_unused]] kiln::testbench::AxiTiming TimingOf(kiln::testbench::AxiTiming timing,
                                                     uint64_t cycles) {
  if (timing.latency == 0) timing.latency = cycles;
  return timing;
}

Arguments Parse(int count, char** values) {
  Arguments arguments;
  arguments.common.timing.latency = 0;  // of each port its own
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    if (name == "--help") {
      std::puts(
          "simulate --in FILE ... --out FILE ... [--images N] [--folder DIR] [--stalls P] "
          "[--seed N] [--limit CYCLES] [--latency CYCLES]\n"
          "  [--wave FILE [--wave-from CYCLE] [--wave-to CYCLE]]\n"
          "simulate --sample FOLDER [options]\n"
          "  DIR is the folder of the design, with the contents of its memories; by default the\n"
          "  working directory. --latency is of the memory of streamed weights.");
      std::exit(0);
    }
    if (i + 1 >= count) Fail(name + ": a value is missing; see --help");
    const Option option{name, values[++i]};
    if (name == "--in") {
      arguments.in.push_back(option.value);
    } else if (name == "--out") {
      arguments.out.push_back(option.value);
    } else if (name == "--folder") {
      arguments.folder = option.value;
    } else if (name == "--images") {
      option.Take(arguments.images);
    } else if (name == "--stalls") {
      option.Take(arguments.stalls);
      arguments.common.timing.StallAll(arguments.stalls);
    } else if (!arguments.common.Take(option)) {
      Fail(name + " is no option; see --help");
    }
  }
  return arguments;
}

}  // namespace

int main(int count, char** values) {
  const Arguments arguments = Parse(count, values);
  const auto& options = arguments.common;
  VerilatedContext context;
  kiln::testbench::BeginAtRandom(context, options.seed);
#ifdef KILN_TRACE
  context.traceEverOn(true);
#endif
  std::vector<std::vector<uint8_t>> contents;
  for (const std::string& file : arguments.in) contents.push_back(kiln::testbench::ReadBytes(file));
  std::optional<kiln::testbench::Sample> sample;
  if (!options.sample.empty()) sample.emplace(options.sample);
  const kiln::testbench::WorkingFolder working(arguments.folder);
  const auto top = std::make_unique<Vkiln_accelerator>(&context);
  RegisterWrites registers;
  uint32_t ports = 0;
#define KILN_PORT(name, beat_bytes, base, cycles)                                             \
  kiln::testbench::AxiMemory memory_##name(0, TimingOf(options.timing, cycles));              \
  kiln::testbench::AxiReadPort port_##name(&memory_##name, beat_bytes, options.seed + ports); \
  memory_##name.bytes() = kiln::testbench::ReadBytes("weights.bin");                          \
  registers.Add(0x100 + 8 * ports, static_cast<uint32_t>(base));                              \
  registers.Add(0x104 + 8 * ports, static_cast<uint32_t>(uint64_t{base} >> 32));              \
  ++ports;
  KILN_WEIGHTS(KILN_PORT)
#undef KILN_PORT
  if (ports > 0) registers.Add(0x008, 1);  // run
  std::vector<Stream> in, out;
#define KILN_STREAM(name, bytes, beats) \
  {#name, &top->name##_tvalid, &top->name##_tready, &top->name##_tdata, bytes, beats, {}},
  in = {KILN_INPUTS(KILN_STREAM)};
  out = {KILN_OUTPUTS(KILN_STREAM)};
#undef KILN_STREAM
  if (sample) {
    for (size_t i = 0; i < in.size(); ++i) contents.push_back(sample->Input(i));
  }
  if (contents.size() != in.size() || (!sample && arguments.out.size() != out.size()))
    Fail("the design has " + std::to_string(in.size()) + " inputs and " +
         std::to_string(out.size()) + " outputs");
  for (size_t i = 0; i < in.size(); ++i) {
    in[i].content = std::move(contents[i]);
    if (in[i].content.size() != in[i].bytes * in[i].beats * arguments.images)
      Fail(in[i].name + ": its file does not have the beats of " +
           std::to_string(arguments.images) + " images");
  }
  // Without streamed weights the machine runs after its reset. Nothing reads its registers.
  top->control_awvalid = top->control_wvalid = top->control_arvalid = 0;
  top->control_bready = 1;
  top->control_rready = 0;
  top->reset = 1;
  top->clock = 0;
  top->eval();
  working.Leave();
#ifdef KILN_TRACE
  VerilatedFstC wave;
  if (!options.wave.empty()) {
    top->trace(&wave, 99);
    wave.open(options.wave.c_str());
  }
#endif
  std::mt19937_64 random(options.seed);
  const auto stalled = [&] {
    return arguments.stalls > 0 && static_cast<double>(random() >> 11) * 0x1p-53 < arguments.stalls;
  };
  std::vector<ChannelEvents> channels;
  for (const uint64_t words : {KILN_CHANNEL_WORDS}) channels.push_back({.words_of_image = words});
  std::vector<int64_t> finished(arguments.images, -1);
  int64_t first = -1;
  // All beats have passed, and all words of the channels: a stage may go on after the last output,
  // with pixels that no window reads. After that the machine must not send any more beats.
  constexpr int64_t kQuietCycles = 64;
  const auto has_passed = [&](const Stream& s) { return s.done() == s.beats * arguments.images; };
  const auto all_done = [&] {
    return std::ranges::all_of(out, has_passed) && std::ranges::all_of(in, has_passed) &&
           std::ranges::all_of(channels, [&](const ChannelEvents& c) {
             return c.words >= c.words_of_image * arguments.images;
           });
  };
  int64_t quiet = 0;
  for (int64_t cycle = -4; quiet < kQuietCycles; ++cycle) {
    quiet += all_done() ? 1 : 0;
    if (cycle > static_cast<int64_t>(options.limit)) {
      for (const auto* streams : {&in, &out}) {
        for (const Stream& s : *streams)
          std::fprintf(stderr, "simulate: %s: %" PRIu64 " of %" PRIu64 " beats\n", s.name.c_str(),
                       s.done(), s.beats * arguments.images);
      }
      return 3;
    }
    if (cycle == 0) top->reset = 0;
    for (Stream& s : in) {
      // A beat is offered until it is accepted.
      s.offered = cycle >= 0 && s.at < s.content.size() && (s.offered || !stalled());
      *s.valid = s.offered;
      if (s.offered) std::memcpy(s.data, &s.content[s.at], s.bytes);
    }
    for (Stream& s : out) *s.ready = cycle >= 0 && !stalled();
    // No write begins in the cycle after the reset.
    if (cycle >= 2) registers.Drive(*top);
    // During the reset the memory neither accepts nor offers anything.
#define KILN_PORT(name, beat_bytes, base, cycles) \
  if (cycle >= 0) {                               \
    KILN_AXI_DRIVE_READ(*top, name, port_##name); \
  } else {                                        \
    top->name##_arready = top->name##_rvalid = 0; \
  }
    KILN_WEIGHTS(KILN_PORT)
#undef KILN_PORT
    top->clock = 0;
    top->eval();
    if (cycle >= 2) registers.Sample(*top);
#define KILN_PORT(name, beat_bytes, base, cycles) \
  if (cycle >= 0) KILN_AXI_SAMPLE_READ(*top, name, port_##name);
    KILN_WEIGHTS(KILN_PORT)
#undef KILN_PORT
    for (Stream& s : in) {
      if (!s.offered || *s.ready == 0) continue;
      if (first < 0) first = cycle;
      s.at += s.bytes;
      s.offered = false;
    }
    for (Stream& s : out) {
      if (cycle < 0 || *s.valid == 0 || *s.ready == 0) continue;
      if (s.done() == s.beats * arguments.images) Fail(s.name + " sends more than its beats");
      const auto* beat = static_cast<const uint8_t*>(s.data);
      s.content.insert(s.content.end(), beat, beat + s.bytes);
      s.at += s.bytes;
      if (s.done() % s.beats == 0) {
        int64_t& image = finished[s.done() / s.beats - 1];
        image = std::max(image, cycle - first + 1);
      }
    }
    for (size_t c = 0; c < channels.size() && cycle >= 0; ++c) {
      if (!BitOf(top->pushed, c)) continue;
      if (channels[c].words++ == 0) channels[c].first = cycle - first;
      channels[c].last = cycle - first;
    }
#ifdef KILN_TRACE
    const auto from_first = static_cast<uint64_t>(first < 0 ? 0 : cycle - first);
    const bool in_window = options.wave_whole || (first >= 0 && from_first >= options.wave_from &&
                                                  from_first <= options.wave_to);
    if (wave.isOpen() && in_window) wave.dump(static_cast<uint64_t>(2 * (cycle + 4)));
#endif
    top->clock = 1;
    top->eval();
#ifdef KILN_TRACE
    if (wave.isOpen() && in_window) wave.dump(static_cast<uint64_t>(2 * (cycle + 4) + 1));
#endif
  }
  for (size_t i = 0; i < out.size() && i < arguments.out.size(); ++i)
    kiln::testbench::WriteBytes(arguments.out[i], out[i].content.data(), out[i].content.size());
  std::printf("cycles %" PRId64 "\n", *std::ranges::max_element(finished));
  for (size_t i = 0; i < finished.size(); ++i)
    std::printf("image %zu %" PRId64 "\n", i, finished[i]);
  if (!sample) {
    for (size_t c = 0; c < channels.size(); ++c) {
      std::printf("channel %zu %" PRIu64 " %" PRIu32 " %" PRId64 " %" PRId64 "\n", c,
                  channels[c].words, WordOf(top->highest, c), channels[c].first, channels[c].last);
    }
    return 0;
  }
  const char* const names[] = {KILN_CHANNEL_NAMES};
  for (size_t c = 0; c < channels.size(); ++c) {
    std::printf("counter %s.words %" PRIu64 "\ncounter %s.highest %" PRIu32 "\n", names[c],
                channels[c].words, names[c], WordOf(top->highest, c));
  }
  for (const kiln::testbench::SampleStep& step : sample->steps()) {
    if (step.stream >= out.size()) Fail("the sample has more outputs than the design");
    if (!sample->Compare(step, out[step.stream].content)) break;
  }
  return sample->Conclude();
}
