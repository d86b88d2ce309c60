// Checks and prints pipelines.

#include "kiln/targets/dataflow/isa/pipeline.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/isa/derived.h"

namespace kiln::dataflow {
namespace {

// The numbers of inputs and outputs that a kind of stage has.
struct Arity {
  size_t least_in, most_in, least_out, most_out;
};

constexpr size_t kMany = 64;

Arity ArityOf(StageKind kind) {
  switch (kind) {
    case StageKind::kSource:
    case StageKind::kWeightStream:
      return {0, 0, 1, 1};
    case StageKind::kSink:
      return {1, 1, 0, 0};
    case StageKind::kFork:
      return {1, 1, 2, kMany};
    case StageKind::kConcat:
      return {2, kMany, 1, 1};
    case StageKind::kAffine:
    case StageKind::kConvolution:
      return {1, 2, 1, 1};
    default:
      return {1, 1, 1, 1};
  }
}

// Checks one stage of a pipeline.
class StageChecker {
 public:
  StageChecker(const Pipeline& pipeline, const Stage& stage) : pipeline_(pipeline), stage_(stage) {}

  Status Check() const {
    KILN_RETURN_IF_ERROR(CheckArity());
    KILN_RETURN_IF_ERROR(CheckOperands());
    switch (stage_.kind) {
      case StageKind::kSource:
      case StageKind::kSink:
        return OkStatus();
      case StageKind::kWeightStream:
        return CheckWeightStream();
      case StageKind::kFork:
        return CheckFork();
      case StageKind::kConcat:
        return CheckConcat();
      case StageKind::kWiden:
      case StageKind::kNarrow:
        return CheckConverter();
      case StageKind::kPad:
        return CheckPad();
      case StageKind::kCrop:
        return CheckCrop();
      case StageKind::kTable:
        return CheckTable();
      case StageKind::kAffine:
        return CheckAffine();
      case StageKind::kRearrange:
        return CheckRearrange();
      case StageKind::kConvolution:
        return CheckConvolution();
      case StageKind::kDepthwise:
        return CheckDepthwise();
      case StageKind::kMaxPool:
        return CheckMaxPool();
      case StageKind::kGlobalSum:
        return CheckGlobalSum();
    }
    return OkStatus();
  }

 private:
  Status Fail(const std::string& fault, const std::string& remedy) const {
    return ErrorAt("", fmt::format("stage '{}'", stage_.name), fault, remedy);
  }
  Status Expect(bool holds, const std::string& fault, const std::string& remedy) const {
    return holds ? OkStatus() : Fail(fault, remedy);
  }
  const Channel& in(size_t i = 0) const { return pipeline_.input(stage_, i); }
  const Channel& out(size_t i = 0) const { return pipeline_.output(stage_, i); }

  Status CheckArity() const {
    const Arity arity = ArityOf(stage_.kind);
    const size_t inputs = stage_.inputs.size(), outputs = stage_.outputs.size();
    return Expect(inputs >= arity.least_in && inputs <= arity.most_in &&
                      outputs >= arity.least_out && outputs <= arity.most_out,
                  fmt::format("has {} inputs and {} outputs", inputs, outputs),
                  fmt::format("{} to {} inputs and {} to {} outputs", arity.least_in, arity.most_in,
                              arity.least_out, arity.most_out));
  }

  // CheckStreamedWords of the consumer compares the words with its weights.
  Status CheckWeightStream() const {
    const auto port = static_cast<uint64_t>(stage_.port_bytes);
    KILN_RETURN_IF_ERROR(Expect(std::has_single_bit(port) && port >= 8 && port <= 128,
                                fmt::format("has beats of {} bytes", stage_.port_bytes),
                                "8 to 128 bytes, a power of two"));
    KILN_RETURN_IF_ERROR(Expect(stage_.base_address >= 0 && stage_.base_address % 4096 == 0,
                                fmt::format("begins at address {}", stage_.base_address),
                                "a multiple of 4096"));
    KILN_RETURN_IF_ERROR(Expect(stage_.memory_latency >= 1 && stage_.memory_latency <= 4096,
                                fmt::format("has a latency of {} cycles", stage_.memory_latency),
                                "1 to 4096 cycles"));
    const Stage& behind = pipeline_.stages[static_cast<size_t>(out().to)];
    return Expect(pipeline_.Streams(behind) && behind.inputs[1] == stage_.outputs[0],
                  "does not lead to the weights of a convolution",
                  "a convolution whose second input it is");
  }

  // Wider codes are sums that leave the machine: stages may move them, but not compute with them.
  Status CheckOperands() const {
    const bool moves = OnlyConnects(stage_.kind) || stage_.kind == StageKind::kSink ||
                       stage_.kind == StageKind::kConcat || stage_.kind == StageKind::kRearrange;
    for (size_t i = 0; i < stage_.inputs.size() && !moves; ++i) {
      KILN_RETURN_IF_ERROR(Expect(in(i).type.bits <= kMostCodeBits,
                                  fmt::format("computes with codes of {} bits", in(i).type.bits),
                                  fmt::format("{} bits at most", kMostCodeBits)));
    }
    return OkStatus();
  }

  // The output has the map, the codes and the lanes of the input.
  Status CheckSame(const Channel& a, const Channel& b) const {
    KILN_RETURN_IF_ERROR(Expect(a.map == b.map, "changes the shape of its map", "the same shape"));
    KILN_RETURN_IF_ERROR(Expect(a.type == b.type, "changes the type of codes", "the same type"));
    return Expect(a.lanes == b.lanes, "changes the lanes of words", "the same lanes");
  }
  Status CheckFork() const {
    for (size_t i = 0; i < stage_.outputs.size(); ++i)
      KILN_RETURN_IF_ERROR(CheckSame(in(), out(i)));
    return OkStatus();
  }
  Status CheckConcat() const {
    MapShape sum = in().map;
    sum.channels = 0;
    for (size_t i = 0; i < stage_.inputs.size(); ++i) {
      KILN_RETURN_IF_ERROR(Expect(in(i).map.height == sum.height && in(i).map.width == sum.width,
                                  "joins maps of different size", "one height and width"));
      KILN_RETURN_IF_ERROR(Expect(in(i).type == out().type && in(i).lanes == out().lanes,
                                  "joins words of different form", "one type and lanes"));
      sum.channels += in(i).map.channels;
    }
    return Expect(sum == out().map, "has a result of the wrong shape",
                  "all channels of its inputs");
  }
  Status CheckConverter() const {
    const int64_t narrow = std::min(in().lanes, out().lanes),
                  wide = std::max(in().lanes, out().lanes);
    KILN_RETURN_IF_ERROR(Expect(in().map.elements() == out().map.elements(),
                                "changes the number of elements", "as many elements"));
    KILN_RETURN_IF_ERROR(Expect(in().type == out().type, "changes the type of codes", "one type"));
    KILN_RETURN_IF_ERROR(Expect(wide % narrow == 0 && wide > narrow,
                                "converts between lanes that do not divide",
                                "lanes that are a multiple of the others"));
    return Expect((stage_.kind == StageKind::kWiden) == (out().lanes == wide),
                  "converts in the other direction", "widen to more lanes, narrow to fewer");
  }
  Status CheckPad() const {
    const MapShape &a = in().map, &b = out().map;
    KILN_RETURN_IF_ERROR(
        Expect(stage_.pad_top >= 0 && stage_.pad_left >= 0 &&
                   b.height >= a.height + stage_.pad_top && b.width >= a.width + stage_.pad_left &&
                   b.channels >= a.channels + stage_.pad_front && stage_.pad_front >= 0 &&
                   in().lanes == out().lanes && stage_.pad_front % in().lanes == 0,
               "pads to a smaller map or to parts of words", "a map that contains the input"));
    return Expect(in().type == out().type && stage_.pad_value >= in().type.low() &&
                      stage_.pad_value <= in().type.high(),
                  "pads with a value that is no code of its input", "a code of the input");
  }
  // The output has the first channels of each pixel.
  Status CheckCrop() const {
    const MapShape &a = in().map, &b = out().map;
    KILN_RETURN_IF_ERROR(Expect(in().type == out().type && in().lanes == out().lanes,
                                "changes words", "the same type and lanes"));
    return Expect(a.height == b.height && a.width == b.width && b.channels < a.channels &&
                      a.channels % in().lanes == 0 && b.channels % in().lanes == 0,
                  "has a result of the wrong shape", "fewer channels, in whole words");
  }
  Status CheckTable() const {
    KILN_RETURN_IF_ERROR(Expect(in().map == out().map && in().lanes == out().lanes,
                                "changes the shape of its map", "the same shape and lanes"));
    KILN_RETURN_IF_ERROR(
        Expect(in().type.bits <= 12, "has operands of more than 12 bits", "an affine stage"));
    KILN_RETURN_IF_ERROR(Expect(stage_.table.size() == size_t{1} << in().type.bits,
                                fmt::format("has a table of {} codes", stage_.table.size()),
                                "2^bits codes"));
    for (const int32_t code : stage_.table) KILN_RETURN_IF_ERROR(CheckCode(code));
    return OkStatus();
  }
  Status CheckCode(int64_t code) const {
    return Expect(code >= out().type.low() && code <= out().type.high(),
                  fmt::format("gives {}, which is no code of its result", code),
                  fmt::format("{} to {}", out().type.low(), out().type.high()));
  }
  Status CheckAffine() const {
    for (size_t i = 0; i < stage_.inputs.size(); ++i) {
      KILN_RETURN_IF_ERROR(Expect(in(i).map == out().map && in(i).lanes == out().lanes,
                                  "joins maps of different shape", "one shape and lanes"));
    }
    const int64_t most = int64_t{1} << kMultiplierBits;
    for (const int64_t factor : stage_.factors)
      KILN_RETURN_IF_ERROR(Expect(factor > -most && factor < most, "has a factor above 17 bits",
                                  "17 bits and a sign"));
    const CodeType addend = {kAffineAddendBits, true};
    KILN_RETURN_IF_ERROR(Expect(stage_.shift >= 0 && stage_.shift <= 47 &&
                                    stage_.addend >= addend.low() && stage_.addend <= addend.high(),
                                "has constants out of range", "a shift of 0 to 47, 48 bits"));
    KILN_RETURN_IF_ERROR(Expect(stage_.low <= stage_.high, "has empty bounds", "low <= high"));
    KILN_RETURN_IF_ERROR(CheckCode(stage_.low));
    return CheckCode(stage_.high);
  }
  Status CheckRearrange() const {
    const int64_t fy = stage_.factor_y, fx = stage_.factor_x;
    KILN_RETURN_IF_ERROR(
        Expect(fy >= 1 && fx >= 1 && in().type == out().type && in().lanes == out().lanes,
               "changes words", "the same type and lanes"));
    const int64_t parts = stage_.depth_to_space ? fy * fx : 1;
    KILN_RETURN_IF_ERROR(Expect(in().map.channels % (parts * in().lanes) == 0,
                                "has blocks that are no whole words",
                                "lanes that divide the channels of a block"));
    const MapShape expected = {in().map.height * fy, in().map.width * fx,
                               in().map.channels / parts};
    return Expect(out().map == expected, "has a result of the wrong shape",
                  "a map that is larger by its factors");
  }

  // The limits of docs/dataflow-machine.md, "Window".
  Status CheckWindow() const {
    const Window& w = stage_.window;
    const MapShape& map = stage_.map;
    KILN_RETURN_IF_ERROR(Expect(map.elements() == in().map.elements() && map.height >= 1 &&
                                    map.width >= 1 && map.channels % in().lanes == 0,
                                "reads its input as a map of other size", "as many elements"));
    KILN_RETURN_IF_ERROR(
        Expect(w.kernel_y >= 1 && w.kernel_x >= 1 && w.stride_y >= 1 && w.stride_x >= 1 &&
                   w.pad_top >= 0 && w.pad_left >= 0 && w.extra_rows >= 0 && w.dilation_y >= 1 &&
                   w.dilation_x >= 1 && w.out_height >= 1 && w.out_width >= 1,
               "has a window with a size below its least", "sizes from 1, padding from 0"));
    const int64_t last_column = (w.out_width - 1) * w.stride_x - w.pad_left + w.columns() - 1;
    KILN_RETURN_IF_ERROR(Expect(
        w.pad_left <= w.columns() - 1 && w.pad_top <= w.rows() - 1 &&
            (w.out_width - 1) * w.stride_x <= map.width - 1 &&
            (w.out_height - 1) * w.stride_y <= map.height - 1 && last_column <= 2 * map.width - 1,
        "has a window with more padding than its kernel covers", "a pad stage in front of it"));
    KILN_RETURN_IF_ERROR(Expect(w.pad_value >= in().type.low() && w.pad_value <= in().type.high(),
                                "pads with a value that is no code of its input",
                                "a code of the input"));
    return Expect(out().map.height == w.out_height && out().map.width == w.out_width,
                  "has a result of the wrong size", "the window's output size");
  }
  Status CheckWeights(int64_t count) const {
    KILN_RETURN_IF_ERROR(Expect(stage_.weight_bits >= 1 && stage_.weight_bits <= 16,
                                "has weights of more than 16 bits", "1 to 16 bits"));
    KILN_RETURN_IF_ERROR(Expect(stage_.weights.size() == static_cast<size_t>(count),
                                fmt::format("has {} weights", stage_.weights.size()),
                                fmt::format("{}", count)));
    const CodeType type = {stage_.weight_bits, true};
    for (const int32_t weight : stage_.weights) {
      const bool fits = stage_.weight_bits == 1 ? weight == 1 || weight == -1
                                                : weight >= type.low() && weight <= type.high();
      KILN_RETURN_IF_ERROR(Expect(fits, fmt::format("has the weight {}", weight),
                                  fmt::format("weights of {} bits", stage_.weight_bits)));
    }
    return OkStatus();
  }
  Status CheckConvolution() const {
    KILN_RETURN_IF_ERROR(CheckWindow());
    const int64_t ci = stage_.map.channels, co = out().map.channels, g = stage_.groups;
    const int64_t a = in().lanes, b = stage_.elements, r = out().lanes;
    KILN_RETURN_IF_ERROR(Expect(g >= 1 && ci % g == 0 && co % g == 0,
                                "has groups that do not divide its channels", "a divisor of both"));
    KILN_RETURN_IF_ERROR(Expect((ci / g) % a == 0 && b >= 1 && (co / g) % b == 0,
                                fmt::format("is folded to {} x {} lanes", a, b),
                                "divisors of the channels of a group"));
    KILN_RETURN_IF_ERROR(Expect(b % r == 0 && b / r <= ci / g / a,
                                fmt::format("has results of {} lanes", r),
                                "a divisor of its elements, all words out before the next result"));
    KILN_RETURN_IF_ERROR(CheckPack());
    KILN_RETURN_IF_ERROR(CheckWeights(co * stage_.window.taps() * (ci / g)));
    if (pipeline_.Streams(stage_)) KILN_RETURN_IF_ERROR(CheckStreamedWords());
    return CheckSums(co);
  }
  Status CheckStreamedWords() const {
    const Channel expected = WeightChannelOf(pipeline_, stage_);
    return Expect(pipeline_.HoldsWeights(in(1)) && in(1).map == expected.map &&
                      in(1).type == expected.type && in(1).lanes == expected.lanes,
                  "reads words that are not its weights",
                  "a weight stream with a word for each multiplying step");
  }
  Status CheckPack() const {
    const int most = std::max(in().type.bits, stage_.weight_bits);
    const bool fits =
        stage_.pack == 1 || (stage_.weight_bits > 1 &&
                             ((stage_.pack == 2 && most <= 8) || (stage_.pack == 4 && most <= 4)));
    return Expect(fits && stage_.elements % stage_.pack == 0,
                  fmt::format("packs {} products of {} x {} bits", stage_.pack, in().type.bits,
                              stage_.weight_bits),
                  "2 of at most 8 bits or 4 of at most 4, and a divisor of its elements");
  }
  Status CheckDepthwise() const {
    KILN_RETURN_IF_ERROR(CheckWindow());
    KILN_RETURN_IF_ERROR(
        Expect(stage_.map.channels == out().map.channels && in().lanes == out().lanes,
               "changes channels or lanes", "the same"));
    KILN_RETURN_IF_ERROR(CheckWeights(out().map.channels * stage_.window.taps()));
    return CheckSums(out().map.channels);
  }
  Status CheckMaxPool() const {
    KILN_RETURN_IF_ERROR(CheckWindow());
    KILN_RETURN_IF_ERROR(Expect(stage_.map.channels == out().map.channels &&
                                    in().lanes == out().lanes && in().type == out().type,
                                "changes channels, lanes or codes", "the same"));
    return Expect(stage_.window.pad_value == in().type.low(),
                  fmt::format("pads a maximum with {}", stage_.window.pad_value),
                  fmt::format("{}, the least code", in().type.low()));
  }
  Status CheckGlobalSum() const {
    KILN_RETURN_IF_ERROR(
        Expect(out().map == MapShape{1, 1, in().map.channels} && in().lanes == out().lanes,
               "has a result of the wrong shape", "one pixel, the same lanes"));
    return CheckSums(out().map.channels);
  }
  Status CheckSums(int64_t channels) const {
    KILN_RETURN_IF_ERROR(CheckSumBits());
    const Requantise& r = stage_.requantise;
    const auto count = static_cast<size_t>(channels);
    if (r.way == Requantise::Way::kThresholds) {
      KILN_RETURN_IF_ERROR(
          Expect(r.threshold_bits >= 1 && r.threshold_bits <= kMostThresholdBits &&
                     r.thresholds.size() == count * ((size_t{1} << r.threshold_bits) - 1),
                 "has the wrong number of thresholds", "2^n - 1 for each channel, n of 1 to 8"));
      KILN_RETURN_IF_ERROR(CheckCode(r.low));
      return CheckThresholds();
    }
    if (r.way == Requantise::Way::kMultiply) {
      KILN_RETURN_IF_ERROR(Expect(r.multipliers.size() == count && r.addends.size() == count &&
                                      r.shift >= 0 && r.shift <= 47,
                                  "has constants of the wrong number or range",
                                  "two for each channel, a shift of 0 to 47"));
      const CodeType addend = {kAddendBits, true};
      for (const int64_t c : r.addends)
        KILN_RETURN_IF_ERROR(
            Expect(c >= addend.low() && c <= addend.high(), fmt::format("adds {}", c), "52 bits"));
      for (const int64_t m : r.multipliers)
        KILN_RETURN_IF_ERROR(Expect(m >= 0 && m < int64_t{1} << kMultiplierBits,
                                    fmt::format("multiplies by {}", m), "0 to 2^17 - 1"));
      KILN_RETURN_IF_ERROR(Expect(r.low <= r.high, "has empty bounds", "low <= high"));
      KILN_RETURN_IF_ERROR(CheckCode(r.low));
      return CheckCode(r.high);
    }
    return OkStatus();
  }
  // No sum passes a threshold whose code does not exist, and thresholds fit the bits of sums.
  Status CheckThresholds() const {
    const Requantise& r = stage_.requantise;
    const int64_t greatest = RangeOfSums(pipeline_, stage_).high;
    const auto per_channel = (size_t{1} << r.threshold_bits) - 1;
    const CodeType sum = {stage_.sum_bits, true};
    for (size_t i = 0; i < r.thresholds.size(); ++i) {
      const int64_t t = r.thresholds[i];
      const auto number = static_cast<int64_t>(i % per_channel);
      KILN_RETURN_IF_ERROR(Expect(t >= sum.low() && t <= sum.high() &&
                                      (number == 0 || t >= r.thresholds[i - 1]) &&
                                      (t > greatest || r.low + number + 1 <= out().type.high()),
                                  fmt::format("has the threshold {}", t),
                                  "ascending thresholds of the sums' bits, one for each code"));
    }
    return OkStatus();
  }
  // The sums fit their bits, whatever the operands.
  Status CheckSumBits() const {
    const SumRange range = RangeOfSums(pipeline_, stage_);
    const int bits = SignedBits(range.low, range.high);
    KILN_RETURN_IF_ERROR(Expect(bits <= stage_.sum_bits && stage_.sum_bits <= kMostSumBits,
                                fmt::format("has sums of {} bits in {}", bits, stage_.sum_bits),
                                fmt::format("{} to {} bits", bits, kMostSumBits)));
    if (stage_.requantise.way != Requantise::Way::kNone) return OkStatus();
    return Expect(out().type == CodeType{stage_.sum_bits, true},
                  "passes its sums on in another type", "codes of the sums' bits");
  }

  const Pipeline& pipeline_;
  const Stage& stage_;
};

Status CheckChannel(const Pipeline& pipeline, size_t index) {
  const Channel& c = pipeline.channels[index];
  const auto place = [&] { return fmt::format("channel {}", index); };
  const auto stages = static_cast<int>(pipeline.stages.size());
  if (c.from < 0 || c.from >= stages || c.to < 0 || c.to >= stages || c.from >= c.to)
    return ErrorAt("", place(), "does not lead from a stage to a later one", "stages in order");
  const auto& outputs = pipeline.stages[static_cast<size_t>(c.from)].outputs;
  const auto& inputs = pipeline.stages[static_cast<size_t>(c.to)].inputs;
  const auto number = static_cast<int>(index);
  if (std::ranges::count(outputs, number) != 1 || std::ranges::count(inputs, number) != 1)
    return ErrorAt("", place(), "is not listed once at both of its stages", "once at each");
  if (c.map.height < 1 || c.map.width < 1 || c.lanes < 1 || c.map.channels < 1 ||
      c.map.elements() % c.lanes != 0)
    return ErrorAt("", place(), "has words that do not divide its map",
                   "a divisor of the channels");
  if (c.type.bits < 1 || c.type.bits > kMostSumBits)
    return ErrorAt("", place(), fmt::format("has codes of {} bits", c.type.bits), "1 to 48 bits");
  if (c.depth < 1) return ErrorAt("", place(), "holds no word", "a depth of 1 or more");
  return OkStatus();
}

bool IsIdentifier(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

std::string_view NameOf(MemoryKind kind) {
  constexpr std::string_view kNames[] = {"lut", "block", "ultra"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view NameOf(StageKind kind) {
  constexpr std::string_view kNames[] = {"source",      "sink",      "weight_stream", "fork",
                                         "concat",      "widen",     "narrow",        "pad",
                                         "crop",        "table",     "affine",        "rearrange",
                                         "convolution", "depthwise", "max_pool",      "global_sum"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<int> Pipeline::Find(StageKind kind) const {
  std::vector<int> found;
  for (size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].kind == kind) found.push_back(static_cast<int>(i));
  }
  return found;
}

Status CheckPipeline(const Pipeline& pipeline) {
  std::set<std::string_view> names;
  const auto channels = static_cast<int>(pipeline.channels.size());
  for (const Stage& stage : pipeline.stages) {
    if (!IsIdentifier(stage.name) || !names.insert(stage.name).second)
      return ErrorAt("", fmt::format("stage '{}'", stage.name), "has no name of its own",
                     "a unique name of letters, digits and underscores");
    for (const auto* list : {&stage.inputs, &stage.outputs}) {
      for (const int c : *list) {
        if (c < 0 || c >= channels)
          return ErrorAt("", fmt::format("stage '{}'", stage.name),
                         fmt::format("names channel {}, which does not exist", c),
                         fmt::format("0 to {}", channels - 1));
      }
    }
  }
  for (size_t i = 0; i < pipeline.channels.size(); ++i)
    KILN_RETURN_IF_ERROR(CheckChannel(pipeline, i));
  for (const Stage& stage : pipeline.stages)
    KILN_RETURN_IF_ERROR(StageChecker(pipeline, stage).Check());
  return OkStatus();
}

namespace {

std::string NumbersOf(const Pipeline& pipeline, const Stage& s) {
  const Window& w = s.window;
  const std::string window =
      fmt::format("{}x{} /{}x{}", w.kernel_y, w.kernel_x, w.stride_y, w.stride_x);
  switch (s.kind) {
    case StageKind::kConvolution:
      return fmt::format(" {} groups {} fold {}x{} pack {} weights {} bits {}", window, s.groups,
                         pipeline.input(s).lanes, s.elements, s.pack, s.weight_bits,
                         pipeline.Streams(s) ? "streamed" : NameOf(s.weight_memory));
    case StageKind::kDepthwise:
      return fmt::format(" {} weights {} bits", window, s.weight_bits);
    case StageKind::kMaxPool:
      return " " + window;
    case StageKind::kWeightStream:
      return fmt::format(" from {:#x} by {} bytes", s.base_address, s.port_bytes);
    case StageKind::kRearrange:
      return fmt::format(" {}x{} {}", s.factor_y, s.factor_x,
                         s.depth_to_space ? "depth_to_space" : "repeat");
    default:
      return "";
  }
}

}  // namespace

std::string PrintPipeline(const Pipeline& pipeline) {
  std::string text;
  for (const Stage& s : pipeline.stages) {
    text += fmt::format("{} {}{}: {} -> {}\n", s.name, NameOf(s.kind), NumbersOf(pipeline, s),
                        fmt::join(s.inputs, ", "), fmt::join(s.outputs, ", "));
  }
  for (size_t i = 0; i < pipeline.channels.size(); ++i) {
    const Channel& c = pipeline.channels[i];
    text += fmt::format("channel {}: {}x{}x{} {}int{} lanes {} depth {} {}\n", i, c.map.height,
                        c.map.width, c.map.channels, c.type.is_signed ? "" : "u", c.type.bits,
                        c.lanes, c.depth, NameOf(c.memory));
  }
  return text;
}

}  // namespace kiln::dataflow
