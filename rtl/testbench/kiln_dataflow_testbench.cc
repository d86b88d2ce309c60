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
  const CData* last;  // TLAST of an output
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

// The machine with its streams, and with the memories behind its ports for weights.
class Simulation {
 public:
  // Reads weights.bin from the working directory.
  Simulation(const Arguments& arguments, VerilatedContext* context)
      : arguments_(arguments),
        top_(std::make_unique<Vkiln_accelerator>(context)),
        finished_(arguments.images, -1),
        random_(arguments.common.seed) {
#define KILN_PORT(name, beat_bytes, base, cycles)                              \
  memory_##name.bytes() = kiln::testbench::ReadBytes("weights.bin");           \
  registers_.Add(0x100 + 8 * port_number_##name, static_cast<uint32_t>(base)); \
  registers_.Add(0x104 + 8 * port_number_##name, static_cast<uint32_t>(uint64_t{base} >> 32));
    KILN_WEIGHTS(KILN_PORT)
#undef KILN_PORT
    if (ports_ > 0) registers_.Add(0x008, 1);  // run
#define KILN_STREAM(name, last, bytes, beats) \
  {#name, &top_->name##_tvalid, &top_->name##_tready, last, &top_->name##_tdata, bytes, beats, {}},
#define KILN_INPUT(name, bytes, beats) KILN_STREAM(name, nullptr, bytes, beats)
#define KILN_OUTPUT(name, bytes, beats) KILN_STREAM(name, &top_->name##_tlast, bytes, beats)
    in_ = {KILN_INPUTS(KILN_INPUT)};
    out_ = {KILN_OUTPUTS(KILN_OUTPUT)};
#undef KILN_INPUT
#undef KILN_OUTPUT
#undef KILN_STREAM
    for (const uint64_t words : {KILN_CHANNEL_WORDS})
      channels_.push_back({.words_of_image = words});
    // Without streamed weights the machine runs after its reset. Nothing reads its registers.
    top_->control_awvalid = top_->control_wvalid = top_->control_arvalid = 0;
    top_->control_bready = 1;
    top_->control_rready = 0;
    top_->reset = 1;
    top_->clock = 0;
    top_->eval();
  }

  size_t inputs() const { return in_.size(); }
  const std::vector<Stream>& outputs() const { return out_; }

  // Sets the bytes that the input streams send.
  void Send(std::vector<std::vector<uint8_t>> contents) {
    for (size_t i = 0; i < in_.size(); ++i) {
      in_[i].content = std::move(contents[i]);
      if (in_[i].content.size() != in_[i].bytes * in_[i].beats * arguments_.images)
        Fail(in_[i].name + ": its file does not have the beats of " +
             std::to_string(arguments_.images) + " images");
    }
  }

  // Runs until all beats have passed, and all words of the channels: a stage may go on after the
  // last output, with pixels that no window reads. After that the machine must not send any more
  // beats. Returns false if that takes more cycles than allowed.
  bool Run() {
    constexpr int64_t kQuietCycles = 64;
    OpenWave();
    int64_t quiet = 0;
    for (int64_t cycle = -4; quiet < kQuietCycles; ++cycle) {
      quiet += AllDone() ? 1 : 0;
      if (cycle > static_cast<int64_t>(arguments_.common.limit)) return false;
      Drive(cycle);
      top_->clock = 0;
      top_->eval();
      Sample(cycle);
      Dump(cycle, 0);
      top_->clock = 1;
      top_->eval();
      Dump(cycle, 1);
    }
    return true;
  }

  // Prints how far each stream is, after too many cycles.
  void PrintProgress() const {
    for (const auto* streams : {&in_, &out_}) {
      for (const Stream& s : *streams)
        std::fprintf(stderr, "simulate: %s: %" PRIu64 " of %" PRIu64 " beats\n", s.name.c_str(),
                     s.done(), s.beats * arguments_.images);
    }
  }
  void PrintTimes() const {
    std::printf("cycles %" PRId64 "\n", *std::ranges::max_element(finished_));
    for (size_t i = 0; i < finished_.size(); ++i)
      std::printf("image %zu %" PRId64 "\n", i, finished_[i]);
  }
  void PrintChannels() const {
    for (size_t c = 0; c < channels_.size(); ++c) {
      std::printf("channel %zu %" PRIu64 " %" PRIu32 " %" PRId64 " %" PRId64 "\n", c,
                  channels_[c].words, WordOf(top_->highest, c), channels_[c].first,
                  channels_[c].last);
    }
  }
  void PrintChannelsByName() const {
    const char* const names[] = {KILN_CHANNEL_NAMES};
    for (size_t c = 0; c < channels_.size(); ++c) {
      std::printf("counter %s.words %" PRIu64 "\ncounter %s.highest %" PRIu32 "\n", names[c],
                  channels_[c].words, names[c], WordOf(top_->highest, c));
    }
  }

 private:
  bool Stalled() {
    return arguments_.stalls > 0 &&
           static_cast<double>(random_() >> 11) * 0x1p-53 < arguments_.stalls;
  }
  bool AllDone() const {
    const auto has_passed = [&](const Stream& s) {
      return s.done() == s.beats * arguments_.images;
    };
    return std::ranges::all_of(out_, has_passed) && std::ranges::all_of(in_, has_passed) &&
           std::ranges::all_of(channels_, [&](const ChannelEvents& c) {
             return c.words >= c.words_of_image * arguments_.images;
           });
  }

  // Sets the machine's inputs for a cycle; those before cycle 0 are of the reset.
  void Drive(int64_t cycle) {
    if (cycle == 0) top_->reset = 0;
    for (Stream& s : in_) {
      // A beat is offered until it is accepted.
      s.offered = cycle >= 0 && s.at < s.content.size() && (s.offered || !Stalled());
      *s.valid = s.offered;
      if (s.offered) std::memcpy(s.data, &s.content[s.at], s.bytes);
    }
    for (Stream& s : out_) *s.ready = cycle >= 0 && !Stalled();
    // No write begins in the cycle after the reset.
    if (cycle >= 2) registers_.Drive(*top_);
    // During the reset the memory neither accepts nor offers anything.
#define KILN_PORT(name, beat_bytes, base, cycles)   \
  if (cycle >= 0) {                                 \
    KILN_AXI_DRIVE_READ(*top_, name, port_##name);  \
  } else {                                          \
    top_->name##_arready = top_->name##_rvalid = 0; \
  }
    KILN_WEIGHTS(KILN_PORT)
#undef KILN_PORT
  }

  // Takes what passes at the end of a cycle.
  void Sample(int64_t cycle) {
    if (cycle >= 2) registers_.Sample(*top_);
#define KILN_PORT(name, beat_bytes, base, cycles) \
  if (cycle >= 0) KILN_AXI_SAMPLE_READ(*top_, name, port_##name);
    KILN_WEIGHTS(KILN_PORT)
#undef KILN_PORT
    for (Stream& s : in_) {
      if (!s.offered || *s.ready == 0) continue;
      if (first_ < 0) first_ = cycle;
      s.at += s.bytes;
      s.offered = false;
    }
    for (Stream& s : out_) {
      if (cycle < 0 || *s.valid == 0 || *s.ready == 0) continue;
      if (s.done() == s.beats * arguments_.images) Fail(s.name + " sends more than its beats");
      const auto* beat = static_cast<const uint8_t*>(s.data);
      s.content.insert(s.content.end(), beat, beat + s.bytes);
      s.at += s.bytes;
      const bool ends = s.done() % s.beats == 0;
      if ((*s.last != 0) != ends) Fail(s.name + ": TLAST is not with the last beat of an image");
      if (ends) {
        int64_t& image = finished_[s.done() / s.beats - 1];
        image = std::max(image, cycle - first_ + 1);
      }
    }
    for (size_t c = 0; c < channels_.size() && cycle >= 0; ++c) {
      if (!BitOf(top_->pushed, c)) continue;
      if (channels_[c].words++ == 0) channels_[c].first = cycle - first_;
      channels_[c].last = cycle - first_;
    }
  }

#ifdef KILN_TRACE
  void OpenWave() {
    if (arguments_.common.wave.empty()) return;
    top_->trace(&wave_, 99);
    wave_.open(arguments_.common.wave.c_str());
  }
  // Records a half of a cycle, if it is in the window that the options choose.
  void Dump(int64_t cycle, int half) {
    const auto& options = arguments_.common;
    const auto from_first = static_cast<uint64_t>(first_ < 0 ? 0 : cycle - first_);
    const bool in_window = options.wave_whole || (first_ >= 0 && from_first >= options.wave_from &&
                                                  from_first <= options.wave_to);
    if (wave_.isOpen() && in_window) wave_.dump(static_cast<uint64_t>(2 * (cycle + 4) + half));
  }
  VerilatedFstC wave_;
#else
  void OpenWave() {}
  void Dump(int64_t, int) {}
#endif

  const Arguments& arguments_;
  std::unique_ptr<Vkiln_accelerator> top_;
  RegisterWrites registers_;
  uint32_t ports_ = 0;
#define KILN_PORT(name, beat_bytes, base, cycles)                                          \
  uint32_t port_number_##name = ports_++;                                                  \
  kiln::testbench::AxiMemory memory_##name{0, TimingOf(arguments_.common.timing, cycles)}; \
  kiln::testbench::AxiReadPort port_##name{&memory_##name, beat_bytes,                     \
                                           arguments_.common.seed + port_number_##name};
  KILN_WEIGHTS(KILN_PORT)
#undef KILN_PORT
  std::vector<Stream> in_, out_;
  std::vector<ChannelEvents> channels_;
  std::vector<int64_t> finished_;  // of each image: cycles up to its last output beat
  int64_t first_ = -1;             // cycle of the first input beat
  std::mt19937_64 random_;
};

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
  Simulation simulation(arguments, &context);
  const std::vector<Stream>& out = simulation.outputs();
  if (sample) {
    for (size_t i = 0; i < simulation.inputs(); ++i) contents.push_back(sample->Input(i));
  }
  if (contents.size() != simulation.inputs() || (!sample && arguments.out.size() != out.size()))
    Fail("the design has " + std::to_string(simulation.inputs()) + " inputs and " +
         std::to_string(out.size()) + " outputs");
  simulation.Send(std::move(contents));
  working.Leave();
  if (!simulation.Run()) {
    simulation.PrintProgress();
    return 3;
  }
  for (size_t i = 0; i < out.size() && i < arguments.out.size(); ++i)
    kiln::testbench::WriteBytes(arguments.out[i], out[i].content.data(), out[i].content.size());
  simulation.PrintTimes();
  if (!sample) {
    simulation.PrintChannels();
    return 0;
  }
  simulation.PrintChannelsByName();
  for (const kiln::testbench::SampleStep& step : sample->steps()) {
    if (step.stream >= out.size()) Fail("the sample has more outputs than the design");
    if (!sample->Compare(step, out[step.stream].content)) break;
  }
  return sample->Conclude();
}
