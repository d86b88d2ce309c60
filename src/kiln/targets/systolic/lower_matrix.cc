// Convolutions and matrix products.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "fmt/format.h"
#include "kiln/ir/checked_math.h"
#include "kiln/ir/window.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/check.h"
#include "kiln/targets/systolic/lower_operands.h"
#include "kiln/targets/systolic/lower_windows.h"
#include "kiln/targets/systolic/lowering.h"
#include "kiln/targets/systolic/numbers.h"
#include "kiln/targets/systolic/schedule.h"
#include "kiln/targets/systolic/timing.h"

namespace kiln::systolic {
namespace {

// A product of `m` rows by constant weights whose input codes of a row lie `k_stride` bytes apart and those of a column
// `m_stride`.
Instruction TrialProduct(const Config& config, int64_t m, int64_t k, int64_t n, int64_t m_stride,
                         int64_t k_stride) {
  Instruction in;
  in.opcode = Opcode::kMatrix;
  Convolution& c = in.convolution;
  c.width = c.out_width = static_cast<int32_t>(m);
  c.out_channels = static_cast<int32_t>(n);
  c.input_column_stride = m_stride;
  if (k_stride == config.input_format.bytes()) {
    c.channels = static_cast<int32_t>(k);
  } else {
    c.height = c.kernel_y = static_cast<int32_t>(k);
    c.input_row_stride = k_stride;
  }
  VectorProgram& v = in.vector;
  v.outer = {1, 1, c.out_width, 1};
  v.length = c.out_channels;
  v.passes.resize(1);
  v.passes[0].source = Source::kAccumulator;
  v.passes[0].to_memory = true;
  v.output.element = Element::kInput;
  v.output.element_stride = config.input_format.bytes();
  v.output.outer_stride = {0, 0, n * v.output.element_stride, 0};
  return in;
}

// Whether a product takes fewer cycles when it reads its rows where they lie, a code a request, than from a copy
// that the vector unit makes before.
bool ReadsInPlace(const Config& config, int64_t m, int64_t k, int64_t n, int64_t m_stride,
                  int64_t k_stride) {
  const int64_t bytes = config.input_format.bytes();
  Instruction copy;
  copy.opcode = Opcode::kVector;
  VectorProgram& v = copy.vector;
  v.outer = {1, 1, static_cast<int32_t>(m), 1};
  v.length = static_cast<int32_t>(k);
  v.operands.resize(1);
  v.operands[0].element = v.output.element = Element::kInput;
  v.operands[0].element_stride = k_stride;
  v.operands[0].outer_stride = {0, 0, m_stride, 0};
  v.output.element_stride = bytes;
  v.output.outer_stride = {0, 0, k * bytes, 0};
  v.passes.resize(1);
  v.passes[0].to_memory = true;
  Scheduler scheduler(config);
  const auto in_place = scheduler.Find(TrialProduct(config, m, k, n, m_stride, k_stride));
  const auto dense = scheduler.Find(TrialProduct(config, m, k, n, k * bytes, bytes));
  if (!in_place.ok() || !dense.ok()) return in_place.ok();
  return in_place->certificate.cost <=
         dense->certificate.cost + static_cast<double>(EstimateCycles(copy, config));
}

// Sum of what stands in front of the chain, per channel of the whole result.
std::vector<float> BiasOf(const Group& group, int64_t channels, const Value* own) {
  std::vector<double> sum(static_cast<size_t>(channels), 0.0);
  const auto add = [&](const Value* value) {
    const auto values = value->constant().data<float>();
    for (size_t c = 0; c < sum.size(); ++c) sum[c] += values[values.size() == 1 ? 0 : c];
  };
  if (own != nullptr) add(own);
  for (const Value* value : group.bias) add(value);
  return {sum.begin(), sum.end()};
}

// fma(accumulator + offset, scale, bias): the zero point of the inputs is taken out with the sum of the weights.
void FillOffsets(const WeightCodes& codes, const Format& format, int64_t batch, int32_t input_zero,
                 ParameterSets* p) {
  if (input_zero == 0) return;  // and always with sums of floats
  for (int64_t n = 0; n < codes.columns; ++n) {
    int64_t sum = 0;
    for (int64_t r = 0; r < codes.rows; ++r) {
      const int64_t at = (batch * codes.rows + r) * codes.columns + n;
      sum += IntegerOperand(format, kiln::LoadCode(format, codes.codes.data(), at));
    }
    p->offsets[static_cast<size_t>(batch * codes.columns + n)] =
        static_cast<int32_t>(-sum * input_zero);
  }
}

View WithoutLastAxis(const View& view) {
  View out = view;
  out.shape.pop_back();
  out.strides.pop_back();
  if (out.blocked()) out.blocks.strides.pop_back();
  return out;
}

std::string Dimensions(int64_t a, int64_t b) { return fmt::format("{}x{}", a, b); }

// The sizes of a convolution's instruction. Grouped: one group is a batch, the graph's own batch is left out.
Convolution SizesOf(const ConvGeometry& g, bool grouped) {
  const int64_t together = grouped ? g.groups : 1;
  return ConvolutionOver(g.axes[0], g.axes[1], grouped ? g.groups : g.batch,
                         g.in_channels / together, g.out_channels / together);
}

// Weights from [out][in / groups][kh][kw] to [groups][ky, kx, c][n]; depthwise to [ky, kx][c].
std::shared_ptr<const WeightCodes> CodesOfConvolution(const ConstantWeights& weights,
                                                      const ConvGeometry& g, bool depthwise) {
  const int64_t taps = g.KernelElements();
  const int64_t cin = g.in_channels / g.groups, cout = g.out_channels / g.groups;
  if (depthwise) {
    return weights.Codes(
        1, taps, 1, g.out_channels,
        [=](int64_t, int64_t tap, int64_t, int64_t column) { return column * taps + tap; });
  }
  return weights.Codes(g.groups, taps, cin, cout,
                       [=](int64_t group, int64_t tap, int64_t channel, int64_t column) {
                         return ((group * cout + column) * cin + channel) * taps + tap;
                       });
}

// Block scales of the input of a matrix instruction: the axes that batch, rows and columns of pixels walk.
OperandScales InputScales(const View& input, int64_t batch_stride, int64_t row_stride,
                          int64_t column_stride) {
  OperandScales scales;
  if (!input.blocked()) return scales;
  scales.present = true;
  scales.batch_stride = batch_stride;
  scales.row_stride = row_stride;
  scales.column_stride = column_stride;
  return scales;
}

// `why_groups`: for a depthwise one that runs as groups.
std::string DescribeConvolution(const ConvGeometry& g, bool depthwise,
                                const std::string& why_groups) {
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  std::string text =
      fmt::format("{} {} {}->{} /{}", depthwise ? "depthwise" : "conv",
                  Dimensions(y.kernel, x.kernel), g.in_channels, g.out_channels, y.stride);
  if (y.stride != x.stride) text += fmt::format(",{}", x.stride);
  if (g.groups > 1 && !depthwise) text += fmt::format(" in {} groups{}", g.groups, why_groups);
  return text + fmt::format(" @{}", Dimensions(y.output, x.output));
}

}  // namespace

StatusOr<Kernel> Lowering::EmitMatrix(const Group& group) {
  return group.anchor->op() == Op::kConv ? EmitConvolution(group) : EmitProduct(group);
}

StatusOr<Kernel> Lowering::EmitConvolution(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(const ConvGeometry g, ResolveConv(node, graph_.source()));
  if (g.rank() != 2) return ToHost(fmt::format("a convolution over {} axes", g.rank()));
  const Value* weight = node.operand(1);
  const Value* bias = node.operand(2);
  if (!weight->is_constant()) return ToHost("the convolution's weights are not constant");
  if (bias != nullptr && (!bias->is_constant() || bias->element() != ElementType::kFloat32)) {
    return ToHost("the convolution's bias is not a constant in fp32");
  }
  KILN_ASSIGN_OR_RETURN(View input, ViewOf(node.operand(0)));
  const auto takes = [&](const Config& at) -> Status {
    KILN_RETURN_IF_ERROR(CheckOperand(input.encoding, Side::kInput, at, "activations"));
    return ConstantWeights::Read(*weight, 1, at).status();
  };
  KILN_ASSIGN_OR_RETURN(const int precision, FindPrecision(config_, takes));
  const Config at = AtPrecision(config_, precision);
  KILN_ASSIGN_OR_RETURN(const ConstantWeights weights, ConstantWeights::Read(*weight, 1, at));
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  if (!FitsCounts(y) || !FitsCounts(x) ||
      !FitsCounts({g.batch, g.in_channels, g.out_channels, SaturatingMul(y.kernel, x.kernel),
                   SaturatingMul(y.kernel, y.output), SaturatingMul(x.kernel, x.output)})) {
    return ToHost("the convolution is larger than the machine counts");
  }

  const std::vector<int64_t> to_nhwc = NhwcFrom(g.nhwc);
  input = Transposed(input, to_nhwc);
  const View result = Transposed(ResultView(group.result), to_nhwc);

  const int64_t groups = g.groups;
  const int64_t cin = g.in_channels / groups, cout = g.out_channels / groups;
  const int64_t taps = g.KernelElements();
  if (weights.per_channel() && weights.channel_stride() != cin * taps) {
    return ToHost("weights have scales along something else than output channels");
  }
  // One output position must fit the buffers; what is too large for the depthwise unit, or in formats that it does not
  // have, may still run as groups.
  Instruction trial;
  trial.opcode = Opcode::kDepthwise;
  trial.convolution = SizesOf(g, false);
  const bool blocks = input.blocked() || weights.blocked();
  const bool one_each = groups > 1 && cin == 1 && cout == 1;
  const bool depthwise = one_each && precision == 0 && HasTiling(trial, config_);
  const std::string why_groups =
      one_each && precision > 0 && config_.depthwise_multipliers > 0
          ? fmt::format(" (the depthwise unit takes {} x {})", config_.input_format.name,
                        config_.weight_format.name)
          : "";
  if (depthwise && blocks) return ToHost("the depthwise unit takes no block scales");
  const bool grouped = groups > 1 && !depthwise;
  trial.opcode = depthwise ? Opcode::kDepthwise : Opcode::kMatrix;
  trial.convolution = SizesOf(g, grouped);
  trial.convolution.input_scales.present = blocks;
  if (!HasTiling(trial, config_))
    return ToHost("one output position needs more than the input buffer holds");
  const std::string operation = DescribeConvolution(g, depthwise, why_groups) +
                                (bias != nullptr || !group.bias.empty() ? " + bias" : "") +
                                group.chain.text;
  Kernel kernel = NewKernel(group, depthwise ? "depthwise" : "matrix", operation);

  // Block scales lie along the channels, and a group's channels begin with a block.
  const int64_t block = config_.block_size;
  if (input.blocked() && grouped && cin % block != 0)
    return ToHost("groups that share block scales");
  KILN_ASSIGN_OR_RETURN(input, WithBlocksAlong(input, 3, &kernel.works));
  if (input.shape[3] > 1 && input.strides[3] != input.encoding.bytes) {
    KILN_ASSIGN_OR_RETURN(input, Materialise(input, node.name() + " input", &kernel.works));
  }
  int32_t pad_code = 0;
  if (y.pad_begin > 0 || x.pad_begin > 0 || y.pad_end > 0 || x.pad_end > 0) {
    KILN_ASSIGN_OR_RETURN(pad_code, PadCodeOf(input.encoding, at));
  } else if (IsInteger(input.encoding.element)) {
    pad_code = input.encoding.zero_point;
  }
  // Whether words of the results can lie along block scales: a group's, or those that leave the depthwise unit
  // together.
  const bool whole_blocks =
      depthwise ? block <= config_.array_columns : !grouped || block == 0 || cout % block == 0;
  const int rows_axis = whole_blocks ? 3 : -1;
  View output = Landing(result, rows_axis);
  KILN_ASSIGN_OR_RETURN(std::vector<View> operands,
                        ChainOperands(group.chain, ResultView(group.result), &kernel.works));
  for (View& operand : operands) {
    KILN_ASSIGN_OR_RETURN(operand,
                          AlongBlocks(Transposed(operand, to_nhwc), rows_axis, &kernel.works));
  }

  const auto codes = CodesOfConvolution(weights, g, depthwise);
  ParameterSets parameters(codes->batches, codes->columns);
  for (int64_t b = 0; b < codes->batches; ++b) {
    FillOffsets(*codes, at.weight_format, b, input.encoding.zero_point, &parameters);
  }
  const std::vector<float> biases = BiasOf(group, g.out_channels, bias);
  const double input_factor = FactorOf(input.encoding, Side::kInput, at);
  for (int64_t n = 0; n < g.out_channels; ++n) {
    const double scale = input_factor * weights.Factor(n * cin * taps);
    parameters.scales[static_cast<size_t>(n)] = static_cast<float>(scale);
    parameters.biases[static_cast<size_t>(n)] = biases[static_cast<size_t>(n)];
  }
  const int parameter_buffer = NewConstant(weight->name() + " parameters", parameters.Bytes());

  // Groups are batches of one instruction; batches then fall into instructions of their own.
  const int64_t repeats = grouped ? g.batch : 1;
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    Work work;
    Instruction& in = work.instruction;
    in.opcode = depthwise ? Opcode::kDepthwise : Opcode::kMatrix;
    in.precision = static_cast<uint8_t>(precision);
    in.convolution = SizesOf(g, grouped);
    Convolution& c = in.convolution;
    const auto stream_of = [&](const View& view) {
      Stream stream = StreamOfPixels(view);
      if (!grouped) return stream;
      stream.outer_stride[0] = cout * view.strides[3];  // from group to group
      if (view.blocked()) stream.blocks.outer_stride[0] = cout / block * view.blocks.strides[3];
      return stream;
    };
    // The view of one image of a grouped convolution.
    const auto image = [&](const View& view) {
      return Sliced(view, 0, repeat, 1, grouped ? 1 : view.shape[0]);
    };
    c.input_batch_stride = grouped ? cin * input.encoding.bytes : input.strides[0];
    c.input_row_stride = input.strides[1];
    c.input_column_stride = input.strides[2];
    if (input.blocked()) {
      const std::vector<int64_t>& strides = input.blocks.strides;
      c.input_scales = InputScales(input, grouped ? cin / block * strides[3] : strides[0],
                                   strides[1], strides[2]);
    }
    c.weight_scales.present = weights.blocked();
    c.pad_code = pad_code;
    c.parameter_batch_stride = grouped ? 12 * codes->columns : 0;
    VectorProgram& v = in.vector;
    v.outer = {c.batch, c.out_height, c.out_width, 1};
    v.length = c.out_channels;
    for (const View& operand : operands) PushOperand(stream_of(operand), image(operand), &work);
    v.passes = {FinalPass(Source::kAccumulator, {}, group.chain)};
    SetOutput(stream_of(output), image(output), &work);
    work.input_counts = CountsOf(input.encoding, Side::kInput, at);
    work.input_zero = input.encoding.zero_point;
    work.input = PlaceOf(image(input));
    work.input_scales = ScalePlaceOf(image(input));
    work.parameters = {parameter_buffer, 0};
    work.codes = codes;
    kernel.works.push_back(std::move(work));
  }
  KILN_RETURN_IF_ERROR(Land(output, result, &kernel.works));
  views_[group.result] = ResultView(group.result);
  return kernel;
}

StatusOr<Kernel> Lowering::EmitProduct(const Group& group) {
  const Node& node = *group.anchor;
  const bool gemm = node.op() == Op::kGemm;
  const Attributes& attributes = node.attributes();
  const Value* weight = node.operand(1);
  const float alpha = attributes.Float("alpha", 1.0f);
  const bool transpose_b = attributes.Int(gemm ? "transB" : "transpose_b", 0) != 0;
  KILN_ASSIGN_OR_RETURN(View a, ViewOf(node.operand(0)));
  const bool constant = weight->is_constant();
  View b;  // weights that are none
  if (!constant) {
    KILN_ASSIGN_OR_RETURN(b, ViewOf(weight));
  }
  const int reduction_axis = weight->shape().rank() - (transpose_b ? 1 : 2);
  const auto takes = [&](const Config& at) -> Status {
    KILN_RETURN_IF_ERROR(CheckOperand(a.encoding, Side::kInput, at, "activations"));
    if (constant) return ConstantWeights::Read(*weight, reduction_axis, at).status();
    return CheckOperand(b.encoding, Side::kWeight, at, "activations that stand as weights");
  };
  KILN_ASSIGN_OR_RETURN(const int precision, FindPrecision(config_, takes));
  const Config at = AtPrecision(config_, precision);
  if (a.rank() < 2 || weight->shape().rank() < 2) return ToHost("a product with a vector");
  if (gemm && attributes.Int("transA", 0) != 0) a = Transposed(a, std::vector<int64_t>{1, 0});

  const View result = ResultView(group.result);
  const int rows_axis = result.rank() - 1;
  View output = Landing(result, rows_axis);
  const int64_t k = a.shape.back(), n = output.shape.back();
  const int64_t m = output.shape[output.shape.size() - 2];
  if (!FitsCounts({k, n, m, output.elements()}))
    return ToHost("the product is larger than the machine counts");
  std::vector<int64_t> lead(output.shape.begin(), output.shape.end() - 2);
  std::vector<int64_t> a_shape(output.shape);
  a_shape.back() = k;

  std::vector<float> bias = BiasOf(group, n, nullptr);
  if (gemm && node.operand(2) != nullptr) {
    const Value* c = node.operand(2);
    const bool per_channel =
        c->is_constant() && c->element() == ElementType::kFloat32 &&
        (c->constant().size() == 1 ||
         (c->constant().size() == n && c->shape()[c->shape().rank() - 1] == n));
    if (!per_channel) return ToHost("the bias of the product is not a constant per column");
    const auto values = c->constant().data<float>();
    for (size_t i = 0; i < bias.size(); ++i) {
      bias[i] += attributes.Float("beta", 1.0f) * values[values.size() == 1 ? 0 : i];
    }
  }

  Kernel kernel = NewKernel(group, "matrix", "");
  KILN_ASSIGN_OR_RETURN(a, WithBlocksAlong(a, a.rank() - 1, &kernel.works));
  a = Broadcast(a, a_shape);
  // Rows whose codes lie apart (those of a transposed matrix) are read as columns of an image of one channel under a
  // kernel as high as they are long, or copied.
  bool in_place = k > 1 && a.strides.back() != a.encoding.bytes;
  if (in_place &&
      (config_.block_size > 0 ||
       !ReadsInPlace(config_, m, k, n, a.strides[a.strides.size() - 2], a.strides.back()))) {
    KILN_ASSIGN_OR_RETURN(a, Materialise(a, node.name() + " input", &kernel.works));
    in_place = false;
  }
  KILN_ASSIGN_OR_RETURN(std::vector<View> operands,
                        ChainOperands(group.chain, result, &kernel.works));
  for (View& operand : operands) {
    KILN_ASSIGN_OR_RETURN(operand, AlongBlocks(operand, rows_axis, &kernel.works));
  }
  const double input_factor = FactorOf(a.encoding, Side::kInput, at);

  // Weights as a view over [lead..., k, n]; for constants only the batch strides matter, counted in matrices.
  std::shared_ptr<const WeightCodes> codes;
  ParameterSets parameters(1, n);
  parameters.biases = bias;
  if (constant) {
    const Shape& shape = weight->shape();
    KILN_ASSIGN_OR_RETURN(const ConstantWeights weights,
                          ConstantWeights::Read(*weight, reduction_axis, at));
    const int64_t batches = weight->constant().size() / (k * n);
    codes =
        weights.Codes(batches, 1, k, n, [=](int64_t batch, int64_t, int64_t row, int64_t column) {
          return batch * k * n + (transpose_b ? column * k + row : row * n + column);
        });
    // Scales along k or along batches cannot be taken out of the sum.
    if (weights.per_channel() &&
        (weights.channel_stride() != (transpose_b ? k : 1) || weights.channels() != n)) {
      return ToHost("weights have scales along something else than output channels");
    }
    for (int64_t c = 0; c < n; ++c) {
      const int64_t first = transpose_b ? c * k : c;
      parameters.scales[static_cast<size_t>(c)] =
          static_cast<float>(input_factor * weights.Factor(first) * alpha);
    }
    if (batches > 1 && a.encoding.zero_point != 0) {
      return ToHost("weights that differ between batches need activations without a zero point");
    }
    FillOffsets(*codes, at.weight_format, 0, a.encoding.zero_point, &parameters);
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end() - 2);
    View batches_view{0, 0, dims, std::vector<int64_t>(dims.size()), {}, {}};
    int64_t stride = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      batches_view.strides[i] = stride;
      stride *= dims[i];
    }
    b = Broadcast(batches_view, lead);
    b.shape.insert(b.shape.end(), {k, n});
    b.strides.insert(b.strides.end(), {0, 0});
  } else {
    if (a.encoding.zero_point != 0 || b.encoding.zero_point != 0) {
      return ToHost("a product of two activations needs both without a zero point");
    }
    if (transpose_b) {
      std::vector<int64_t> perm(b.shape.size());
      std::iota(perm.begin(), perm.end(), int64_t{0});
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      b = Transposed(b, perm);
    }
    KILN_ASSIGN_OR_RETURN(b, WithBlocksAlong(b, b.rank() - 2, &kernel.works));
    std::vector<int64_t> b_shape = lead;
    b_shape.insert(b_shape.end(), {k, n});
    b = Broadcast(b, b_shape);
    const int64_t bytes = b.encoding.bytes;
    const auto dense = [&] {
      if (b.blocked()) return k == 1 || b.strides[lead.size()] == bytes;
      return k == 1 || n == 1 || b.strides[lead.size()] == bytes ||
             b.strides[lead.size() + 1] == bytes;
    };
    if (!dense()) {
      KILN_ASSIGN_OR_RETURN(b, Materialise(b, node.name() + " weights", &kernel.works));
    }
    const double scale = input_factor * FactorOf(b.encoding, Side::kWeight, at) * alpha;
    std::fill(parameters.scales.begin(), parameters.scales.end(), static_cast<float>(scale));
  }
  const int parameter_buffer = NewConstant(
      KernelName(std::array<const Node*, 1>{&node}) + " parameters", parameters.Bytes());

  // Loops over [lead..., m]. Where weights stand still they are pixels, where weights change they are batches.
  View weights_over_rows = b;
  weights_over_rows.shape = std::vector<int64_t>(output.shape.begin(), output.shape.end() - 1);
  weights_over_rows.strides.resize(lead.size());
  weights_over_rows.strides.push_back(0);
  if (b.blocked()) {
    weights_over_rows.blocks.strides.resize(lead.size());
    weights_over_rows.blocks.strides.push_back(0);
    weights_over_rows.blocks.axis = weights_over_rows.rank();  // gone, as with WithoutLastAxis
  }
  const View a_rows = WithoutLastAxis(a), out_rows = WithoutLastAxis(output);
  std::vector<View> operand_rows;
  operand_rows.reserve(operands.size());
  for (const View& operand : operands) operand_rows.push_back(WithoutLastAxis(operand));
  std::vector<const View*> walked = {&a_rows, &out_rows, &weights_over_rows};
  for (const View& operand : operand_rows) walked.push_back(&operand);
  std::vector<Loop> pixels, batches;
  for (Loop& loop : LoopsOver(walked, /*keep_last=*/false))
    (loop.strides[2] == 0 ? pixels : batches).push_back(loop);
  const auto take = [&](std::vector<Loop>& from) {
    if (from.empty()) return OneStep(walked.size());
    Loop loop = std::move(from.back());
    from.pop_back();
    return loop;
  };
  const Loop x = take(pixels), y = in_place ? OneStep(walked.size()) : take(pixels);
  const Loop batch = batches.empty() ? take(pixels) : take(batches);
  std::vector<Loop> rest = std::move(pixels);
  rest.insert(rest.end(), batches.begin(), batches.end());
  int64_t instructions = 1;
  for (const Loop& loop : rest) instructions *= loop.count;
  if (instructions > kMaxInstructionsPerKernel)
    return ToHost(fmt::format("needs {} instructions", instructions));
  if (constant && codes->batches > 1 &&
      (batch.strides[2] != 1 || batch.count != codes->batches || instructions > 1)) {
    return ToHost("weights that differ between batches");
  }

  kernel.info.operation =
      fmt::format("matmul {}{}x{}x{}",
                  batch.count > 1 || instructions > 1
                      ? fmt::format("{} x ", batch.count * instructions)
                      : "",
                  x.count * y.count, k, n) +
      (group.bias.empty() && !(gemm && node.operand(2) != nullptr) ? "" : " + bias") +
      group.chain.text;

  for (int64_t index = 0; index < instructions; ++index) {
    std::vector<int64_t> shift(walked.size(), 0), scale_shift(walked.size(), 0);
    int64_t left = index;
    for (size_t i = rest.size(); i-- > 0;) {
      for (size_t s = 0; s < shift.size(); ++s) {
        shift[s] += left % rest[i].count * rest[i].strides[s];
        scale_shift[s] += left % rest[i].count * rest[i].scale_strides[s];
      }
      left /= rest[i].count;
    }
    // A view with its beginning moved to this instruction's share.
    const auto share = [&](const View& view, size_t s) {
      View moved = view;
      moved.offset += shift[s];
      moved.blocks.offset += scale_shift[s];
      return moved;
    };
    Work work;
    Instruction& in = work.instruction;
    in.opcode = Opcode::kMatrix;
    in.precision = static_cast<uint8_t>(precision);
    Convolution& c = in.convolution;
    c.batch = static_cast<int32_t>(batch.count);
    c.height = c.out_height = static_cast<int32_t>(y.count);
    c.width = c.out_width = static_cast<int32_t>(x.count);
    c.out_channels = static_cast<int32_t>(n);
    c.input_batch_stride = batch.strides[0];
    if (in_place) {
      c.height = c.kernel_y = static_cast<int32_t>(k);
      c.input_row_stride = a.strides.back();
    } else {
      c.channels = static_cast<int32_t>(k);
      c.input_row_stride = y.strides[0];
    }
    c.input_column_stride = x.strides[0];
    c.pad_code = IsInteger(a.encoding.element) ? a.encoding.zero_point : 0;
    c.input_scales = InputScales(a, batch.scale_strides[0], y.scale_strides[0], x.scale_strides[0]);
    work.input_counts = CountsOf(a.encoding, Side::kInput, at);
    work.input_zero = a.encoding.zero_point;
    work.input = PlaceOf(share(a, 0));
    work.input_scales = ScalePlaceOf(share(a, 0));
    if (constant) {
      work.codes = codes;
      c.weight_scales.present = codes->blocked();
    } else {
      c.weight_layout = WeightLayout::kStrided;
      c.weight_batch_stride = batch.strides[2];
      const int64_t bytes = b.encoding.bytes, rows = b.strides[lead.size()];
      c.weight_row_stride = k == 1 ? bytes : rows;
      c.weight_column_stride =
          n == 1 && k > 1 && rows != bytes ? bytes : b.strides[lead.size() + 1];
      work.weight_counts = CountsOf(b.encoding, Side::kWeight, at);
      work.weights = PlaceOf(share(b, 2));
      if (b.blocked()) {
        c.weight_scales.present = true;
        c.weight_scales.batch_stride = batch.scale_strides[2];
        c.weight_scales.column_stride = b.blocks.strides[lead.size() + 1];
        work.weight_scales = ScalePlaceOf(share(b, 2));
      }
    }
    work.parameters = {parameter_buffer, 0};
    VectorProgram& v = in.vector;
    v.outer = {c.batch, c.out_height, c.out_width, 1};
    v.length = c.out_channels;
    const auto stream_of = [&](const View& view, size_t s) {
      Stream stream = StreamOf(view);
      stream.outer_stride = {batch.strides[s], y.strides[s], x.strides[s], 0};
      stream.element_stride = view.strides.back();
      stream.blocks.outer_stride = {batch.scale_strides[s], y.scale_strides[s], x.scale_strides[s],
                                    0};
      return stream;
    };
    for (size_t i = 0; i < operands.size(); ++i) {
      PushOperand(stream_of(operands[i], 3 + i), share(operands[i], 3 + i), &work);
    }
    v.passes = {FinalPass(Source::kAccumulator, {}, group.chain)};
    SetOutput(stream_of(output, 1), share(output, 1), &work);
    kernel.works.push_back(std::move(work));
  }
  KILN_RETURN_IF_ERROR(Land(output, result, &kernel.works));
  views_[group.result] = result;
  return kernel;
}

}  // namespace kiln::systolic
