// Lowers the operators that add up: convolutions, matrix products, pools, means.

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/sample_run.h"
#include "kiln/ir/describe.h"
#include "kiln/ir/indexing.h"
#include "kiln/ir/window.h"
#include "kiln/support/integer.h"
#include "kiln/targets/cgra/compile/choose_tiling.h"
#include "kiln/targets/cgra/compile/cost_of_launch.h"
#include "kiln/targets/cgra/compile/lowering.h"
#include "kiln/targets/cgra/graph/counted.h"
#include "kiln/targets/interface/kernel_info.h"
#include "kiln/targets/lower/strided_view.h"
#include "kiln/targets/lower/view_steps.h"
#include "kiln/targets/run/host_graph.h"

namespace kiln::cgra {
namespace {

constexpr int64_t kMostSum = int64_t{1} << 31;

int64_t Largest(const ValueCodes& codes) {
  return std::max(std::abs(int64_t{codes.low}), std::abs(int64_t{codes.high}));
}

// Returns the index of the pixel that a window's tap reads, or -1 for padding.
int64_t PixelOf(const std::vector<WindowAxis>& axes, int64_t output, int64_t tap) {
  int64_t pixel = 0, scale = 1;
  for (size_t a = axes.size(); a-- > 0;) {
    const WindowAxis& axis = axes[a];
    const int64_t at = axis.InputPosition(output % axis.output, tap % axis.kernel);
    if (at < 0 || at >= axis.input) return -1;
    pixel += at * scale;
    scale *= axis.input;
    output /= axis.output;
    tap /= axis.kernel;
  }
  return pixel;
}

// Sizes of an image in the terms of windows.
struct Windows {
  int64_t in_pixels = 1, out_pixels = 1, taps = 1;
};
Windows SizesOf(const std::vector<WindowAxis>& axes) {
  Windows sizes;
  for (const WindowAxis& axis : axes) {
    sizes.in_pixels *= axis.input;
    sizes.out_pixels *= axis.output;
    sizes.taps *= axis.kernel;
  }
  return sizes;
}

// Returns the element of a channel of a pixel: layouts differ.
int64_t ElementOf(bool channels_last, int64_t pixels, int64_t channels, int64_t pixel,
                  int64_t channel) {
  return channels_last ? pixel * channels + channel : channel * pixels + pixel;
}

// Returns the channel of element `e` as text.
std::string ChannelText(std::string_view e, bool channels_last, int64_t pixels, int64_t channels) {
  return channels_last ? DigitText(e, 1, channels, pixels * channels)
                       : DigitText(e, pixels, channels, channels);
}

// Returns what PixelOf and ElementOf say, as text: the positions along the axes of an image.
// `pixel` and `tap` are names, or expressions of names with / and %.
IndexText WindowText(const std::vector<WindowAxis>& axes, bool channels_last, std::string pixel,
                     std::string tap, const std::string& channel) {
  IndexText text;
  const Windows sizes = SizesOf(axes);
  // A digit of an expression needs a name for it.
  const auto name = [&](std::string* expression, const char* as) {
    if (axes.size() == 1 || expression->find(' ') == std::string::npos) return;
    text.names.emplace_back(as, *expression);
    *expression = as;
  };
  name(&pixel, "pixel");
  name(&tap, "tap");
  std::vector<std::string> positions;
  int64_t pixels = sizes.out_pixels, taps = sizes.taps;
  for (const WindowAxis& axis : axes) {
    pixels /= axis.output;
    taps /= axis.kernel;
    const std::string of_pixel = pixel == "0" ? pixel
                                              : DigitText(pixel, pixels, axis.output,
                                                          sizes.out_pixels / pixels),
                      of_tap =
                          tap == "0" ? tap : DigitText(tap, taps, axis.kernel, sizes.taps / taps);
    positions.push_back(
        SumText(SumText(ProductText(of_pixel, axis.stride), ProductText(of_tap, axis.dilation)),
                -axis.pad_begin));
  }
  text.position = {"0"};
  if (!channels_last) text.position.push_back(channel);
  text.position.insert(text.position.end(), positions.begin(), positions.end());
  if (channels_last) text.position.push_back(channel);
  return text;
}

// The matrix of each group of a product: its number, and where it begins as text.
struct Batches {
  Tensor numbers;
  std::string text;
};

// Adds a group's constants to the offsets of channels.
Status AddBias(const std::vector<const Value*>& biases, std::vector<double>* offsets) {
  for (const Value* bias : biases) {
    const std::vector<float> numbers =
        RoundedAsAnnotated(bias->constant(), bias->quantisation()).ToFloats();
    for (size_t c = 0; c < offsets->size(); ++c)
      (*offsets)[c] += numbers[numbers.size() == 1 ? 0 : c];
  }
  for (const double offset : *offsets) {
    if (!std::isfinite(offset)) return ToHost("a bias that is not finite");
  }
  return OkStatus();
}

std::string PrintTiling(const Tiling& t, const Launch& launch) {
  std::string text = fmt::format("{} x {} of {}", Counted(t.vectors, "vector"),
                                 Counted(t.blocks, "block"), t.lanes_on_rows ? "rows" : "columns");
  if (t.unroll > 1) text += fmt::format(", {} steps a thread", t.unroll);
  return text + fmt::format(", interval {}, {} of {}", launch.mapped->mapping.initiation_interval,
                            Counted(launch.runs, "run"), Counted(launch.threads, "thread"));
}

}  // namespace

Status Lowering::FinishSums(const Group& group, Requantisation how, Launch launch,
                            MachineKernel kernel, const std::string& schedule,
                            std::string operation, double least_cycles) {
  const int sums = launch.drains[0].buffer;
  const int64_t elements = group.result->shape().NumElements();
  kernel.result = group.result;
  how.low = group.low;
  how.high = group.high;
  kernel.launches.push_back(std::move(launch));
  if (!group.result->quantisation().has_value()) {
    // The host takes the sums themselves.
    kernel.buffers[static_cast<size_t>(sums)].is_result = true;
    kernel.line = ChannelLine{.factors = {}, .offsets = {}, .low = how.low, .high = how.high};
    for (int64_t e = 0; e < elements; ++e) {
      const auto channel = static_cast<size_t>(how.channel(e));
      kernel.line->factors.push_back(how.factors[channel]);
      kernel.line->offsets.push_back(how.offsets[channel]);
    }
  } else {
    KILN_ASSIGN_OR_RETURN(const ValueCodes codes, CodesOf(*group.result));
    const auto result = static_cast<int>(kernel.buffers.size());
    kernel.buffers.push_back({.is_result = true, .size = elements});
    KILN_ASSIGN_OR_RETURN(RequantisedSums made,
                          Requantise(how, codes, elements, config_.lanes, sums, result,
                                     KernelName(group.nodes), &kernel));
    KILN_ASSIGN_OR_RETURN(made.launch.mapped, MapGraph(std::move(made.graph), config_));
    least_cycles += LeastCycles(made.launch, config_);
    kernel.launches.push_back(std::move(made.launch));
  }
  AddKernel(group, std::move(kernel), "sums", std::move(operation), schedule, least_cycles);
  out_.kernels.back().info.unrounded_values = ValuesWithin(group.nodes);
  return OkStatus();
}

Status Lowering::FinishProducts(const Group& group, const SumOfProducts& problem,
                                Requantisation how, MachineKernel kernel, std::string operation) {
  for (const int64_t greatest : how.greatest) {
    if (greatest >= kMostSum) return ToHost("its sums may leave 32 bits");
  }
  const auto sums = static_cast<int>(kernel.buffers.size());
  kernel.buffers.push_back({.size = group.result->shape().NumElements()});
  KILN_ASSIGN_OR_RETURN(Choice choice, Choose(problem, config_, sums, KernelName(group.nodes),
                                              &GraphOfProducts, &LaunchOfProducts));
  const std::string schedule = PrintTiling(choice.tiling, choice.launch);
  return FinishSums(group, std::move(how), std::move(choice.launch), std::move(kernel), schedule,
                    std::move(operation), choice.least_cycles);
}

Status Lowering::FinishReduction(const Group& group, const Reduction& problem, Requantisation how,
                                 MachineKernel kernel, std::string operation) {
  for (const int64_t greatest : how.greatest) {
    if (greatest >= kMostSum) return ToHost("its sums may leave 32 bits");
  }
  const auto sums = static_cast<int>(kernel.buffers.size());
  kernel.buffers.push_back({.size = group.result->shape().NumElements()});
  KILN_ASSIGN_OR_RETURN(Choice choice, Choose(problem, config_, sums, KernelName(group.nodes),
                                              &GraphOfReduction, &LaunchOfReduction));
  const std::string schedule = PrintTiling(choice.tiling, choice.launch);
  return FinishSums(group, std::move(how), std::move(choice.launch), std::move(kernel), schedule,
                    std::move(operation), choice.least_cycles);
}

Status Lowering::EmitConvolution(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(const ConvGeometry g, ResolveConv(node, graph_.source()));
  if (g.batch != 1) return ToHost("a convolution of several images");
  KILN_ASSIGN_OR_RETURN(const ValueCodes x, CodesOf(*node.operand(0)));
  KILN_ASSIGN_OR_RETURN(WeightCodes weights, WeightsOf(*node.operand(1), 0));
  const Windows sizes = SizesOf(g.axes);
  const int64_t in_group = g.in_channels / g.groups, out_group = g.out_channels / g.groups;
  SumOfProducts p;
  p.groups = g.groups;
  p.rows = sizes.out_pixels;
  p.columns = out_group;
  p.depth = sizes.taps * in_group;
  Requantisation how;
  for (int64_t o = 0; o < g.out_channels; ++o) {
    int64_t sum = 0, magnitude = 0;
    for (int64_t i = o * p.depth; i < (o + 1) * p.depth; ++i) {
      sum += weights.codes[static_cast<size_t>(i)];
      magnitude += std::abs(weights.codes[static_cast<size_t>(i)]);
    }
    const double factor = x.scale * weights.ScaleOf(o);
    how.factors.push_back(factor);
    how.offsets.push_back(-factor * x.zero * static_cast<double>(sum));
    how.greatest.push_back(std::max<int64_t>(1, magnitude * Largest(x)));
  }
  std::vector<const Value*> biases = group.bias;
  if (const Value* bias = node.operand(2); bias != nullptr) {
    if (!bias->is_constant() || bias->element() != ElementType::kFloat32)
      return ToHost("a bias that is no constant");
    biases.push_back(bias);
  }
  if (!g.nhwc && !group.bias.empty()) return ToHost("a bias along the last axis of an image");
  KILN_RETURN_IF_ERROR(AddBias(biases, &how.offsets));
  const bool last = g.nhwc;
  const int64_t channels = g.in_channels, out_channels = g.out_channels, taps = sizes.taps;
  how.channel = [last, out_channels, pixels = sizes.out_pixels](int64_t e) {
    return last ? e % out_channels : e / pixels;
  };
  how.channel_text = ChannelText("e", last, sizes.out_pixels, out_channels);
  MachineKernel kernel;
  p.a = AddValue(*node.operand(0), &kernel);
  p.a_zero = x.zero;
  p.a_at = [last, axes = g.axes, sizes, channels, in_group](int64_t group_index, int64_t m,
                                                            int64_t k) {
    const int64_t pixel = PixelOf(axes, m, k / in_group);
    if (pixel < 0) return pixel;
    return ElementOf(last, sizes.in_pixels, channels, pixel, group_index * in_group + k % in_group);
  };
  const std::string tap = DigitText("k", in_group, taps, taps);
  p.a_text = WindowText(g.axes, last, "m", tap == "0" ? tap : "tap",
                        SumText(g.groups > 1 ? ProductText("g", in_group) : "0",
                                DigitText("k", 1, in_group, p.depth)));
  if (tap != "0") p.a_text.names.emplace(p.a_text.names.begin(), "tap", tap);
  p.b = static_cast<int>(kernel.buffers.size());
  const int64_t depth = p.depth;
  p.b_at = [out_group, in_group, taps, depth](int64_t group_index, int64_t k, int64_t n) {
    return (group_index * out_group + n) * depth + k % in_group * taps + k / in_group;
  };
  const std::string channel = SumText(g.groups > 1 ? ProductText("g", out_group) : "0", "n");
  p.b_text.names = {{"channel", channel}};
  p.b_text.position = {
      SumText(ProductText("channel", depth),
              SumText(ProductText(DigitText("k", 1, in_group, depth), taps), tap))};
  kernel.buffers.push_back(
      {.constants = std::move(weights.codes),
       .name = fmt::format("codes of `{}`", hardware::SampleName(node.operand(1)->name())),
       .size = g.out_channels * p.depth});
  p.sum_text.names = {{"channel", channel}};
  p.sum_text.position = {last ? SumText(ProductText("m", out_channels), "channel")
                              : SumText(ProductText("channel", sizes.out_pixels), "m")};
  p.sum_at = [last, sizes, out_channels, out_group](int64_t group_index, int64_t m, int64_t n) {
    return ElementOf(last, sizes.out_pixels, out_channels, m, group_index * out_group + n);
  };
  std::string text = "conv ";
  for (size_t a = 0; a < g.axes.size(); ++a)
    text += fmt::format("{}{}", a == 0 ? "" : "x", g.axes[a].kernel);
  text += fmt::format(" {}->{}", g.in_channels, g.out_channels);
  if (g.groups > 1) text += fmt::format(" in {} groups", g.groups);
  for (size_t n = 1; n < group.nodes.size(); ++n)
    text += fmt::format(" + {}", group.nodes[n]->info().text);
  return FinishProducts(group, p, std::move(how), std::move(kernel), std::move(text));
}

Status Lowering::EmitProduct(const Group& group) {
  const Node& node = *group.anchor;
  const Value &a = *node.operand(0), &b = *node.operand(1);
  const int rank_a = a.shape().rank(), rank_b = b.shape().rank();
  if (rank_a < 2 || rank_b < 2) return ToHost("a product with a vector");
  if (node.attributes().Int("transpose_a", 0) != 0)
    return ToHost("a product with its first operand transposed");
  const bool transposed = node.attributes().Int("transpose_b", 0) != 0;
  KILN_ASSIGN_OR_RETURN(const ValueCodes x, CodesOf(a));
  SumOfProducts p;
  p.rows = a.shape()[rank_a - 2];
  p.depth = a.shape()[rank_a - 1];
  p.columns = b.shape()[transposed ? rank_b - 2 : rank_b - 1];
  const Shape& shape = group.result->shape();
  p.groups = shape.NumElements() / (p.rows * p.columns);
  const double alpha = node.attributes().Float("alpha", 1.0f);
  MachineKernel kernel;
  p.a = AddValue(a, &kernel);
  p.a_zero = x.zero;
  Requantisation how;
  if (b.is_constant()) {
    KILN_ASSIGN_OR_RETURN(WeightCodes weights, WeightsOf(b, transposed ? rank_b - 2 : rank_b - 1));
    if (b.shape().NumElements() != p.depth * p.columns)
      return ToHost("weights with several batches");
    for (int64_t n = 0; n < p.columns; ++n) {
      int64_t sum = 0, magnitude = 0;
      for (int64_t k = 0; k < p.depth; ++k) {
        const int32_t w =
            weights.codes[static_cast<size_t>(transposed ? n * p.depth + k : k * p.columns + n)];
        sum += w;
        magnitude += std::abs(w);
      }
      const double factor = x.scale * weights.ScaleOf(n) * alpha;
      how.factors.push_back(factor);
      how.offsets.push_back(-factor * x.zero * static_cast<double>(sum));
      how.greatest.push_back(std::max<int64_t>(1, magnitude * Largest(x)));
    }
    how.channel = [columns = p.columns](int64_t e) { return e % columns; };
    how.channel_text = DigitText("e", 1, p.columns, shape.NumElements());
    KILN_RETURN_IF_ERROR(AddBias(group.bias, &how.offsets));
    p.b = static_cast<int>(kernel.buffers.size());
    kernel.buffers.push_back({.constants = std::move(weights.codes),
                              .name = fmt::format("codes of `{}`", hardware::SampleName(b.name())),
                              .size = b.shape().NumElements()});
  } else {
    KILN_ASSIGN_OR_RETURN(const ValueCodes y, CodesOf(b));
    p.a_centre = x.zero;
    p.b_centre = p.b_zero = y.zero;
    const int64_t reach_a = Largest(x) + std::abs(x.zero), reach_b = Largest(y) + std::abs(y.zero);
    const auto columns = static_cast<size_t>(group.bias.empty() ? 1 : p.columns);
    how.factors.assign(columns, x.scale * y.scale * alpha);
    how.offsets.assign(columns, 0.0);
    how.greatest.assign(columns, std::max<int64_t>(1, reach_a * reach_b * p.depth));
    how.channel = [columns = static_cast<int64_t>(columns)](int64_t e) { return e % columns; };
    how.channel_text = DigitText("e", 1, static_cast<int64_t>(columns), shape.NumElements());
    KILN_RETURN_IF_ERROR(AddBias(group.bias, &how.offsets));
    p.b = AddValue(b, &kernel);
  }
  // Batches are broadcast: where an operand has only one, every group reads it.
  const auto batch_of = [&](const Value& value) {
    std::vector<int64_t> dims = value.shape().dims(), batch = shape.dims();
    dims.resize(dims.size() - 2);
    batch.resize(batch.size() - 2);
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    Tensor numbers(ElementType::kInt64, Shape(dims));
    for (int64_t i = 0; i < count; ++i) numbers.data<int64_t>()[static_cast<size_t>(i)] = i;
    const StridedView view = Broadcast(RowMajorView(dims), batch);
    StridedView matrices = view;
    for (int64_t& stride : matrices.strides) stride *= value.shape().NumElements() / count;
    return Batches{Gather(numbers, view), p.groups > 1 ? PositionText("g", matrices) : "0"};
  };
  const Batches batch_a = batch_of(a), batch_b = batch_of(b);
  const int64_t rows = p.rows, depth = p.depth, columns = p.columns;
  p.a_at = [batch = batch_a.numbers, rows, depth](int64_t g, int64_t m, int64_t k) {
    return (batch.data<int64_t>()[static_cast<size_t>(g)] * rows + m) * depth + k;
  };
  p.a_text.position = {SumText(batch_a.text, SumText(ProductText("m", depth), "k"))};
  p.b_at = [batch = batch_b.numbers, depth, columns, transposed](int64_t g, int64_t k, int64_t n) {
    const int64_t first = batch.data<int64_t>()[static_cast<size_t>(g)] * depth * columns;
    return first + (transposed ? n * depth + k : k * columns + n);
  };
  p.b_text.position = {SumText(batch_b.text, transposed ? SumText(ProductText("n", depth), "k")
                                                        : SumText(ProductText("k", columns), "n"))};
  p.sum_at = [rows, columns](int64_t g, int64_t m, int64_t n) {
    return (g * rows + m) * columns + n;
  };
  p.sum_text.position = {SumText(p.groups > 1 ? ProductText("g", rows * columns) : "0",
                                 SumText(ProductText("m", columns), "n"))};
  std::string text = fmt::format("{}x{} * {}x{}", p.rows, p.depth, p.depth, p.columns);
  if (p.groups > 1) text += fmt::format(" in {} batches", p.groups);
  for (size_t n = 1; n < group.nodes.size(); ++n)
    text += fmt::format(" + {}", group.nodes[n]->info().text);
  return FinishProducts(group, p, std::move(how), std::move(kernel), std::move(text));
}

Status Lowering::EmitPool(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(const PoolGeometry g, ResolvePool(node, graph_.source()));
  if (g.batch != 1) return ToHost("a pool of several images");
  KILN_ASSIGN_OR_RETURN(const ValueCodes x, CodesOf(*node.operand(0)));
  const Windows sizes = SizesOf(g.axes);
  const bool last = g.nhwc;
  const int64_t channels = g.channels, pixels = sizes.out_pixels;
  Reduction p;
  p.maximum = node.op() == kiln::Op::kMaxPool || node.op() == kiln::Op::kGlobalMaxPool;
  p.outputs = pixels * channels;
  p.depth = sizes.taps;
  p.otherwise = p.maximum ? x.low : x.zero;
  p.at = [last, channels, pixels, axes = g.axes, sizes](int64_t output, int64_t k) {
    const int64_t channel = last ? output % channels : output / pixels;
    const int64_t pixel = PixelOf(axes, last ? output / channels : output % pixels, k);
    return pixel < 0 ? pixel : ElementOf(last, sizes.in_pixels, channels, pixel, channel);
  };
  p.text = WindowText(g.axes, last,
                      last ? DigitText("output", channels, pixels, pixels)
                           : DigitText("output", 1, pixels, p.outputs),
                      "k", ChannelText("output", last, pixels, channels));
  MachineKernel kernel;
  p.input = AddValue(*node.operand(0), &kernel);
  Requantisation how;
  how.channel_text = "0";
  if (p.maximum) {
    how.factors = {x.scale};
    how.offsets = {-x.scale * x.zero};
    how.greatest = {Largest(x)};
    how.channel = [](int64_t) { return 0; };
  } else {
    // Windows at borders may have fewer elements to divide by.
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      int64_t count = 0;
      for (int64_t tap = 0; tap < sizes.taps; ++tap)
        count += PixelOf(g.axes, pixel, tap) >= 0 ? 1 : 0;
      if (g.count_include_pad) {
        // Positions beyond the padding, which ceil_mode may add, do not count.
        count = 1;
        int64_t at = pixel;
        for (size_t a = g.axes.size(); a-- > 0;) {
          const WindowAxis& axis = g.axes[a];
          int64_t inside = 0;
          for (int64_t k = 0; k < axis.kernel; ++k)
            inside += axis.InputPosition(at % axis.output, k) < axis.input + axis.pad_end ? 1 : 0;
          count *= inside;
          at /= axis.output;
        }
      }
      const double factor = x.scale / static_cast<double>(std::max<int64_t>(count, 1));
      how.factors.push_back(factor);
      how.offsets.push_back(-factor * static_cast<double>(sizes.taps * x.zero));
      how.greatest.push_back(sizes.taps * Largest(x));
    }
    how.channel = [last, channels, pixels](int64_t e) { return last ? e / channels : e % pixels; };
    how.channel_text = last ? DigitText("e", channels, pixels, pixels)
                            : DigitText("e", 1, pixels, pixels * channels);
  }
  return FinishReduction(group, p, std::move(how), std::move(kernel), OperatorsOf(group.nodes));
}

Status Lowering::EmitReduction(const Group& group) {
  const Node& node = *group.anchor;
  const Value& input = *node.operand(0);
  KILN_ASSIGN_OR_RETURN(const ValueCodes x, CodesOf(input));
  const Shape& shape = input.shape();
  const int rank = shape.rank();
  std::vector<bool> reduced(static_cast<size_t>(rank), node.operand(1) == nullptr);
  if (node.operand(1) != nullptr) {
    const auto axes = ConstantInts(node.operand(1));
    if (!axes.has_value()) return ToHost("axes that are known only at run time");
    if (axes->empty() && node.attributes().Int("noop_with_empty_axes", 0) == 0)
      reduced.assign(static_cast<size_t>(rank), true);
    for (const int64_t axis : *axes) {
      const auto normal = NormaliseAxis(axis, rank);
      if (!normal.has_value()) return ToHost("axes that are out of range");
      reduced[static_cast<size_t>(*normal)] = true;
    }
  }
  // Axes that stay, then axes that are reduced, as a view of the input.
  std::vector<int64_t> perm;
  Reduction p;
  for (const bool gone : {false, true}) {
    for (int i = 0; i < rank; ++i) {
      if (reduced[static_cast<size_t>(i)] != gone) continue;
      perm.push_back(i);
      (gone ? p.depth : p.outputs) *= shape[i];
    }
  }
  Tensor numbers(ElementType::kInt64, shape);
  for (int64_t i = 0; i < numbers.size(); ++i) numbers.data<int64_t>()[static_cast<size_t>(i)] = i;
  const StridedView view = Transposed(RowMajorView(shape.dims()), perm);
  const Tensor ordered = Gather(numbers, view);
  p.maximum = node.op() == kiln::Op::kReduceMax;
  p.minimum = node.op() == kiln::Op::kReduceMin;
  p.otherwise = p.maximum ? x.low : p.minimum ? x.high : x.zero;
  p.at = [ordered, depth = p.depth](int64_t output, int64_t k) {
    return ordered.data<int64_t>()[static_cast<size_t>(output * depth + k)];
  };
  // The axes that stay, and those that are reduced.
  StridedView stays, gone;
  for (size_t i = 0; i < perm.size(); ++i) {
    StridedView& part = reduced[static_cast<size_t>(perm[i])] ? gone : stays;
    part.shape.push_back(view.shape[i]);
    part.strides.push_back(view.strides[i]);
  }
  p.text.position = {SumText(PositionText("output", stays), PositionText("k", gone))};
  MachineKernel kernel;
  p.input = AddValue(input, &kernel);
  const bool extremum = p.maximum || p.minimum;
  const int64_t terms = extremum ? 1 : p.depth;
  const double factor =
      node.op() == kiln::Op::kReduceMean ? x.scale / static_cast<double>(p.depth) : x.scale;
  Requantisation how;
  how.factors = {factor};
  how.offsets = {-factor * static_cast<double>(terms * x.zero)};
  how.greatest = {terms * Largest(x)};
  how.channel = [](int64_t) { return 0; };
  how.channel_text = "0";
  return FinishReduction(group, p, std::move(how), std::move(kernel), OperatorsOf(group.nodes));
}

}  // namespace kiln::cgra
