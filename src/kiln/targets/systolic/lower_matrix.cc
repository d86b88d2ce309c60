// Convolutions and matrix products.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "fmt/format.h"
#include "kiln/ir/checked_math.h"
#include "kiln/ir/window.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/check.h"
#include "kiln/targets/systolic/lowering.h"
#include "kiln/targets/systolic/schedule.h"

namespace kiln::systolic {
namespace {

constexpr int64_t kMaxInstructionsPerKernel = 4096;

// Constant weights: how to find the code and the scale of an element.
struct ConstantWeights {
  std::span<const float> values;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;          // as many as scales
  int64_t channel_stride = 0, channels = 1;  // element i belongs to scale (i / channel_stride) % channels
  CodeRange range;
  std::vector<float> inverse;

  size_t ScaleIndex(int64_t element) const {
    return scales.size() == 1 ? 0 : static_cast<size_t>(element / channel_stride % channels);
  }
  // Less the zero point, which the array does not know: scale * Code() is the value.
  int64_t WideCode(int64_t element) const {
    const size_t s = ScaleIndex(element);
    return QuantiseToCode(values[static_cast<size_t>(element)], inverse[s], zero_points[s], range) - zero_points[s];
  }
  int8_t Code(int64_t element) const { return static_cast<int8_t>(WideCode(element)); }
  float Scale(int64_t element) const { return scales[ScaleIndex(element)]; }
};

StatusOr<ConstantWeights> ReadWeights(const Value& value, const Config& config) {
  if (value.element() != ElementType::kFloat32) return ToHost("weights are not fp32");
  if (!value.quantisation().has_value()) return ToHost("weights are not quantised");
  const Quantisation& q = *value.quantisation();
  const Format& format = q.type.format;
  if (!format.is_integer() || format.bits > 16) {
    return ToHost(fmt::format("weights are {}, the array takes {}", format.name, config.weight_format.name));
  }
  ConstantWeights w;
  w.values = value.constant().data<float>();
  w.scales = q.scales;
  w.zero_points = q.zero_points;
  w.range = CodesOf(format, q.type.symmetric);
  const Shape& shape = value.shape();
  if (q.scales.size() != 1) {
    if (q.type.scheme == Scheme::kPerBlock || q.axis < 0 || q.axis >= shape.rank() ||
        shape[q.axis] != std::ssize(q.scales)) {
      return ToHost("weights have scales along something else than one axis");
    }
    w.channel_stride = RowMajorStrides(shape)[static_cast<size_t>(q.axis)];
    w.channels = shape[q.axis];
  }
  for (float scale : w.scales) w.inverse.push_back(InverseScale(scale));
  // Any integer format will do whose codes, less their zero points, the array's element holds: int2 on an array of
  // int8, or uint8 around 128. Only for zero points or a wider format do the codes themselves decide.
  const bool has_zero_point =
      std::any_of(w.zero_points.begin(), w.zero_points.end(), [](int32_t zero) { return zero != 0; });
  const int64_t least = config.weight_format.min_code(), greatest = config.weight_format.max_code();
  if (!has_zero_point && w.range.low >= least && w.range.high <= greatest) return w;
  for (int64_t i = 0; i < std::ssize(w.values); ++i) {
    const int64_t code = w.WideCode(i);
    if (code < least || code > greatest) {
      return ToHost(fmt::format("weights are {} with codes that do not fit the array's {}", format.name,
                                config.weight_format.name));
    }
  }
  return w;
}

// Channel parameters of one instruction: [batches][offset | scale | bias][columns].
struct Parameters {
  int64_t batches = 1, columns = 1;
  std::vector<int32_t> offsets;
  std::vector<float> scales, biases;

  Parameters(int64_t batch_count, int64_t column_count)
      : batches(batch_count),
        columns(column_count),
        offsets(static_cast<size_t>(batches * columns)),
        scales(static_cast<size_t>(batches * columns)),
        biases(static_cast<size_t>(batches * columns)) {}

  std::vector<uint8_t> Bytes() const {
    std::vector<uint8_t> bytes(static_cast<size_t>(batches * columns * 12));
    for (int64_t b = 0; b < batches; ++b) {
      uint8_t* at = bytes.data() + b * columns * 12;
      const size_t begin = static_cast<size_t>(b * columns), size = static_cast<size_t>(columns) * 4;
      std::memcpy(at, offsets.data() + begin, size);
      std::memcpy(at + size, scales.data() + begin, size);
      std::memcpy(at + 2 * size, biases.data() + begin, size);
    }
    return bytes;
  }
};

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
void FillParameters(const WeightCodes& codes, int64_t batch, int32_t input_zero, Parameters* p) {
  for (int64_t n = 0; n < codes.columns; ++n) {
    int64_t sum = 0;
    for (int64_t r = 0; r < codes.rows; ++r) {
      sum += codes.codes[static_cast<size_t>((batch * codes.rows + r) * codes.columns + n)];
    }
    p->offsets[static_cast<size_t>(batch * codes.columns + n)] = static_cast<int32_t>(-sum * input_zero);
  }
}

Status CheckInput(const View& view, const Config& config) {
  if (view.encoding.is_float()) return ToHost("activations are not quantised");
  if (view.encoding.element != Element::kInt8) return ToHost("activations are not signed codes of 8 bits");
  if (view.encoding.low < config.input_format.min_code() || view.encoding.high > config.input_format.max_code()) {
    return ToHost(fmt::format("activations do not fit {}", config.input_format.name));
  }
  return OkStatus();
}

bool FitsExtent(std::initializer_list<int64_t> sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size >= 1 && size <= (1 << 22); });
}

View WithoutLastAxis(const View& view) {
  View out = view;
  out.shape.pop_back();
  out.strides.pop_back();
  return out;
}

std::string Dimensions(int64_t a, int64_t b) { return fmt::format("{}x{}", a, b); }

// The sizes of a convolution's instruction. Grouped: one group is a batch, the graph's own batch is left out.
Convolution SizesOf(const ConvGeometry& g, bool grouped) {
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  const auto narrow = [](int64_t size) { return static_cast<int32_t>(size); };  // FitsExtent has been asked
  Convolution c;
  c.height = narrow(y.input);
  c.width = narrow(x.input);
  c.channels = narrow(grouped ? g.in_channels / g.groups : g.in_channels);
  c.batch = narrow(grouped ? g.groups : g.batch);
  c.kernel_y = narrow(y.kernel);
  c.kernel_x = narrow(x.kernel);
  c.stride_y = narrow(y.stride);
  c.stride_x = narrow(x.stride);
  c.dilation_y = narrow(y.dilation);
  c.dilation_x = narrow(x.dilation);
  c.pad_top = narrow(y.pad_begin);
  c.pad_left = narrow(x.pad_begin);
  c.out_height = narrow(y.output);
  c.out_width = narrow(x.output);
  c.out_channels = narrow(grouped ? g.out_channels / g.groups : g.out_channels);
  return c;
}

// Weights from [out][in / groups][kh][kw] to [groups][ky, kx, c][n]; depthwise to [ky, kx][c].
std::shared_ptr<const WeightCodes> CodesOfConvolution(const ConstantWeights& weights, const ConvGeometry& g,
                                                      bool depthwise) {
  const int64_t taps = g.KernelElements();
  const int64_t cin = g.in_channels / g.groups, cout = g.out_channels / g.groups;
  auto codes = std::make_shared<WeightCodes>();
  codes->batches = depthwise ? 1 : g.groups;
  codes->rows = depthwise ? taps : taps * cin;
  codes->columns = depthwise ? g.out_channels : cout;
  codes->codes.resize(static_cast<size_t>(codes->batches * codes->rows * codes->columns));
  for (int64_t n = 0; n < g.out_channels; ++n) {
    for (int64_t c = 0; c < cin; ++c) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t at =
            depthwise ? t * g.out_channels + n : ((n / cout) * codes->rows + t * cin + c) * cout + n % cout;
        codes->codes[static_cast<size_t>(at)] = weights.Code((n * cin + c) * taps + t);
      }
    }
  }
  return codes;
}

std::string DescribeConvolution(const ConvGeometry& g, bool depthwise) {
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  std::string text = fmt::format("{} {} {}->{} /{}", depthwise ? "depthwise" : "conv", Dimensions(y.kernel, x.kernel),
                                 g.in_channels, g.out_channels, y.stride);
  if (y.stride != x.stride) text += fmt::format(",{}", x.stride);
  if (g.groups > 1 && !depthwise) text += fmt::format(" in {} groups", g.groups);
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
  KILN_RETURN_IF_ERROR(CheckInput(input, config_));
  KILN_ASSIGN_OR_RETURN(const ConstantWeights weights, ReadWeights(*weight, config_));
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  if (!FitsExtent({g.batch, g.in_channels, g.out_channels, y.input, x.input, y.output, x.output, y.kernel, x.kernel,
                   y.stride, x.stride, y.dilation, x.dilation, y.pad_begin + 1, x.pad_begin + 1,
                   SaturatingMul(y.kernel, x.kernel), SaturatingMul(y.kernel, y.output),
                   SaturatingMul(x.kernel, x.output)})) {
    return ToHost("the convolution is larger than the machine counts");
  }

  const std::vector<int64_t> to_nhwc = NhwcFrom(g.nhwc);
  input = Transposed(input, to_nhwc);
  View output = Transposed(ResultView(group.result), to_nhwc);
  output.encoding = EncodingFor(group.result);
  KILN_ASSIGN_OR_RETURN(std::vector<View> operands, ChainOperands(group.chain, ResultView(group.result)));
  for (View& operand : operands) operand = Transposed(operand, to_nhwc);

  const int64_t groups = g.groups;
  const int64_t cin = g.in_channels / groups, cout = g.out_channels / groups;
  const int64_t taps = g.KernelElements();
  if (weights.scales.size() > 1 && weights.channel_stride != cin * taps) {
    return ToHost("weights have scales along something else than output channels");
  }
  // One output position must fit the buffers; what is too large for the depthwise unit may still run as groups.
  Instruction trial;
  trial.opcode = Opcode::kDepthwise;
  trial.convolution = SizesOf(g, false);
  const bool depthwise = groups > 1 && cin == 1 && cout == 1 && HasTiling(trial, config_);
  const bool grouped = groups > 1 && !depthwise;
  trial.opcode = depthwise ? Opcode::kDepthwise : Opcode::kMatrix;
  trial.convolution = SizesOf(g, grouped);
  if (!HasTiling(trial, config_)) return ToHost("one output position needs more than the input buffer holds");
  const std::string operation =
      DescribeConvolution(g, depthwise) + (bias != nullptr || !group.bias.empty() ? " + bias" : "") + group.chain.text;
  Kernel kernel = NewKernel(group, depthwise ? "depthwise" : "matrix", operation);

  if (input.shape[3] > 1 && input.strides[3] != 1) {
    KILN_ASSIGN_OR_RETURN(input, Materialise(input, node.name() + " input", &kernel.works));
  }

  const auto codes = CodesOfConvolution(weights, g, depthwise);
  Parameters parameters(codes->batches, codes->columns);
  for (int64_t b = 0; b < codes->batches; ++b) FillParameters(*codes, b, input.encoding.zero_point, &parameters);
  const std::vector<float> biases = BiasOf(group, g.out_channels, bias);
  for (int64_t n = 0; n < g.out_channels; ++n) {
    const double scale = static_cast<double>(input.encoding.scale) * weights.Scale(n * cin * taps);
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
    in.convolution = SizesOf(g, grouped);
    Convolution& c = in.convolution;
    const auto outer = [&](const View& view) {
      return std::array<int64_t, kOuterLoops>{grouped ? cout * view.strides[3] : view.strides[0], view.strides[1],
                                              view.strides[2], 0};
    };
    const auto place = [&](const View& view) { return Place{view.buffer, view.offset + repeat * view.strides[0]}; };
    c.input_batch_stride = grouped ? cin : input.strides[0];
    c.input_row_stride = input.strides[1];
    c.input_column_stride = input.strides[2];
    c.pad_code = input.encoding.zero_point;
    c.parameter_batch_stride = grouped ? 12 * codes->columns : 0;
    VectorProgram& v = in.vector;
    v.outer = {c.batch, c.out_height, c.out_width, 1};
    v.length = c.out_channels;
    for (const View& operand : operands) {
      Stream stream = StreamOf(operand);
      stream.outer_stride = outer(operand);
      stream.element_stride = operand.strides[3];
      v.operands.push_back(stream);
      work.operands.push_back(place(operand));
    }
    v.passes = {FinalPass(Source::kAccumulator, {}, group.chain)};
    v.output = StreamOf(output);
    v.output.outer_stride = outer(output);
    v.output.element_stride = output.strides[3];
    v.quantise = QuantiseOf(output.encoding);
    work.input = place(input);
    work.output = place(output);
    work.parameters = {parameter_buffer, 0};
    work.codes = codes;
    kernel.works.push_back(std::move(work));
  }
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
  KILN_RETURN_IF_ERROR(CheckInput(a, config_));
  if (a.rank() < 2 || weight->shape().rank() < 2) return ToHost("a product with a vector");
  if (gemm && attributes.Int("transA", 0) != 0) a = Transposed(a, std::vector<int64_t>{1, 0});

  View output = ResultView(group.result);
  const int64_t k = a.shape.back(), n = output.shape.back();
  const int64_t m = output.shape[output.shape.size() - 2];
  if (!FitsExtent({k, n, m, output.elements()})) return ToHost("the product is larger than the machine counts");
  std::vector<int64_t> lead(output.shape.begin(), output.shape.end() - 2);
  std::vector<int64_t> a_shape(output.shape);
  a_shape.back() = k;
  a = Broadcast(a, a_shape);
  KILN_ASSIGN_OR_RETURN(std::vector<View> operands, ChainOperands(group.chain, output));

  const bool constant = weight->is_constant();
  std::vector<float> bias = BiasOf(group, n, nullptr);
  if (gemm && node.operand(2) != nullptr) {
    const Value* c = node.operand(2);
    const bool per_channel =
        c->is_constant() && c->element() == ElementType::kFloat32 &&
        (c->constant().size() == 1 || (c->constant().size() == n && c->shape()[c->shape().rank() - 1] == n));
    if (!per_channel) return ToHost("the bias of the product is not a constant per column");
    const auto values = c->constant().data<float>();
    for (size_t i = 0; i < bias.size(); ++i) {
      bias[i] += attributes.Float("beta", 1.0f) * values[values.size() == 1 ? 0 : i];
    }
  }

  Kernel kernel = NewKernel(group, "matrix", "");
  if (k > 1 && a.strides.back() != 1) {
    KILN_ASSIGN_OR_RETURN(a, Materialise(a, node.name() + " input", &kernel.works));
  }

  // Weights as a view over [lead..., k, n]; for constants only the batch strides matter, counted in matrices.
  View b;
  auto codes = std::make_shared<WeightCodes>();
  Parameters parameters(1, n);
  parameters.biases = bias;
  if (constant) {
    KILN_ASSIGN_OR_RETURN(const ConstantWeights weights, ReadWeights(*weight, config_));
    const Shape& shape = weight->shape();
    const int64_t batches = weight->constant().size() / (k * n);
    codes->batches = batches;
    codes->rows = k;
    codes->columns = n;
    codes->codes.resize(static_cast<size_t>(batches * k * n));
    for (int64_t i = 0; i < batches; ++i) {
      for (int64_t r = 0; r < k; ++r) {
        for (int64_t c = 0; c < n; ++c) {
          const int64_t element = i * k * n + (transpose_b ? c * k + r : r * n + c);
          codes->codes[static_cast<size_t>((i * k + r) * n + c)] = weights.Code(element);
        }
      }
    }
    // Scales along k or along batches cannot be taken out of the sum.
    if (weights.scales.size() > 1 && (weights.channel_stride != (transpose_b ? k : 1) || weights.channels != n)) {
      return ToHost("weights have scales along something else than output channels");
    }
    for (int64_t c = 0; c < n; ++c) {
      const int64_t first = transpose_b ? c * k : c;
      parameters.scales[static_cast<size_t>(c)] =
          static_cast<float>(static_cast<double>(a.encoding.scale) * weights.Scale(first) * alpha);
    }
    if (batches > 1 && a.encoding.zero_point != 0) {
      return ToHost("weights that differ between batches need activations without a zero point");
    }
    FillParameters(*codes, 0, a.encoding.zero_point, &parameters);
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end() - 2);
    View batches_view{0, 0, dims, std::vector<int64_t>(dims.size()), {}};
    int64_t stride = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      batches_view.strides[i] = stride;
      stride *= dims[i];
    }
    b = Broadcast(batches_view, lead);
    b.shape.insert(b.shape.end(), {k, n});
    b.strides.insert(b.strides.end(), {0, 0});
  } else {
    KILN_ASSIGN_OR_RETURN(b, ViewOf(weight));
    KILN_RETURN_IF_ERROR(CheckInput(b, config_));
    if (a.encoding.zero_point != 0 || b.encoding.zero_point != 0) {
      return ToHost("a product of two activations needs both without a zero point");
    }
    if (transpose_b) std::swap(b.shape[b.shape.size() - 1], b.shape[b.shape.size() - 2]);
    if (transpose_b) std::swap(b.strides[b.strides.size() - 1], b.strides[b.strides.size() - 2]);
    std::vector<int64_t> b_shape = lead;
    b_shape.insert(b_shape.end(), {k, n});
    b = Broadcast(b, b_shape);
    const auto dense = [&] {
      return k == 1 || n == 1 || b.strides[lead.size()] == 1 || b.strides[lead.size() + 1] == 1;
    };
    if (!dense()) {
      KILN_ASSIGN_OR_RETURN(b, Materialise(b, node.name() + " weights", &kernel.works));
    }
    for (int64_t c = 0; c < n; ++c) {
      parameters.scales[static_cast<size_t>(c)] =
          static_cast<float>(static_cast<double>(a.encoding.scale) * b.encoding.scale * alpha);
    }
  }
  const int parameter_buffer = NewConstant(DescribeGroupName({&node}) + " parameters", parameters.Bytes());

  // Loops over [lead..., m]. Where weights stand still they are pixels, where weights change they are batches.
  View weights_over_rows = b;
  weights_over_rows.shape = std::vector<int64_t>(output.shape.begin(), output.shape.end() - 1);
  weights_over_rows.strides.resize(lead.size());
  weights_over_rows.strides.push_back(0);
  const View a_rows = WithoutLastAxis(a), out_rows = WithoutLastAxis(output);
  std::vector<View> operand_rows;
  operand_rows.reserve(operands.size());
  for (const View& operand : operands) operand_rows.push_back(WithoutLastAxis(operand));
  std::vector<const View*> walked = {&a_rows, &out_rows, &weights_over_rows};
  for (const View& operand : operand_rows) walked.push_back(&operand);
  std::vector<Loop> pixels, batches;
  for (Loop& loop : LoopsOver(walked, /*keep_last=*/false)) (loop.strides[2] == 0 ? pixels : batches).push_back(loop);
  const auto take = [&](std::vector<Loop>& from) {
    if (from.empty()) return Loop{1, std::vector<int64_t>(walked.size(), 0)};
    Loop loop = std::move(from.back());
    from.pop_back();
    return loop;
  };
  const Loop x = take(pixels), y = take(pixels);
  const Loop batch = batches.empty() ? take(pixels) : take(batches);
  std::vector<Loop> rest = std::move(pixels);
  rest.insert(rest.end(), batches.begin(), batches.end());
  int64_t instructions = 1;
  for (const Loop& loop : rest) instructions *= loop.count;
  if (instructions > kMaxInstructionsPerKernel) return ToHost(fmt::format("needs {} instructions", instructions));
  if (constant && codes->batches > 1 && (batch.strides[2] != 1 || batch.count != codes->batches || instructions > 1)) {
    return ToHost("weights that differ between batches");
  }

  kernel.info.operation =
      fmt::format("matmul {}{}x{}x{}",
                  batch.count > 1 || instructions > 1 ? fmt::format("{} x ", batch.count * instructions) : "",
                  x.count * y.count, k, n) +
      (group.bias.empty() && !(gemm && node.operand(2) != nullptr) ? "" : " + bias") + group.chain.text;

  for (int64_t index = 0; index < instructions; ++index) {
    std::vector<int64_t> shift(walked.size(), 0);
    int64_t left = index;
    for (size_t i = rest.size(); i-- > 0;) {
      for (size_t s = 0; s < shift.size(); ++s) shift[s] += left % rest[i].count * rest[i].strides[s];
      left /= rest[i].count;
    }
    Work work;
    Instruction& in = work.instruction;
    in.opcode = Opcode::kMatrix;
    Convolution& c = in.convolution;
    c.batch = static_cast<int32_t>(batch.count);
    c.height = c.out_height = static_cast<int32_t>(y.count);
    c.width = c.out_width = static_cast<int32_t>(x.count);
    c.channels = static_cast<int32_t>(k);
    c.out_channels = static_cast<int32_t>(n);
    c.input_batch_stride = batch.strides[0];
    c.input_row_stride = y.strides[0];
    c.input_column_stride = x.strides[0];
    c.pad_code = a.encoding.zero_point;
    work.input = {a.buffer, a.offset + shift[0]};
    if (constant) {
      work.codes = codes;
    } else {
      c.weight_layout = WeightLayout::kStrided;
      c.weight_batch_stride = batch.strides[2];
      c.weight_row_stride = k == 1 ? 1 : b.strides[lead.size()];
      c.weight_column_stride = n == 1 && k > 1 && b.strides[lead.size()] != 1 ? 1 : b.strides[lead.size() + 1];
      work.weights = {b.buffer, b.offset + shift[2]};
    }
    work.parameters = {parameter_buffer, 0};
    VectorProgram& v = in.vector;
    v.outer = {c.batch, c.out_height, c.out_width, 1};
    v.length = c.out_channels;
    const auto outer = [&](size_t s) {
      return std::array<int64_t, kOuterLoops>{batch.strides[s], y.strides[s], x.strides[s], 0};
    };
    for (size_t i = 0; i < operands.size(); ++i) {
      Stream stream = StreamOf(operands[i]);
      stream.outer_stride = outer(3 + i);
      stream.element_stride = operands[i].strides.back();
      v.operands.push_back(stream);
      work.operands.push_back({operands[i].buffer, operands[i].offset + shift[3 + i]});
    }
    v.passes = {FinalPass(Source::kAccumulator, {}, group.chain)};
    v.output = StreamOf(output);
    v.output.outer_stride = outer(1);
    v.output.element_stride = output.strides.back();
    v.quantise = QuantiseOf(output.encoding);
    work.output = {output.buffer, output.offset + shift[1]};
    kernel.works.push_back(std::move(work));
  }
  views_[group.result] = output;
  return kernel;
}

}  // namespace kiln::systolic
