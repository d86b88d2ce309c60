// Builds the graphs and launches of sums, and chooses the integers of their requantisation.

#include "kiln/targets/cgra/compile/sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "fmt/format.h"
#include "kiln/numerics/elementary.h"
#include "kiln/support/integer.h"
#include "kiln/targets/cgra/compile/graph_builder.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln::cgra {
namespace {

constexpr int kMostUnroll = 4;
constexpr int kMostSumShift = 30;
constexpr int kCodeRoom = 29;  // bits of codes before the shift

// Sizes of a product in the terms of its lanes.
struct Extent {
  int64_t shared = 1, laned = 1;  // rows and columns, or columns and rows
};
Extent ExtentOf(const SumOfProducts& p, const Tiling& t) {
  return t.lanes_on_rows ? Extent{p.columns, p.rows} : Extent{p.rows, p.columns};
}

// Which part of the result a run computes.
struct Part {
  int64_t group = 0, shared = 0, laned = 0;  // the first of each
};
class Parts {
 public:
  Parts(const SumOfProducts& p, const Tiling& t, int64_t lanes)
      : vectors_(t.vectors),
        width_(t.blocks * lanes),
        shared_(CeilDivide(ExtentOf(p, t).shared, vectors_)),
        laned_(CeilDivide(ExtentOf(p, t).laned, width_)),
        groups_(p.groups) {}
  int64_t runs() const { return groups_ * shared_ * laned_; }
  Part At(int64_t run) const {
    return {run / (shared_ * laned_), run / laned_ % shared_ * vectors_, run % laned_ * width_};
  }
  // Return the first of each as text.
  std::string GroupText() const { return DigitText("run", shared_ * laned_, groups_, groups_); }
  std::string SharedText() const {
    return ProductText(DigitText("run", laned_, shared_, groups_ * shared_), vectors_);
  }
  std::string LanedText() const { return ProductText(DigitText("run", 1, laned_, runs()), width_); }

 private:
  int64_t vectors_, width_, shared_, laned_, groups_;
};

}  // namespace

ComputationGraph GraphOfProducts(const SumOfProducts& p, const Tiling& t, std::string_view name) {
  GraphBuilder graph(name);
  const int32_t shared_centre = t.lanes_on_rows ? p.b_centre : p.a_centre;
  const int32_t laned_centre = t.lanes_on_rows ? p.a_centre : p.b_centre;
  const auto input = [&](const std::string& label, int32_t centre) {
    const int at = graph.Input(label);
    return centre == 0 ? at : graph.AddLiteral(Op::kSub, label + " centre", at, centre);
  };
  std::vector<int> sums(static_cast<size_t>(t.vectors * t.blocks), -1);
  for (int u = 0; u < t.unroll; ++u) {
    std::vector<int> vectors, blocks;
    for (int v = 0; v < t.vectors; ++v)
      vectors.push_back(input(
          fmt::format("vector{}{}", v, std::string(static_cast<size_t>(u), '\'')), shared_centre));
    for (int b = 0; b < t.blocks; ++b)
      blocks.push_back(input(fmt::format("block{}{}", b, std::string(static_cast<size_t>(u), '\'')),
                             laned_centre));
    for (int v = 0; v < t.vectors; ++v) {
      for (int b = 0; b < t.blocks; ++b) {
        int& sum = sums[static_cast<size_t>(v * t.blocks + b)];
        const int product =
            graph.Add(Op::kMul, fmt::format("product{}_{}", v, b), vectors[static_cast<size_t>(v)],
                      blocks[static_cast<size_t>(b)]);
        const std::string label = fmt::format("sum{}_{}", v, b);
        // The last step adds the sum of the threads before.
        if (sum >= 0) sum = graph.Add(Op::kAdd, label, product, sum);
        if (sum < 0) sum = product;
      }
    }
  }
  for (int v = 0; v < t.vectors; ++v) {
    for (int b = 0; b < t.blocks; ++b) {
      int& sum = sums[static_cast<size_t>(v * t.blocks + b)];
      sum = graph.Accumulate(Op::kAdd, fmt::format("sum{}_{}", v, b), sum, 0);
      graph.Output(sum, fmt::format("result{}_{}", v, b));
    }
  }
  return graph.Finish();
}

ComputationGraph GraphOfReduction(const Reduction& p, const Tiling& t, std::string_view name) {
  GraphBuilder graph(name);
  const Op op = p.maximum ? Op::kMax : p.minimum ? Op::kMin : Op::kAdd;
  const int32_t initial = p.maximum   ? std::numeric_limits<int32_t>::min()
                          : p.minimum ? std::numeric_limits<int32_t>::max()
                                      : 0;
  std::vector<int> all(static_cast<size_t>(t.blocks), -1);
  for (int u = 0; u < t.unroll; ++u) {
    for (int b = 0; b < t.blocks; ++b) {
      int& part = all[static_cast<size_t>(b)];
      const int input =
          graph.Input(fmt::format("block{}{}", b, std::string(static_cast<size_t>(u), '\'')));
      part = part < 0 ? input : graph.Add(op, fmt::format("part{}", b), part, input);
    }
  }
  for (int b = 0; b < t.blocks; ++b) {
    const int sum =
        graph.Accumulate(op, fmt::format("sum{}", b), all[static_cast<size_t>(b)], initial);
    graph.Output(sum, fmt::format("result{}", b));
  }
  return graph.Finish();
}

namespace {

// Appends a name to a text, with the condition that it is less than `end`, unless its expression
// always is: it is at most `last`.
void AddName(const std::string& name, const std::string& expression, int64_t last, int64_t end,
             IndexText* text) {
  text->names.emplace_back(name, expression);
  if (last >= end) text->conditions.push_back(fmt::format("{} < {}", name, end));
}

// Returns the names of the rows and columns that a run has in a vector that all lanes share, in a
// block of lanes, or in both.
IndexText NamesOfPlace(const SumOfProducts& p, const Tiling& t, const Parts& parts, int64_t lanes,
                       std::optional<int64_t> vector, std::optional<int64_t> block) {
  const Extent extent = ExtentOf(p, t);
  IndexText text;
  if (p.groups > 1) text.names.emplace_back("g", parts.GroupText());
  if (vector.has_value()) {
    const int64_t last = CeilDivide(extent.shared, t.vectors) * t.vectors - t.vectors + *vector;
    AddName(t.lanes_on_rows ? "n" : "m", SumText(parts.SharedText(), *vector), last, extent.shared,
            &text);
  }
  if (block.has_value()) {
    const int64_t width = t.blocks * lanes;
    const int64_t last = CeilDivide(extent.laned, width) * width - width + (*block + 1) * lanes - 1;
    AddName(t.lanes_on_rows ? "m" : "n",
            SumText(SumText(parts.LanedText(), *block * lanes), "lane"), last, extent.laned, &text);
  }
  return text;
}

// Adds the step of a sum that a thread has as its number `u`.
void AddStep(int64_t depth, int unroll, int u, IndexText* text) {
  const int64_t last = CeilDivide(depth, unroll) * unroll - unroll + u;
  AddName("k", SumText(ProductText("thread", unroll), u), last, depth, text);
}

}  // namespace

Launch LaunchOfProducts(const SumOfProducts& p, const Tiling& t, int64_t lanes, int sums) {
  const Parts parts(p, t, lanes);
  Launch launch;
  launch.runs = parts.runs();
  launch.threads = CeilDivide(p.depth, t.unroll);
  launch.first_sent = launch.threads - 1;
  for (int u = 0; u < t.unroll; ++u) {
    for (int i = 0; i < t.vectors + t.blocks; ++i) {
      const bool is_shared = i < t.vectors;
      const bool is_a = is_shared != t.lanes_on_rows;
      const int64_t block = is_shared ? 0 : i - t.vectors;
      IndexText text = NamesOfPlace(p, t, parts, lanes, is_shared ? std::optional(i) : std::nullopt,
                                    is_shared ? std::nullopt : std::optional(block));
      AddStep(p.depth, t.unroll, u, &text);
      const auto at = [p, t, parts, lanes, u, i, is_shared, is_a, block](
                          int64_t run, int64_t thread, int64_t lane) -> int64_t {
        const Part part = parts.At(run);
        const int64_t k = thread * t.unroll + u;
        const Extent extent = ExtentOf(p, t);
        const int64_t place = is_shared ? part.shared + i : part.laned + block * lanes + lane;
        if (k >= p.depth || place >= (is_shared ? extent.shared : extent.laned)) return -1;
        return is_a ? p.a_at(part.group, place, k) : p.b_at(part.group, k, place);
      };
      launch.feeds.push_back({.buffer = is_a ? p.a : p.b,
                              .at = {Behind(text, is_a ? p.a_text : p.b_text), at},
                              .otherwise = is_a ? p.a_zero : p.b_zero,
                              .same_in_lanes = is_shared});
    }
  }
  for (int v = 0; v < t.vectors; ++v) {
    for (int b = 0; b < t.blocks; ++b) {
      const auto at = [p, t, parts, lanes, v, b](int64_t run, int64_t, int64_t lane) -> int64_t {
        const Part part = parts.At(run);
        const Extent extent = ExtentOf(p, t);
        const int64_t shared = part.shared + v, laned = part.laned + b * lanes + lane;
        if (shared >= extent.shared || laned >= extent.laned) return -1;
        return t.lanes_on_rows ? p.sum_at(part.group, laned, shared)
                               : p.sum_at(part.group, shared, laned);
      };
      const IndexText text = NamesOfPlace(p, t, parts, lanes, v, b);
      launch.drains.push_back({sums, {Behind(text, p.sum_text), at}});
    }
  }
  return launch;
}

Launch LaunchOfReduction(const Reduction& p, const Tiling& t, int64_t lanes, int sums) {
  Launch launch;
  const int64_t width = t.blocks * lanes;
  launch.runs = CeilDivide(p.outputs, width);
  launch.threads = CeilDivide(p.depth, t.unroll);
  launch.first_sent = launch.threads - 1;
  const auto names_of = [&](int b) {
    const std::string first = ProductText(launch.runs == 1 ? "0" : "run", width);
    IndexText text;
    AddName("output", SumText(SumText(first, b * lanes), "lane"),
            (launch.runs - 1) * width + (b + 1) * lanes - 1, p.outputs, &text);
    return text;
  };
  for (int u = 0; u < t.unroll; ++u) {
    for (int b = 0; b < t.blocks; ++b) {
      IndexText text = names_of(b);
      AddStep(p.depth, t.unroll, u, &text);
      launch.feeds.push_back(
          {p.input,
           {Behind(text, p.text),
            [p, t, lanes, width, u, b](int64_t run, int64_t thread, int64_t lane) -> int64_t {
              const int64_t output = run * width + b * lanes + lane, k = thread * t.unroll + u;
              if (output >= p.outputs || k >= p.depth) return -1;
              return p.at(output, k);
            }},
           p.otherwise});
    }
  }
  for (int b = 0; b < t.blocks; ++b) {
    launch.drains.push_back({sums,
                             {Behind(names_of(b), {.position = {"output"}}),
                              [p, lanes, width, b](int64_t run, int64_t, int64_t lane) -> int64_t {
                                const int64_t output = run * width + b * lanes + lane;
                                return output < p.outputs ? output : -1;
                              }}});
  }
  return launch;
}

std::vector<Tiling> TilingsOf(const SumOfProducts& p, int64_t lanes, int outputs) {
  std::vector<Tiling> tilings;
  for (const bool on_rows : {false, true}) {
    Tiling t{.lanes_on_rows = on_rows};
    const Extent extent = ExtentOf(p, t);
    for (t.vectors = 1; t.vectors <= std::min<int64_t>(outputs, extent.shared); ++t.vectors) {
      for (t.blocks = 1; t.blocks <= outputs / t.vectors; ++t.blocks) {
        if (t.blocks > CeilDivide(extent.laned, lanes)) break;
        const int most = t.vectors * t.blocks == 1 ? kMostUnroll : 1;
        for (t.unroll = 1; t.unroll <= std::min<int64_t>(most, p.depth); t.unroll *= 2)
          tilings.push_back(t);
      }
    }
  }
  return tilings;
}

std::vector<Tiling> TilingsOf(const Reduction& p, int64_t lanes, int outputs) {
  std::vector<Tiling> tilings;
  Tiling t;
  for (t.blocks = 1; t.blocks <= std::min<int64_t>(outputs, CeilDivide(p.outputs, lanes));
       ++t.blocks) {
    for (t.unroll = 1; t.unroll <= std::min<int64_t>(kMostUnroll, p.depth); t.unroll *= 2) {
      // A sum may not have steps more than it has elements, a maximum may.
      if (p.depth % t.unroll == 0 || p.maximum || p.minimum) tilings.push_back(t);
    }
  }
  return tilings;
}

namespace {

// The integers of one channel.
struct ChannelNumbers {
  int32_t least = 0, most = 0, multiplier = 0, constant = 0;
};

// Returns the integers of a channel at a shift, or nothing if they do not fit. Bounds on the sum
// keep its product within 32 bits: sums beyond them would be held to the same code anyway.
std::optional<ChannelNumbers> NumbersAt(double factor, double offset, int64_t greatest, int shift,
                                        int32_t low, int32_t high) {
  ChannelNumbers n;
  const double multiplier = std::round(std::ldexp(factor, shift));
  const double constant = std::round(std::ldexp(offset + 0.5, shift));
  if (!(std::abs(multiplier) < 0x1p31) || !(std::abs(constant) < 0x1p31)) return std::nullopt;
  n.multiplier = static_cast<int32_t>(multiplier);
  n.constant = static_cast<int32_t>(constant);
  n.least = static_cast<int32_t>(-greatest);
  n.most = static_cast<int32_t>(greatest);
  if (n.multiplier == 0) return n;
  // The sums whose codes lie in [low, high].
  const double first = (std::ldexp(low, shift) - n.constant) / multiplier;
  const double last = (std::ldexp(high + 1.0, shift) - 1 - n.constant) / multiplier;
  double least = std::ceil(std::min(first, last)), most = std::floor(std::max(first, last));
  // No sum may lie between: then all give the bound beside them.
  if (least > most) std::swap(least, most);
  n.least = static_cast<int32_t>(
      std::clamp(least, -static_cast<double>(greatest), static_cast<double>(greatest)));
  n.most = static_cast<int32_t>(
      std::clamp(most, -static_cast<double>(greatest), static_cast<double>(greatest)));
  for (const int64_t end : {int64_t{n.least}, int64_t{n.most}}) {
    if (std::abs(end * n.multiplier + n.constant) >= int64_t{1} << 31) return std::nullopt;
  }
  return n;
}

bool AllEqual(const std::vector<int32_t>& numbers) {
  return std::ranges::all_of(numbers, [&](int32_t n) { return n == numbers[0]; });
}

}  // namespace

// Takes the largest shift at which the numbers of all channels fit. A number that all channels
// share becomes a literal; others are streamed in, one lane each.
StatusOr<RequantisedSums> Requantise(const Requantisation& how, const ValueCodes& codes,
                                     int64_t elements, int64_t lanes, int sums, int result,
                                     std::string_view name, MachineKernel* kernel) {
  const int32_t low = std::isinf(how.low) ? codes.low : NearestCode(how.low, codes);
  const int32_t high =
      std::max(low, std::isinf(how.high) ? codes.high : NearestCode(how.high, codes));
  const size_t channels = how.factors.size();
  std::vector<std::vector<int32_t>> numbers(4, std::vector<int32_t>(channels));
  int shift = std::min(kMostSumShift, kCodeRoom - codes.bits + 8);
  for (; shift >= 0; --shift) {
    bool fits = true;
    for (size_t c = 0; c < channels && fits; ++c) {
      if (how.greatest[c] >= int64_t{1} << 31)
        return ToHost(fmt::format("sums of channel {} may leave 32 bits", c));
      const auto n =
          NumbersAt(how.factors[c] / codes.scale, how.offsets[c] / codes.scale + codes.zero,
                    how.greatest[c], shift, low, high);
      fits = n.has_value();
      if (!fits) break;
      numbers[0][c] = n->least;
      numbers[1][c] = n->most;
      numbers[2][c] = n->multiplier;
      numbers[3][c] = n->constant;
    }
    if (fits) break;
  }
  if (shift < 0) return ToHost("its scales and biases do not fit sums of 32 bits");

  GraphBuilder graph(name);
  RequantisedSums made;
  made.launch.threads = CeilDivide(elements, lanes);
  const ElementIndex at = ElementsInOrder(elements, lanes);
  const auto feed = [&](int buffer, const ElementIndex& index) {
    made.launch.feeds.push_back({buffer, index, 0});
  };
  int value = graph.Input("sum");
  feed(sums, at);
  static constexpr const char* kNames[] = {"least", "most", "multiplier", "constant"};
  static constexpr Op kOps[] = {Op::kMax, Op::kMin, Op::kMul, Op::kAdd};
  for (size_t i = 0; i < 4; ++i) {
    const std::string label = fmt::format("{} {}", name, kNames[i]);
    if (AllEqual(numbers[i])) {
      value = graph.AddLiteral(kOps[i], label, value, numbers[i][0]);
      continue;
    }
    kernel->buffers.push_back({.constants = numbers[i],
                               .name = fmt::format("the {} of channels", kNames[i]),
                               .size = std::ssize(numbers[i])});
    const int input = graph.Input(kNames[i]);
    IndexText text = at.text();
    text.position = {how.channel_text};
    feed(static_cast<int>(kernel->buffers.size()) - 1,
         {text, [at, channel = how.channel](int64_t run, int64_t thread, int64_t lane) {
            const int64_t e = at(run, thread, lane);
            return e < 0 ? e : channel(e);
          }});
    value = graph.Add(kOps[i], label, value, input);
  }
  if (shift > 0) value = graph.AddLiteral(Op::kSra, fmt::format("{} shift", name), value, shift);
  value = graph.AddLiteral(Op::kMax, fmt::format("{} low", name), value, low);
  value = graph.AddLiteral(Op::kMin, fmt::format("{} high", name), value, high);
  graph.Output(value, "code");
  made.graph = graph.Finish();
  made.launch.drains = {{result, at}};
  return made;
}

}  // namespace kiln::cgra
