// Lowers nodes that the design point's user unit computes, to depthwise instructions with the flag
// user_unit.
#include "fmt/format.h"
#include "kiln/ir/checked_math.h"
#include "kiln/support/check.h"
#include "kiln/targets/systolic/compile/lower_operands.h"
#include "kiln/targets/systolic/compile/lower_windows.h"
#include "kiln/targets/systolic/compile/lowering.h"
#include "kiln/targets/systolic/compile/schedule.h"
#include "kiln/targets/systolic/simulate/numbers.h"

namespace kiln::systolic {
namespace {

Convolution SizesOf(const UserWindows& windows) {
  Convolution c = ConvolutionOver(windows.axes[0], windows.axes[1], windows.batch, windows.channels,
                                  windows.channels);
  c.pad_code = windows.pad_code;
  return c;
}

}  // namespace

std::optional<UserWindows> Lowering::UserWindowsOf(const Node& node) const {
  if (config_.user_unit == nullptr) return std::nullopt;
  for (int i = 1; i < node.num_results(); ++i) {
    if (node.result(i) != nullptr) return std::nullopt;
  }
  const Value* input = node.operand(0);
  if (input == nullptr || input->is_constant()) return std::nullopt;
  const Encoding& encoding = EncodingFor(input);
  if (encoding.blocked() || !CheckOperand(encoding, Side::kInput, config_, "").ok())
    return std::nullopt;
  auto windows = config_.user_unit->unit->WindowsOf(node, graph_.source(),
                                                    -(1 << (config_.input_format.bits - 1)));
  // An invalid node is reported by the pattern that takes it next.
  if (!windows.ok() || !windows->has_value()) return std::nullopt;
  if ((*windows)->axes.size() != 2 || !FitsCounts({(*windows)->batch, (*windows)->channels}))
    return std::nullopt;
  for (const WindowAxis& axis : (*windows)->axes) {
    if (!FitsCounts(axis) || SeesPaddingAlone(axis) || axis.dilation > axis.input)
      return std::nullopt;
  }
  const WindowAxis &y = (*windows)->axes[0], &x = (*windows)->axes[1];
  if (!FitsCounts({SaturatingMul(y.kernel, x.kernel), SaturatingMul(y.kernel, y.output),
                   SaturatingMul(x.kernel, x.output)}) ||
      !FitsRow(x, SaturatingMul((*windows)->channels, encoding.bytes))) {
    return std::nullopt;
  }
  Instruction trial;
  trial.opcode = Opcode::kDepthwise;
  trial.user_unit = true;
  trial.convolution = SizesOf(**windows);
  if (!HasTiling(trial, config_)) return std::nullopt;
  return *std::move(*windows);
}

StatusOr<Kernel> Lowering::EmitUser(const Group& group) {
  const Node& node = *group.anchor;
  const std::optional<UserWindows>& windows = group.user_windows;
  const WindowAxis &y = windows->axes[0], &x = windows->axes[1];
  Kernel kernel = NewKernel(group, config_.user_unit->name,
                            fmt::format("{} {}x{} /{} @{}x{}x{}", windows->operation, y.kernel,
                                        x.kernel, y.stride, y.output, x.output, windows->channels) +
                                group.chain.text);
  const std::vector<int64_t> to_nhwc = NhwcFrom(windows->nhwc);
  KILN_ASSIGN_OR_RETURN(View input, ViewOf(node.operand(0)));
  input = Transposed(input, to_nhwc);
  if (input.shape[3] > 1 && input.strides[3] != input.encoding.bytes) {
    KILN_ASSIGN_OR_RETURN(input, Materialise(input, node.name() + " input", &kernel.works));
  }
  const View result = Transposed(ResultView(group.result), to_nhwc);
  View output = Landing(result, 3);
  KILN_ASSIGN_OR_RETURN(std::vector<View> operands,
                        ChainOperands(group.chain, ResultView(group.result), &kernel.works));

  Work work;
  Instruction& in = work.instruction;
  in.opcode = Opcode::kDepthwise;
  in.user_unit = true;
  in.convolution = SizesOf(*windows);
  Convolution& c = in.convolution;
  c.input_batch_stride = input.strides[0];
  c.input_row_stride = input.strides[1];
  c.input_column_stride = input.strides[2];

  auto codes = std::make_shared<WeightCodes>();
  codes->rows = c.taps();
  codes->columns = c.channels;
  const std::vector<int8_t> weights = config_.user_unit->unit->WeightsOf(node, *windows);
  KILN_CHECK(std::ssize(weights) == codes->rows * codes->columns);
  codes->codes.assign(weights.begin(), weights.end());
  ParameterSets parameters(1, c.channels);
  const auto scale = static_cast<float>(FactorOf(input.encoding, Side::kInput, config_));
  std::fill(parameters.scales.begin(), parameters.scales.end(), scale);
  std::fill(parameters.offsets.begin(), parameters.offsets.end(),
            -windows->zero_points * input.encoding.zero_point);

  VectorProgram& v = in.vector;
  v.outer = {c.batch, c.out_height, c.out_width, 1};
  v.length = c.out_channels;
  for (View& operand : operands) {
    KILN_ASSIGN_OR_RETURN(operand, AlongBlocks(Transposed(operand, to_nhwc), 3, &kernel.works));
    PushOperand(StreamOfPixels(operand), operand, &work);
  }
  v.passes = {FinalPass(Source::kAccumulator, {}, group.chain)};
  SetOutput(StreamOfPixels(output), output, &work);
  work.input_counts = CountsOf(input.encoding, Side::kInput, config_);
  work.input_zero = input.encoding.zero_point;
  work.input = PlaceOf(input);
  work.input_scales = ScalePlaceOf(input);
  work.parameters = {NewConstant(node.name() + " parameters", parameters.Bytes()), 0};
  work.codes = std::move(codes);
  kernel.works.push_back(std::move(work));
  KILN_RETURN_IF_ERROR(Land(output, result, &kernel.works));
  views_[group.result] = ResultView(group.result);
  return kernel;
}

}  // namespace kiln::systolic
