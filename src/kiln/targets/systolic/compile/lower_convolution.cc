// Lowers convolutions to the array or to the depthwise unit.
#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kiln/ir/checked_math.h"
#include "kiln/ir/window.h"
#include "kiln/targets/systolic/compile/lower_operands.h"
#include "kiln/targets/systolic/compile/lower_windows.h"
#include "kiln/targets/systolic/compile/lowering.h"
#include "kiln/targets/systolic/compile/schedule.h"
#include "kiln/targets/systolic/simulate/numbers.h"

namespace kiln::systolic {

// The facts that EmitConvolution collects about a convolution. Images are [batch, y, x, channels].
struct ConvolutionPlan {
  const Node* node = nullptr;
  ConvGeometry g;
  int precision = 0;
  Config at;               // the design point at this precision
  bool depthwise = false;  // on the depthwise unit
  bool grouped = false;    // groups are batches of one instruction
  std::string operation;   // for reports

  View input, result, output;  // `output` is written and then copied to `result`
  std::vector<View> operands;
  int32_t pad_code = 0;
  std::shared_ptr<const WeightCodes> codes;
  int parameter_buffer = -1;

  // Channels of one group.
  int64_t in_channels() const { return g.in_channels / g.groups; }
  int64_t out_channels() const { return g.out_channels / g.groups; }
};

namespace {

std::string Dimensions(int64_t a, int64_t b) { return fmt::format("{}x{}", a, b); }

// Returns the sizes of a convolution's instruction. Grouped: each group is a batch, and the graph's
// own batch is left out.
Convolution SizesOf(const ConvGeometry& g, bool grouped) {
  const int64_t together = grouped ? g.groups : 1;
  return ConvolutionOver(g.axes[0], g.axes[1], grouped ? g.groups : g.batch,
                         g.in_channels / together, g.out_channels / together);
}

// Returns the weights from [out][in / groups][kh][kw] as [groups][ky, kx, c][n]; depthwise as [ky,
// kx][c].
std::shared_ptr<const WeightCodes> CodesOfConvolution(const ConstantWeights& weights,
                                                      const ConvGeometry& g, bool depthwise) {
  const int64_t taps = g.KernelElements();
  const int64_t cin = g.in_channels / g.groups, cout = g.out_channels / g.groups;
  if (depthwise) return weights.Codes({1, g.out_channels, 1, taps}, {0, 3, 2, 1});
  return weights.Codes({g.groups, cout, cin, taps}, {0, 3, 2, 1});
}

// `why_groups` is the reason why a depthwise convolution runs as groups.
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

namespace {

// `bytes` are those of an element of the input.
Status CheckCounts(const ConvGeometry& g, int64_t bytes) {
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  if (FitsCounts(y) && FitsCounts(x) &&
      FitsCounts({g.batch, g.in_channels, g.out_channels, SaturatingMul(y.kernel, x.kernel),
                  SaturatingMul(y.kernel, y.output), SaturatingMul(x.kernel, x.output)}) &&
      FitsRow(x, SaturatingMul(g.in_channels, bytes))) {
    return OkStatus();
  }
  return ToHost("the convolution is larger than the machine counts");
}

}  // namespace

// Chooses the unit that runs the convolution. One output position must fit the unit's buffers. A
// convolution that is too large for the depthwise unit, or in formats that the unit lacks, may
// still run as groups on the array. `blocks` says whether an operand has block scales.
Status Lowering::ChooseConvolutionUnit(const Group& group, bool blocks, ConvolutionPlan* p) const {
  const ConvGeometry& g = p->g;
  Instruction trial;
  trial.opcode = Opcode::kDepthwise;
  trial.convolution = SizesOf(g, false);
  const bool one_each = g.groups > 1 && p->in_channels() == 1 && p->out_channels() == 1;
  p->depthwise = one_each && p->precision == 0 && HasTiling(trial, config_);
  const std::string why_groups =
      one_each && p->precision > 0 && config_.depthwise_multipliers > 0
          ? fmt::format(" (the depthwise unit takes {} x {})", config_.input_format.name,
                        config_.weight_format.name)
          : "";
  if (p->depthwise && blocks) return ToHost("the depthwise unit takes no block scales");
  p->grouped = g.groups > 1 && !p->depthwise;
  trial.opcode = p->depthwise ? Opcode::kDepthwise : Opcode::kMatrix;
  trial.convolution = SizesOf(g, p->grouped);
  trial.convolution.input_scales.present = blocks;
  if (!HasTiling(trial, config_))
    return ToHost("one output position needs more than the input buffer holds");
  const bool has_bias = p->node->operand(2) != nullptr || !group.bias.empty();
  p->operation = DescribeConvolution(g, p->depthwise, why_groups) + (has_bias ? " + bias" : "") +
                 group.chain.text;
  return OkStatus();
}

// Determines the locations of the input, the output and the operands of the chain.
Status Lowering::PlaceConvolution(const Group& group, ConvolutionPlan* p,
                                  std::vector<Work>* works) {
  const std::vector<int64_t> to_nhwc = NhwcFrom(p->g.nhwc);
  const WindowAxis &y = p->g.axes[0], &x = p->g.axes[1];
  View& input = p->input;
  // Block scales run along the channels, and a group's channels must begin with a block.
  const int64_t block = config_.block_size;
  if (input.blocked() && p->grouped && p->in_channels() % block != 0)
    return ToHost("groups that share block scales");
  KILN_ASSIGN_OR_RETURN(input, WithBlocksAlong(input, 3, works));
  if (input.shape[3] > 1 && input.strides[3] != input.encoding.bytes) {
    KILN_ASSIGN_OR_RETURN(input, Materialise(input, p->node->name() + " input", works));
  }
  if (y.pad_begin > 0 || x.pad_begin > 0 || y.pad_end > 0 || x.pad_end > 0) {
    KILN_ASSIGN_OR_RETURN(p->pad_code, PadCodeOf(input.encoding, p->at));
  } else if (IsInteger(input.encoding.element)) {
    p->pad_code = input.encoding.zero_point;
  }
  // Whether words of the results can run along block scales: the words of a group, or those that
  // leave the depthwise unit together.
  const bool whole_blocks = p->depthwise
                                ? block <= config_.array_columns
                                : !p->grouped || block == 0 || p->out_channels() % block == 0;
  const int rows_axis = whole_blocks ? 3 : -1;
  p->output = Landing(p->result, rows_axis);
  KILN_ASSIGN_OR_RETURN(p->operands, ChainOperands(group.chain, ResultView(group.result), works));
  for (View& operand : p->operands) {
    KILN_ASSIGN_OR_RETURN(operand, AlongBlocks(Transposed(operand, to_nhwc), rows_axis, works));
  }
  return OkStatus();
}

// Determines the codes of the weights, and the parameters of the output channels.
void Lowering::PlaceConvolutionWeights(const Group& group, const ConstantWeights& weights,
                                       ConvolutionPlan* p) {
  const ConvGeometry& g = p->g;
  const Encoding& input = p->input.encoding;
  p->codes = CodesOfConvolution(weights, g, p->depthwise);
  ParameterSets parameters(p->codes->batches, p->codes->columns);
  for (int64_t b = 0; b < p->codes->batches; ++b)
    FillOffsets(*p->codes, p->at.weight_format, b, input.zero_point, &parameters);
  std::vector<const Value*> constants = group.bias;
  if (const Value* bias = p->node->operand(2)) constants.insert(constants.begin(), bias);
  const std::vector<float> biases = BiasOf(constants, g.out_channels);
  const double input_factor = FactorOf(input, Side::kInput, p->at);
  const int64_t elements = p->in_channels() * g.KernelElements();  // of an output channel
  for (int64_t n = 0; n < g.out_channels; ++n) {
    const double scale = input_factor * weights.Factor(n * elements);
    parameters.scales[static_cast<size_t>(n)] = static_cast<float>(scale);
    parameters.biases[static_cast<size_t>(n)] = biases[static_cast<size_t>(n)];
  }
  p->parameter_buffer =
      NewConstant(p->node->operand(1)->name() + " parameters", parameters.Bytes());
}

// Returns the instruction of all images or, with groups as batches, of one image.
Work Lowering::ConvolutionWork(const Group& group, const ConvolutionPlan& p, int64_t image) const {
  const int64_t block = config_.block_size;
  Work work;
  Instruction& in = work.instruction;
  in.opcode = p.depthwise ? Opcode::kDepthwise : Opcode::kMatrix;
  in.precision = static_cast<uint8_t>(p.precision);
  in.convolution = SizesOf(p.g, p.grouped);
  Convolution& c = in.convolution;
  const auto stream_of = [&](const View& view) {
    Stream stream = StreamOfPixels(view);
    if (!p.grouped) return stream;
    stream.outer_stride[0] = p.out_channels() * view.strides[3];  // from group to group
    if (view.blocked())
      stream.blocks.outer_stride[0] = p.out_channels() / block * view.blocks.strides[3];
    return stream;
  };
  const auto share = [&](const View& view) {
    return Sliced(view, 0, image, 1, p.grouped ? 1 : view.shape[0]);
  };
  const View& input = p.input;
  c.input_batch_stride = p.grouped ? p.in_channels() * input.encoding.bytes : input.strides[0];
  c.input_row_stride = input.strides[1];
  c.input_column_stride = input.strides[2];
  if (input.blocked()) {
    const std::vector<int64_t>& strides = input.blocks.strides;
    c.input_scales =
        InputScales(input, p.grouped ? p.in_channels() / block * strides[3] : strides[0],
                    strides[1], strides[2]);
  }
  c.weight_scales.present = p.codes->blocked();
  c.pad_code = p.pad_code;
  c.parameter_batch_stride = p.grouped ? 12 * p.codes->columns : 0;
  VectorProgram& v = in.vector;
  v.outer = {c.batch, c.out_height, c.out_width, 1};
  v.length = c.out_channels;
  for (const View& operand : p.operands) PushOperand(stream_of(operand), share(operand), &work);
  v.passes = {FinalPass(Source::kAccumulator, {}, group.chain)};
  SetOutput(stream_of(p.output), share(p.output), &work);
  work.input_counts = CountsOf(input.encoding, Side::kInput, p.at);
  work.input_zero = input.encoding.zero_point;
  work.input = PlaceOf(share(input));
  work.input_scales = ScalePlaceOf(share(input));
  work.parameters = {p.parameter_buffer, 0};
  work.codes = p.codes;
  return work;
}

StatusOr<Kernel> Lowering::EmitConvolution(const Group& group) {
  ConvolutionPlan p;
  const Node& node = *group.anchor;
  p.node = &node;
  KILN_ASSIGN_OR_RETURN(p.g, ResolveConv(node, graph_.source()));
  if (p.g.rank() != 2) return ToHost(fmt::format("a convolution over {} axes", p.g.rank()));
  const Value* weight = node.operand(1);
  const Value* bias = node.operand(2);
  if (!weight->is_constant()) return ToHost("the convolution's weights are not constant");
  if (bias != nullptr && (!bias->is_constant() || bias->element() != ElementType::kFloat32)) {
    return ToHost("the convolution's bias is not a constant in fp32");
  }
  KILN_ASSIGN_OR_RETURN(p.input, ViewOf(node.operand(0)));
  const auto takes = [&](const Config& at) -> Status {
    KILN_RETURN_IF_ERROR(CheckOperand(p.input.encoding, Side::kInput, at, "activations"));
    return ConstantWeights::Read(*weight, 1, at).status();
  };
  KILN_ASSIGN_OR_RETURN(p.precision, FindPrecision(config_, takes));
  p.at = AtPrecision(config_, p.precision);
  KILN_ASSIGN_OR_RETURN(const ConstantWeights weights, ConstantWeights::Read(*weight, 1, p.at));
  KILN_RETURN_IF_ERROR(CheckCounts(p.g, p.input.encoding.bytes));
  const std::vector<int64_t> to_nhwc = NhwcFrom(p.g.nhwc);
  p.input = Transposed(p.input, to_nhwc);
  p.result = Transposed(ResultView(group.result), to_nhwc);
  if (weights.per_channel() && weights.channel_stride() != p.in_channels() * p.g.KernelElements()) {
    return ToHost("weights have scales along something else than output channels");
  }
  KILN_RETURN_IF_ERROR(ChooseConvolutionUnit(group, p.input.blocked() || weights.blocked(), &p));
  Kernel kernel = NewKernel(group, p.depthwise ? "depthwise" : "matrix", p.operation);
  KILN_RETURN_IF_ERROR(PlaceConvolution(group, &p, &kernel.works));
  PlaceConvolutionWeights(group, weights, &p);
  // If groups are batches of an instruction, each image has its own instruction.
  for (int64_t image = 0; image < (p.grouped ? p.g.batch : 1); ++image)
    kernel.works.push_back(ConvolutionWork(group, p, image));
  KILN_RETURN_IF_ERROR(Land(p.output, p.result, &kernel.works));
  views_[group.result] = ResultView(group.result);
  return kernel;
}

}  // namespace kiln::systolic
