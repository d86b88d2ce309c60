// Emits soft-max over short rows as element-wise instructions between planes.
#include "kiln/targets/systolic/compile/short_rows.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "kiln/targets/systolic/isa/stages.h"

namespace kiln::systolic {
namespace {

Stage With(StageOp op, Argument argument) { return {.op = op, .a = argument}; }

// Collects the vector instructions for one soft-max.
class ShortRows {
 public:
  ShortRows(const View& input, const View& output, const Config& config, const MakeView& make_view)
      : input_(input),
        output_(output),
        config_(config),
        make_view_(make_view),
        length_(input.shape.back()) {}

  std::optional<std::vector<VectorSpec>> Softmax(bool logarithm, const std::vector<Stage>& after) {
    if (length_ == 2 && !logarithm) {
      SoftmaxOfPairs(after);
    } else {
      SoftmaxByTrees(logarithm, after);
    }
    if (!stages_fit_) return std::nullopt;
    return std::move(specs_);
  }

 private:
  // Computes exp(x - max(x0, x1)) for both elements, then e * (1 / (e0 + e1)): one pass each. Where
  // a function comes too early for it, the power takes two.
  void SoftmaxOfPairs(const std::vector<Stage>& after) {
    const View powers = Planes("exponentials", 2);
    const View x0 = Columns(input_, 0, 1), x1 = Columns(input_, 1, 1);
    const auto difference = [](int j) -> std::vector<Stage> {
      return {With(StageOp::kMax, Argument::kOperand1),
              With(StageOp::kReverseSubtract, j == 0 ? Argument::kOperand0 : Argument::kOperand1)};
    };
    std::vector<Stage> power = difference(0);
    power.push_back(Exponential());
    const bool at_once = PlaceStages(power, config_).has_value();
    const View differences = at_once ? powers : Planes("differences", 2);
    for (int j = 0; j < 2; ++j) {
      power = difference(j);
      if (at_once) power.push_back(Exponential());
      Add(Columns(differences, j, 1), {x0, x1}, power);
    }
    if (!at_once) Add(powers, {differences}, {Exponential()});
    for (int j = 0; j < 2; ++j) {
      std::vector<Stage> stages = {With(StageOp::kAdd, Argument::kOperand1),
                                   {.op = StageOp::kReciprocal},
                                   With(StageOp::kMultiply, Argument::kOperand0)};
      stages.insert(stages.end(), after.begin(), after.end());
      Add(Columns(output_, j, 1), {Columns(powers, j, 1), Columns(powers, 1 - j, 1)}, stages);
    }
  }

  // Computes exp(x - max(x)). The sum of these values gives the last factor or, for the logarithm,
  // the last subtrahend.
  void SoftmaxByTrees(bool logarithm, const std::vector<Stage>& after) {
    const View greatest = Tree("maxima", input_, StageOp::kMax, {});
    const View powers = Planes("exponentials", length_);
    Add(powers, {input_, Broadcast(greatest, input_.shape)},
        {With(StageOp::kSubtract, Argument::kOperand1), Exponential()});
    const Stage of_sum = logarithm
                             ? Stage{.op = StageOp::kFunction, .function = NonlinearFunction::kLog}
                             : Stage{.op = StageOp::kReciprocal};
    const View sums = Broadcast(Tree("sums", powers, StageOp::kAdd, {of_sum}), output_.shape);
    std::vector<View> operands = {powers, sums};
    std::vector<Stage> stages = {With(StageOp::kMultiply, Argument::kOperand1)};
    if (logarithm) {
      operands = {input_, Broadcast(greatest, output_.shape), sums};
      stages = {With(StageOp::kSubtract, Argument::kOperand1),
                With(StageOp::kSubtract, Argument::kOperand2)};
    }
    stages.insert(stages.end(), after.begin(), after.end());
    Add(output_, std::move(operands), stages);
  }

  // Combines the planes of a view pairwise, as a reduction combines its lanes (isa.h, Reduce):
  // plane i with plane i + half. The stages of `last` follow the last combination.
  View Tree(const std::string& name, View view, StageOp op, const std::vector<Stage>& last) {
    for (int64_t count = length_; count > 1;) {
      const auto half = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)) / 2);
      const int64_t pairs = count - half;
      const View next = Planes(name, half);
      std::vector<Stage> stages = {With(op, Argument::kOperand1)};
      if (half == 1) stages.insert(stages.end(), last.begin(), last.end());
      Add(Columns(next, 0, pairs), {Columns(view, 0, pairs), Columns(view, half, pairs)}, stages);
      if (pairs < half)
        Add(Columns(next, pairs, half - pairs), {Columns(view, pairs, half - pairs)}, {});
      view = next;
      count = half;
    }
    return view;
  }

  void Add(const View& output, std::vector<View> operands, const std::vector<Stage>& stages) {
    auto placed = PlaceStages(stages, config_);
    stages_fit_ = stages_fit_ && placed.has_value();
    if (!stages_fit_) return;
    Pass pass;
    pass.source = Source::kOperand0;
    pass.stages = *std::move(placed);
    pass.to_memory = true;
    VectorSpec spec;
    spec.output = output;
    spec.operands = std::move(operands);
    spec.passes = {std::move(pass)};
    specs_.push_back(std::move(spec));
  }

  // Makes a view in which rows are adjacent in memory: [count][rows] accessed as [rows][count].
  View Planes(const std::string& name, int64_t count) const {
    std::vector<int64_t> shape(input_.shape.begin(), input_.shape.end() - 1);
    shape.insert(shape.begin(), count);
    std::vector<int64_t> order(shape.size());
    std::iota(order.begin(), order.end() - 1, 1);
    return Transposed(make_view_(name, Shape(shape)), order);
  }
  static View Columns(const View& view, int64_t first, int64_t count) {
    return Sliced(view, view.rank() - 1, first, 1, count);
  }
  static Stage Exponential() {
    return {.op = StageOp::kFunction, .function = NonlinearFunction::kExp};
  }

  const View& input_;
  const View& output_;
  const Config& config_;
  const MakeView& make_view_;
  const int64_t length_;
  bool stages_fit_ = true;
  std::vector<VectorSpec> specs_;
};

}  // namespace

std::optional<std::vector<VectorSpec>> SoftmaxOfShortRows(const View& input, const View& output,
                                                          bool logarithm,
                                                          const std::vector<Stage>& after,
                                                          const Config& config,
                                                          const MakeView& make_view) {
  const int64_t length = input.shape.back();
  if (length < 2 || length >= config.lanes()) return std::nullopt;
  return ShortRows(input, output, config, make_view).Softmax(logarithm, after);
}

}  // namespace kiln::systolic
