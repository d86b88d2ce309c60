// Writes what the README says of launches, and collects their constants.

#include "kiln/targets/cgra/launch_guide.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/targets/cgra/isa/program.h"
#include "kiln/targets/interface/folder_guide.h"
#include "kiln/targets/lower/value_codes.h"
#include "kiln/targets/run/view_items.h"

namespace kiln::cgra {
namespace {

constexpr char kText[] =
    "These are all launches of the network, in their order. The first ones are in "
    "`sample/input0.bin`, one after the other: \"offset\" is the first byte of each, and its "
    "results are in the same order on `out`. A launch is the beats that load its configuration "
    "(\"load beats\", also in `loads.bin` from byte \"load offset\" on), then its \"runs\" runs, "
    "of which the sample holds \"runs held\": none if it does not hold the launch, whose "
    "\"offset\" is then 0. A run is two beats that are the same in all runs of a launch, then "
    "for each of its \"threads\" one beat for each item of the list \"sends\", in the order of "
    "the list; \"beats in\" counts all of these. Of each thread from \"first sent\" on, the host "
    "receives one beat for each item of the list \"receives\"; \"beats out\" counts those of a "
    "run.\n\n"
    "In the lists, `run`, `thread` and `lane` count from 0. Expressions are of integers, "
    "evaluated from left to right, products and quotients before sums; `/` drops the remainder. "
    "`pick(i; a, b, ...)` is number i of a list, from 0. An element is named by its position "
    "along each axis of a tensor, or by one number in the order of its elements, the last axis "
    "fastest. Elements are sent and received as numbers of 32 bits. A lane without an element is "
    "sent the number that is named, and ignored when it is received.\n\n"
    "Numbers that a kernel keeps pass from a launch to later launches of the same kernel. "
    "`constants.bin` has the constants, little-endian numbers of 32 bits. "
    "`driver/kiln_tensors.h` has the table as C constants, such as KILN_LAUNCH_0_RUNS.\n\n"
    "The two beats of a run hold in their low 64 bits, of the first: 2 in bits 3:0, the interval "
    "in bits 23:16, the latency in bits 47:32, the deliveries of a thread in bits 55:48 and the "
    "outputs in bits 59:56; of the second: the threads in bits 31:0, and the first thread whose "
    "results are sent in bits 63:32.";

// The constants of the launches so far, each once.
class Constants {
 public:
  // Returns the position of a buffer's first number, in bytes.
  size_t Add(const Buffer& buffer) {
    const auto [at, added] = places_.try_emplace(&buffer, bytes_.size());
    if (!added) return at->second;
    for (const int32_t number : buffer.constants) {
      for (int i = 0; i < 4; ++i)
        bytes_ += static_cast<char>(static_cast<uint32_t>(number) >> (8 * i));
    }
    return at->second;
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::map<const Buffer*, size_t> places_;
  std::string bytes_;
};

// Returns the axis of a shape on which alone numbers by element depend; nullopt: none, or the
// numbers are all the same.
std::optional<int> AxisOf(const Shape& shape, const std::vector<double>& numbers) {
  int64_t below = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    bool depends = true;
    for (size_t i = 0; i < numbers.size() && depends; ++i) {
      const int64_t at = static_cast<int64_t>(i) / below % shape[axis];
      depends = numbers[i] == numbers[static_cast<size_t>(at * below)];
    }
    if (depends) return axis;
    below *= shape[axis];
  }
  return std::nullopt;
}

// Returns what sums of a result mean, by lists that are added to the launch.
std::string SumsText(const Shape& shape, const ChannelLine& line, size_t number,
                     hardware::LaunchGuide* launch) {
  std::string text = "value =";
  const auto add = [&](const char* name, const std::vector<double>& numbers) {
    std::vector<double> list = numbers;
    std::string index = "the element";
    if (std::ranges::all_of(numbers, [&](double n) { return n == numbers[0]; })) {
      list.resize(1);
      index = "0";
    } else if (const auto axis = AxisOf(shape, numbers); axis.has_value()) {
      int64_t below = 1;
      for (int i = *axis + 1; i < shape.rank(); ++i) below *= shape[i];
      list.clear();
      for (int64_t i = 0; i < shape[*axis]; ++i)
        list.push_back(numbers[static_cast<size_t>(i * below)]);
      index = fmt::format("the position along axis {}", *axis);
    }
    launch->lists.emplace_back(name, std::move(list));
    return fmt::format(" {}[{}]", name, index);
  };
  text += add("scales", line.factors) + " * sum +" + add("offsets", line.offsets);
  text += BoundsMeaning(line.low, line.high);
  return text + fmt::format(
                    ", from the arrays double scales[] = KILN_LAUNCH_{0}_SCALES and offsets[] = "
                    "KILN_LAUNCH_{0}_OFFSETS, whose numbers `driver/kiln_tensors.h` has",
                    number);
}

// Returns what a buffer holds. `launches` is the guide of launches, the last of which uses it.
std::string BufferText(const MachineKernel& kernel, int number, Constants* constants,
                       std::vector<hardware::LaunchGuide>* launches) {
  const Buffer& buffer = kernel.buffers[static_cast<size_t>(number)];
  if (buffer.value != nullptr) {
    return fmt::format("`{}` ({})", hardware::SampleName(buffer.value->name()),
                       CodesText(*buffer.value));
  }
  if (!buffer.constants.empty()) {
    return fmt::format("{} ({} numbers from byte {} of `{}`)", buffer.name, buffer.size,
                       constants->Add(buffer), hardware::kLaunchConstants);
  }
  if (!buffer.is_result)
    return fmt::format("numbers that the kernel keeps (buffer {}, {} numbers)", number,
                       buffer.size);
  const std::string name = hardware::SampleName(kernel.result->name());
  if (!kernel.line.has_value())
    return fmt::format("the result `{}` ({})", name, CodesText(*kernel.result));
  return fmt::format(
      "sums of the result `{}` (32 bits, {}; {})", name,
      fmt::join(kernel.result->shape().dims(), " x "),
      SumsText(kernel.result->shape(), *kernel.line, launches->size() - 1, &launches->back()));
}

// Returns which elements an index names: "element e, where e = ..., if e < 10". `axes` are those of
// the buffer's tensor, 0 without one.
std::string ElementsText(const IndexText& index, int axes) {
  const bool flat = index.position.size() == 1 && axes != 1;
  std::string text = fmt::format("{}{}{}", flat ? "element " : "[", fmt::join(index.position, ", "),
                                 flat ? "" : "]");
  const char* before = ", where ";
  for (const auto& [name, expression] : index.names) {
    text += fmt::format("{}{} = {}", before, name, expression);
    before = ", ";
  }
  before = ", if ";
  for (const std::string& condition : index.conditions) {
    text += before + condition;
    before = " and ";
  }
  return text;
}

int AxesOf(const MachineKernel& kernel, int number) {
  const Buffer& buffer = kernel.buffers[static_cast<size_t>(number)];
  return buffer.value != nullptr ? buffer.value->shape().rank() : 0;
}

}  // namespace

LaunchFiles DescribeLaunches(const NetworkProgram& program, const std::vector<HeldLaunch>& held,
                             hardware::DesignGuide* guide) {
  Constants constants;
  std::vector<uint8_t> loads;
  const std::vector<LoweredKernel>& kernels = program.lowered();
  std::vector<HeldLaunch> all;
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (!kernels[k].machine.has_value()) continue;
    for (const Launch& launch : kernels[k].machine->launches) {
      const auto at = std::ranges::find(held, &launch, &HeldLaunch::launch);
      all.push_back(
          at != held.end() ? *at : HeldLaunch{.kernel = static_cast<int>(k), .launch = &launch});
    }
  }
  std::vector<const Value*> read;
  guide->launches_text = kText;
  for (const HeldLaunch& at : all) {
    const LoweredKernel& lowered = program.lowered()[static_cast<size_t>(at.kernel)];
    const MachineKernel& kernel = *lowered.machine;
    const Launch& launch = *at.launch;
    const CgraProgram& loaded = launch.mapped->program;
    hardware::LaunchGuide& text = guide->launches.emplace_back();
    text.kernel = lowered.info.name;
    text.operation = lowered.info.operation;
    const auto count = [](int64_t number) { return static_cast<uint64_t>(number); };
    text.numbers = {
        {"offset", at.offset},
        {"load_beats", count(LoadBeats(loaded))},
        {"load_offset", loads.size()},
        {"runs", count(launch.runs)},
        {"runs_held", count(at.runs)},
        {"threads", count(launch.threads)},
        {"first_sent", count(launch.first_sent)},
        {"beats_in", count(2 + launch.threads * std::ssize(loaded.beats))},
        {"beats_out", count((launch.threads - launch.first_sent) * std::ssize(launch.drains))}};
    AppendLoad(loaded, &loads);
    for (const int input : loaded.beats) {
      const Feed& feed = launch.feeds[static_cast<size_t>(input)];
      const IndexText& index = feed.at.text();
      std::string item = fmt::format(
          "`{}`{}: {}, {}", hardware::SampleName(loaded.inputs[static_cast<size_t>(input)]),
          feed.same_in_lanes ? ", the same in all lanes" : "",
          BufferText(kernel, feed.buffer, &constants, &guide->launches),
          ElementsText(index, AxesOf(kernel, feed.buffer)));
      if (const Value* value = kernel.buffers[static_cast<size_t>(feed.buffer)].value)
        read.push_back(value);
      if (!index.conditions.empty() || index.position.size() > 1)
        item += fmt::format("; {} in lanes without an element", feed.otherwise);
      text.reads.push_back(item + ".");
    }
    for (size_t i = 0; i < launch.drains.size(); ++i) {
      const Drain& drain = launch.drains[i];
      text.writes.push_back(
          fmt::format("`{}`: {}, {}.", hardware::SampleName(loaded.outputs[i]),
                      BufferText(kernel, drain.buffer, &constants, &guide->launches),
                      ElementsText(drain.at.text(), AxesOf(kernel, drain.buffer))));
    }
  }
  guide->views = ViewItems(program.views(), std::move(read));
  return {.constants = constants.Take(), .loads = {loads.begin(), loads.end()}};
}

}  // namespace kiln::cgra
