// Fast fp32 convolutions on fp32_gemm.h. For both layouts a sum runs over input channels first,
// then over kernel positions, so both give the same bits.
//
// NCHW: lanes are output positions; weights are broadcast and read in place. The input is copied
// once into planes that include its padding, one plane per phase of the strides: within a phase,
// the inputs of neighbouring outputs are neighbours for every kernel position. Output rows follow
// each other at the pitch of a plane's rows, so some sums between two rows belong to no output and
// are dropped.
//
// NHWC: lanes are output channels; pixels are broadcast, and the input is copied only if it has
// padding. In a depthwise convolution, lanes are channels.
#include <algorithm>
#include <array>
#include <utility>

#include "kiln/execute/fp32_gemm.h"
#include "kiln/execute/reference_fast_nodes.h"
#include "kiln/ir/checked_math.h"

namespace kiln::reference {
namespace {

using Extents = std::array<int64_t, 3>;

int64_t Volume(const Extents& e) { return e[0] * e[1] * e[2]; }
// Returns the row-major index of position `at`.
int64_t IndexIn(const Extents& extents, const Extents& at) {
  return (at[0] * extents[1] + at[1]) * extents[2] + at[2];
}

// Calls body(position) for each position inside the extents, in row-major order.
template <typename Body>
void ForEachPosition(const Extents& extents, const Body& body) {
  Extents at;
  for (at[0] = 0; at[0] < extents[0]; ++at[0]) {
    for (at[1] = 0; at[1] < extents[1]; ++at[1]) {
      for (at[2] = 0; at[2] < extents[2]; ++at[2]) body(at);
    }
  }
}

// Returns the phases (position modulo stride) that kernel positions meet. A kernel of 1 with stride
// 2 meets only phase 0.
// With stride 2 and a kernel of 3, positions 0 and 2 read phase 0 (the even inputs) at offsets 0
// and 1, and position 1 reads phase 1 (the odd inputs) at offset 0.
std::vector<int64_t> PhasesOf(const WindowAxis& axis) {
  std::vector<int64_t> phases;
  for (int64_t k = 0; k < axis.kernel; ++k) phases.push_back(k * axis.dilation % axis.stride);
  std::sort(phases.begin(), phases.end());
  phases.erase(std::unique(phases.begin(), phases.end()), phases.end());
  return phases;
}

// A convolution with three spatial axes; missing leading axes have length 1.
struct Convolution {
  explicit Convolution(const ConvGeometry& geometry) : g(geometry) {
    for (int d = 0; d < 3; ++d) {
      const int axis = d - (3 - g.rank());
      if (axis >= 0) axes[static_cast<size_t>(d)] = g.axes[static_cast<size_t>(axis)];
    }
    for (size_t d = 0; d < 3; ++d) {
      if (static_cast<int>(d) < 3 - g.rank()) axes[d].input = axes[d].output = 1;
      input[d] = axes[d].input;
      output[d] = axes[d].output;
      kernel[d] = axes[d].kernel;
      padded[d] = (output[d] - 1) * axes[d].stride + axes[d].Extent();
      has_padding |= axes[d].pad_begin != 0 || padded[d] > input[d];
    }
    in_group = g.in_channels / g.groups;
    out_group = g.out_channels / g.groups;
    depth = in_group * Volume(kernel);
  }
  // Returns the input offset of kernel position k relative to kernel position 0.
  Extents Reach(const Extents& k) const {
    return {k[0] * axes[0].dilation, k[1] * axes[1].dilation, k[2] * axes[2].dilation};
  }

  ConvGeometry g;
  std::array<WindowAxis, 3> axes;
  Extents input{}, output{}, kernel{};
  Extents padded{};  // inputs that the windows cover, including padding
  bool has_padding = false;
  int64_t in_group = 0, out_group = 0, depth = 0;
};

// Calls body on the range [0, count), in several threads or in the calling one.
void RunOver(int64_t count, bool parallel, const std::function<void(int64_t, int64_t)>& body) {
  if (parallel) {
    ParallelFor(count, 1, body);
  } else {
    body(0, count);
  }
}

// A convolution in NCHW layout.
class NchwConvolution : public FastNode {
 public:
  NchwConvolution(const Convolution& c, const PostOperations& post)
      : c_(c), post_(post), kernels_(Fp32KernelsOfProcessor()) {
    for (size_t d = 0; d < 3; ++d) {
      phases_[d] = PhasesOf(c_.axes[d]);
      pitch_[d] = CeilDivide(c_.padded[d], c_.axes[d].stride);
    }
    phase_plane_ = Volume(pitch_);
    plane_ = phase_plane_ *
             static_cast<int64_t>(phases_[0].size() * phases_[1].size() * phases_[2].size());
    // Makes a plane an odd number of cache lines, so that the same position in different channels
    // maps to different cache sets.
    plane_ = RoundUp(plane_, 16);
    if (plane_ / 16 % 2 == 0) plane_ += 16;
    for (int64_t channel = 0; channel < c_.in_group; ++channel) {
      ForEachPosition(
          c_.kernel, [&](const Extents& k) { b_depth_.push_back(channel * plane_ + OffsetOf(k)); });
    }
    for (int64_t k = 0; k < c_.depth; ++k) a_depth_.push_back(k);
    for (int64_t r = 0; r < c_.out_group; ++r) rows_.push_back(r * c_.depth);
    // Collects the stretches of sums that are outputs. Rows whose sums follow each other without a
    // gap become one stretch.
    ForEachPosition({c_.output[0], c_.output[1], 1}, [&](const Extents& at) {
      // Sums have the pitch of a phase plane, outputs are dense.
      const int64_t sum = IndexIn(pitch_, at), out = IndexIn(c_.output, at);
      if (!runs_.empty() && runs_.back().sum + runs_.back().length == sum) {
        runs_.back().length += c_.output[2];
      } else {
        runs_.push_back({sum, out, c_.output[2]});
      }
    });
  }

  Status Run(std::span<const float* const> operands, const float* residual, float* result,
             bool parallel) const override {
    const int64_t slack =
        kernels_.columns;  // the last panel is read in full, beyond the last plane
    const auto elements = static_cast<size_t>(c_.g.in_channels * plane_ + slack);
    KILN_ASSIGN_OR_RETURN(const std::shared_ptr<void> bytes,
                          AllocateBuffer(elements * sizeof(float)));
    auto* planes = static_cast<float*>(bytes.get());
    std::fill_n(planes + c_.g.in_channels * plane_, slack, 0.0f);
    const float* bias = operands.size() > 2 ? operands[2] : nullptr;
    const int64_t outputs = Volume(c_.output);
    for (int64_t image = 0; image < c_.g.batch; ++image) {
      const float* x = operands[0] + image * c_.g.in_channels * Volume(c_.input);
      RunOver(c_.g.in_channels, parallel, [&](int64_t begin, int64_t end) {
        for (int64_t channel = begin; channel < end; ++channel) {
          CopyPlane(x + channel * Volume(c_.input), planes + channel * plane_);
        }
      });
      const int64_t base = image * c_.g.out_channels * outputs;
      // With several groups, each group is one parallel job; with one, its product runs in
      // parallel.
      RunOver(c_.g.groups, parallel && c_.g.groups > 1, [&](int64_t begin, int64_t end) {
        for (int64_t group = begin; group < end; ++group) {
          MultiplyGroup(group, operands[1], planes, bias,
                        residual != nullptr ? residual + base : nullptr, result + base,
                        parallel && c_.g.groups == 1);
        }
      });
    }
    return OkStatus();
  }

 private:
  // Sums [sum, sum + length) are outputs [out, out + length) of a channel.
  struct Row {
    int64_t sum, out, length;
  };

  // Returns the index, within a channel's planes, of the input that output 0 reads at kernel
  // position k.
  int64_t OffsetOf(const Extents& k) const {
    const Extents reach = c_.Reach(k);
    int64_t phase = 0;
    Extents at;
    for (size_t d = 0; d < 3; ++d) {
      const int64_t stride = c_.axes[d].stride;
      const auto place = std::find(phases_[d].begin(), phases_[d].end(), reach[d] % stride);
      phase = phase * static_cast<int64_t>(phases_[d].size()) + (place - phases_[d].begin());
      at[d] = reach[d] / stride;
    }
    return phase * phase_plane_ + IndexIn(pitch_, at);
  }

  // Copies one channel of the input into its phase planes, with padding.
  void CopyPlane(const float* x, float* to) const {
    float* const begin = to;
    for (const int64_t p0 : phases_[0]) {
      for (const int64_t p1 : phases_[1]) {
        for (const int64_t p2 : phases_[2]) {
          ForEachPosition({pitch_[0], pitch_[1], 1}, [&](const Extents& at) {
            const int64_t i0 = c_.axes[0].InputPosition(at[0], 0) + p0,
                          i1 = c_.axes[1].InputPosition(at[1], 0) + p1;
            if (i0 < 0 || i0 >= c_.input[0] || i1 < 0 || i1 >= c_.input[1]) {
              std::fill_n(to, pitch_[2], 0.0f);
            } else {
              CopyRow(x + (i0 * c_.input[1] + i1) * c_.input[2],
                      c_.axes[2].InputPosition(0, 0) + p2, to);
            }
            to += pitch_[2];
          });
        }
      }
    }
    std::fill(to, begin + plane_, 0.0f);
  }
  // Copies every stride-th input from position `first` on; positions outside the input become zero.
  void CopyRow(const float* x, int64_t first, float* to) const {
    const int64_t stride = c_.axes[2].stride, length = pitch_[2];
    const int64_t begin =
        std::clamp<int64_t>(CeilDivide(std::max<int64_t>(-first, 0), stride), 0, length);
    const int64_t end = std::clamp<int64_t>(
        CeilDivide(std::max<int64_t>(c_.input[2] - first, 0), stride), begin, length);
    std::fill_n(to, begin, 0.0f);
    if (stride == 1) {
      std::copy_n(x + first + begin, end - begin, to + begin);
    } else {
      for (int64_t i = begin; i < end; ++i) to[i] = x[first + i * stride];
    }
    std::fill_n(to + end, length - end, 0.0f);
  }

  // Multiplies one group of channels and applies the epilogue to the sums that are outputs.
  void MultiplyGroup(int64_t group, const float* weights, const float* planes, const float* bias,
                     const float* residual, float* result, bool parallel) const {
    Fp32Product product;
    product.rows = c_.out_group;
    product.columns = runs_.back().sum + runs_.back().length;
    product.a = weights + group * c_.out_group * c_.depth;
    product.a_rows = rows_;
    product.a_depth = a_depth_;
    product.b = planes + group * c_.in_group * plane_;
    product.b_depth = b_depth_;
    product.panel_stride = kernels_.columns;
    const int64_t outputs = Volume(c_.output);
    MultiplyFp32(kernels_, product, parallel,
                 [&](int64_t row, int64_t column, int64_t count, const float* sums) {
                   const int64_t channel = group * c_.out_group + row;
                   internal::Fp32Finish finish = FinishOf(post_, 1);
                   finish.row_bias = bias != nullptr ? bias + channel : nullptr;
                   // Finds the first stretch of outputs that overlaps these sums, then finishes
                   // each overlap.
                   auto run = std::upper_bound(
                       runs_.begin(), runs_.end(), column,
                       [](int64_t at, const Row& r) { return at < r.sum + r.length; });
                   for (; run != runs_.end() && run->sum < column + count; ++run) {
                     const int64_t begin = std::max(run->sum, column),
                                   end = std::min(run->sum + run->length, column + count);
                     const int64_t at = channel * outputs + run->out + begin - run->sum;
                     finish.count = end - begin;
                     finish.sums = sums + begin - column;
                     finish.residual = residual != nullptr ? residual + at : nullptr;
                     finish.out = result + at;
                     kernels_.finish(finish);
                   }
                 });
  }

  const Convolution c_;
  const PostOperations post_;
  const internal::Fp32Kernels& kernels_;
  std::array<std::vector<int64_t>, 3> phases_;
  Extents pitch_{};  // extents of one phase plane
  int64_t phase_plane_ = 0,
          plane_ = 0;  // elements of one phase plane, and of a channel with all its phases
  std::vector<int64_t> rows_, a_depth_, b_depth_;
  std::vector<Row> runs_;
};

// A convolution in NHWC layout.
class NhwcConvolution : public FastNode {
 public:
  NhwcConvolution(const Convolution& c, const PostOperations& post, const Value* weights,
                  WeightCache& cache)
      : c_(c), post_(post), kernels_(Fp32KernelsOfProcessor()) {
    is_depthwise_ = c_.g.groups > 1 && c_.in_group == 1 && c_.out_group == 1;
    // Offsets refer to the padded copy if there is one, otherwise to the input itself.
    const Extents& held = c_.has_padding ? c_.padded : c_.input;
    const int64_t channels = c_.g.in_channels;
    for (int64_t channel = 0; channel < c_.in_group; ++channel) {
      ForEachPosition(c_.kernel, [&](const Extents& k) {
        a_depth_.push_back(IndexIn(held, c_.Reach(k)) * channels + channel);
        b_depth_.push_back(static_cast<int64_t>(b_depth_.size()) * kernels_.columns);
      });
    }
    ForEachPosition(c_.output, [&](const Extents& at) {
      const Extents from{at[0] * c_.axes[0].stride, at[1] * c_.axes[1].stride,
                         at[2] * c_.axes[2].stride};
      rows_.push_back(IndexIn(held, from) * channels);
    });
    // Panels of one group; groups follow each other.
    group_panels_ = PackedSize(c_.depth, c_.out_group, kernels_.columns);
    // Constant weights are packed once per executor.
    if (weights->is_constant()) {
      packed_ = cache.Get(*weights, {c_.g.groups, is_depthwise_ ? 1 : 0}, PackedElements(),
                          [&](float* to) { Pack(weights->constant().data<float>().data(), to); });
    }
  }

  Status Run(std::span<const float* const> operands, const float* residual, float* result,
             bool parallel) const override {
    std::shared_ptr<void> own, bytes;
    if (packed_ == nullptr) {
      KILN_ASSIGN_OR_RETURN(own, AllocateBuffer(PackedElements() * sizeof(float)));
      Pack(operands[1], static_cast<float*>(own.get()));
    }
    const float* panels = packed_ != nullptr ? packed_.get() : static_cast<const float*>(own.get());
    const int64_t pixels = Volume(c_.output), channels = c_.g.out_channels;
    if (c_.has_padding) {
      const auto elements = static_cast<size_t>(Volume(c_.padded) * c_.g.in_channels);
      KILN_ASSIGN_OR_RETURN(bytes, AllocateBuffer(elements * sizeof(float)));
    }
    for (int64_t image = 0; image < c_.g.batch; ++image) {
      const float* x = operands[0] + image * Volume(c_.input) * c_.g.in_channels;
      if (c_.has_padding) {
        Pad(x, static_cast<float*>(bytes.get()));
        x = static_cast<const float*>(bytes.get());
      }
      const int64_t base = image * pixels * channels;
      const Output output{operands.size() > 2 ? operands[2] : nullptr,
                          residual != nullptr ? residual + base : nullptr, result + base};
      if (is_depthwise_) {
        RunDepthwise(x, panels, output, parallel);
      } else {
        for (int64_t group = 0; group < c_.g.groups; ++group)
          MultiplyGroup(group, x, panels, output, parallel);
      }
    }
    return OkStatus();
  }

 private:
  // The operands of the epilogue of one image.
  struct Output {
    const float* bias;
    const float* residual;
    float* result;
  };

  size_t PackedElements() const {
    return static_cast<size_t>(is_depthwise_ ? c_.depth * c_.g.out_channels
                                             : c_.g.groups * group_panels_);
  }
  // Packs weights [out channel][in channel][kernel position]: for depthwise as [kernel position]
  // [channel], otherwise as panels of output channels, group by group.
  void Pack(const float* weights, float* to) const {
    if (is_depthwise_) {  // [kernel position][channel]
      for (int64_t channel = 0; channel < c_.g.out_channels; ++channel) {
        for (int64_t k = 0; k < c_.depth; ++k)
          to[k * c_.g.out_channels + channel] = weights[channel * c_.depth + k];
      }
      return;
    }
    for (int64_t group = 0; group < c_.g.groups; ++group) {
      PackColumns(weights + group * c_.out_group * c_.depth, c_.depth, c_.out_group, 1, c_.depth,
                  kernels_.columns, to + group * group_panels_);
    }
  }

  // Copies one image with zeros around it.
  void Pad(const float* x, float* to) const {
    const int64_t channels = c_.g.in_channels, row = c_.padded[2] * channels;
    const int64_t left = std::min(c_.axes[2].pad_begin, c_.padded[2]);
    const int64_t inside = std::max<int64_t>(0, std::min(c_.input[2], c_.padded[2] - left));
    ForEachPosition({c_.padded[0], c_.padded[1], 1}, [&](const Extents& at) {
      const int64_t i0 = at[0] - c_.axes[0].pad_begin, i1 = at[1] - c_.axes[1].pad_begin;
      if (i0 < 0 || i0 >= c_.input[0] || i1 < 0 || i1 >= c_.input[1]) {
        std::fill_n(to, row, 0.0f);
      } else {
        std::fill_n(to, left * channels, 0.0f);
        std::copy_n(x + (i0 * c_.input[1] + i1) * c_.input[2] * channels, inside * channels,
                    to + left * channels);
        std::fill_n(to + (left + inside) * channels, row - (left + inside) * channels, 0.0f);
      }
      to += row;
    });
  }

  // Applies the epilogue to `count` channels of one pixel, starting at `channel`.
  void Finish(const float* sums, int64_t pixel, int64_t channel, int64_t count,
              const Output& output) const {
    const int64_t at = pixel * c_.g.out_channels + channel;
    internal::Fp32Finish finish = FinishOf(post_, 1);
    finish.count = count;
    finish.sums = sums;
    finish.column_bias = output.bias != nullptr ? output.bias + channel : nullptr;
    finish.residual = output.residual != nullptr ? output.residual + at : nullptr;
    finish.out = output.result + at;
    kernels_.finish(finish);
  }

  // Multiplies one group: rows are pixels, columns are output channels.
  void MultiplyGroup(int64_t group, const float* x, const float* panels, const Output& output,
                     bool parallel) const {
    Fp32Product product;
    product.rows = Volume(c_.output);
    product.columns = c_.out_group;
    product.a = x + group * c_.in_group;
    product.a_rows = rows_;
    product.a_depth = a_depth_;
    product.b = panels + group * group_panels_;
    product.b_depth = b_depth_;
    product.panel_stride = c_.depth * kernels_.columns;
    MultiplyFp32(kernels_, product, parallel,
                 [&](int64_t pixel, int64_t column, int64_t count, const float* sums) {
                   Finish(sums, pixel, group * c_.out_group + column, count, output);
                 });
  }

  // Runs a depthwise convolution pixel by pixel; one parallel job is about 65536 multiply-adds.
  void RunDepthwise(const float* x, const float* weights, const Output& output,
                    bool parallel) const {
    const auto run = [&](int64_t begin, int64_t end) {
      std::vector<float> sums(static_cast<size_t>(c_.g.out_channels));
      internal::Fp32Depthwise job;
      job.channels = c_.g.out_channels;
      job.depth = c_.depth;
      job.x_depth = a_depth_.data();
      job.w = weights;
      job.out = sums.data();
      for (int64_t pixel = begin; pixel < end; ++pixel) {
        job.x = x + rows_[static_cast<size_t>(pixel)];
        kernels_.depthwise(job);
        Finish(sums.data(), pixel, 0, c_.g.out_channels, output);
      }
    };
    const int64_t pixels = Volume(c_.output);
    if (parallel) {
      ParallelFor(pixels, std::max<int64_t>(1, 65536 / (c_.g.out_channels * c_.depth)), run);
    } else {
      run(0, pixels);
    }
  }

  const Convolution c_;
  const PostOperations post_;
  const internal::Fp32Kernels& kernels_;
  bool is_depthwise_ = false;
  int64_t group_panels_ = 0;
  std::vector<int64_t> rows_, a_depth_, b_depth_;
  // Panels of constant weights; null if weights are not constant.
  std::shared_ptr<const float> packed_;
};

}  // namespace

// The limit is 256 MiB, or 8 times the elements of input and output if that is more.
bool IsWithinBudget(const ConvGeometry& g) {
  constexpr int64_t kAlwaysAllowed = int64_t{1} << 26;  // elements: 256 MiB
  constexpr int64_t kMostSlack = 32;  // elements by which a plane may be rounded up
  int64_t input = g.in_channels, output = g.out_channels, plane = 1;
  for (const WindowAxis& axis : g.axes) {
    const int64_t extent = SaturatingAdd(SaturatingMul(axis.dilation, axis.kernel - 1), 1);
    const int64_t padded = SaturatingAdd(SaturatingMul(axis.output - 1, axis.stride), extent);
    input = SaturatingMul(input, axis.input);
    output = SaturatingMul(output, axis.output);
    // NCHW stores one plane per phase; there are at most this many.
    const int64_t phases = g.nhwc ? 1 : std::min(axis.kernel, axis.stride);
    const int64_t pitch = g.nhwc ? padded : CeilDiv(padded, axis.stride);
    plane = SaturatingMul(plane, SaturatingMul(phases, pitch));
  }
  const int64_t held =
      SaturatingMul(g.in_channels, g.nhwc ? plane : SaturatingAdd(plane, kMostSlack));
  return held <= std::max(kAlwaysAllowed, SaturatingMul(8, SaturatingAdd(input, output)));
}

std::unique_ptr<FastNode> MakeFastConvolution(const Node& node, const ConvGeometry& geometry,
                                              const PostOperations& post, WeightCache& weights) {
  const Convolution convolution(geometry);
  if (!geometry.nhwc) return std::make_unique<NchwConvolution>(convolution, post);
  return std::make_unique<NhwcConvolution>(convolution, post, node.operand(1), weights);
}

}  // namespace kiln::reference
