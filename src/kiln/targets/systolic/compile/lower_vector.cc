// Lowers to programs of the vector unit: element-wise chains, copies, pools, reductions, soft-max
// and layer normalisation.
#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "fmt/format.h"
#include "kiln/ir/indexing.h"
#include "kiln/ir/window.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/check.h"
#include "kiln/targets/systolic/compile/lower_windows.h"
#include "kiln/targets/systolic/compile/lowering.h"
#include "kiln/targets/systolic/compile/ranking.h"
#include "kiln/targets/systolic/compile/schedule.h"
#include "kiln/targets/systolic/compile/short_rows.h"
#include "kiln/targets/systolic/isa/stages.h"
#include "kiln/targets/systolic/isa/timing.h"

namespace kiln::systolic {
namespace {

// Loops in the order in which an instruction runs them: `outer` are the rows, outermost first, and
// `inner` is the axis of the words.
struct Nest {
  std::vector<Loop> unrolled;  // one instruction each
  std::vector<Loop> outer;     // at most kOuterLoops
  Loop inner;
};

// Makes loop `inner` the innermost one. Loops beyond the number that an instruction has are
// unrolled, the smallest counts first.
Nest NestOf(std::vector<Loop> loops, size_t inner, size_t most_outer) {
  Nest nest;
  nest.inner = loops[inner];
  loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(inner));
  while (loops.size() > most_outer) {
    const auto smallest = std::min_element(
        loops.begin(), loops.end(), [](const Loop& a, const Loop& b) { return a.count < b.count; });
    nest.unrolled.push_back(*smallest);
    loops.erase(smallest);
  }
  nest.outer = std::move(loops);
  return nest;
}

int64_t InstructionsOf(const Nest& nest) {
  int64_t count = 1;
  for (const Loop& loop : nest.unrolled) count *= loop.count;
  return count;
}

// Sets loop counts and strides; stream 0 is the output, and stream 1 + i is operand i.
void SetLoops(const Nest& nest, std::span<const int> slots, VectorProgram* v) {
  const auto set = [&](Stream& stream, size_t s) {
    for (size_t i = 0; i < nest.outer.size(); ++i) {
      stream.outer_stride[static_cast<size_t>(slots[i])] = nest.outer[i].strides[s];
      stream.blocks.outer_stride[static_cast<size_t>(slots[i])] = nest.outer[i].scale_strides[s];
    }
    stream.element_stride = nest.inner.strides[s];
  };
  for (size_t i = 0; i < nest.outer.size(); ++i) {
    v->outer[static_cast<size_t>(slots[i])] = static_cast<int32_t>(nest.outer[i].count);
  }
  v->length = static_cast<int32_t>(nest.inner.count);
  set(v->output, 0);
  for (size_t i = 0; i < v->operands.size(); ++i) set(v->operands[i], 1 + i);
}

// A nest and the vector program that has its loops.
struct TimedNest {
  Nest nest;
  VectorProgram program;  // with the loops of `nest`
};

// Returns the best nest, trying each loop from `first_inner` on as the axis of the words.
// `slots` are the indices of the outer loops that the other loops may use.
TimedNest BestNest(const std::vector<Loop>& loops, size_t first_inner, std::span<const int> slots,
                   const VectorProgram& program, const Config& config, const Ranking& ranking) {
  std::optional<TimedNest> best;
  Expense least;
  Instruction trial;
  trial.opcode = Opcode::kVector;
  for (size_t inner = first_inner; inner < loops.size(); ++inner) {
    Nest nest = NestOf(loops, inner, slots.size());
    trial.vector = program;
    SetLoops(nest, slots, &trial.vector);
    const int64_t busy = VectorInstructionTime(trial.vector, config).busy;
    const Expense expense = ranking.ExpenseOf(trial, busy).Times(InstructionsOf(nest));
    if (best.has_value() && !ranking.IsBetter(expense, least)) continue;
    least = expense;
    best = {std::move(nest), std::move(trial.vector)};
  }
  return *std::move(best);
}

// Returns a view with the axes that `which` selects, in order.
View AxesOf(View view, const std::vector<bool>& which) {
  for (int axis = view.rank(); axis-- > 0;) {
    if (!which[static_cast<size_t>(axis)]) view = WithoutAxis(view, axis);
  }
  return view;
}

// Appends one work for each combination of the unrolled loops; `nest` is the best of all orders by
// `ranking`.
void AppendWorks(const Nest& nest, const VectorProgram& program,
                 const std::vector<const View*>& views, const Ranking& ranking,
                 std::vector<Work>* works) {
  const int64_t count = InstructionsOf(nest);
  for (int64_t index = 0; index < count; ++index) {
    Work work;
    work.instruction.opcode = Opcode::kVector;
    work.instruction.vector = program;
    work.orders_timed = ranking.by_cycles();
    std::vector<View> shares;
    shares.reserve(views.size());
    for (const View* view : views) shares.push_back(*view);
    int64_t left = index;
    for (const Loop& loop : nest.unrolled) {
      for (size_t s = 0; s < shares.size(); ++s) {
        shares[s].offset += left % loop.count * loop.strides[s];
        shares[s].blocks.offset += left % loop.count * loop.scale_strides[s];
      }
      left /= loop.count;
    }
    work.output = PlaceOf(shares[0]);
    work.output_scales = ScalePlaceOf(shares[0]);
    for (size_t i = 1; i < shares.size(); ++i) {
      work.operands.push_back(PlaceOf(shares[i]));
      work.operand_scales.push_back(ScalePlaceOf(shares[i]));
    }
    works->push_back(std::move(work));
  }
}

Stage WithScalar(StageOp op, int scalar) {
  return {.op = op, .a = static_cast<Argument>(static_cast<int>(Argument::kScalar0) + scalar)};
}

std::string ShapeText(const std::vector<int64_t>& shape) { return Shape(shape).ToString(); }

// Returns the view with `axis` moved to the end.
View AxisLast(const View& view, int axis) {
  std::vector<int64_t> perm;
  for (int i = 0; i < view.rank(); ++i) {
    if (i != axis) perm.push_back(i);
  }
  perm.push_back(axis);
  return Transposed(view, perm);
}

Expense ExpenseOf(std::span<const Work> works, const Config& config, const Ranking& ranking) {
  Expense expense;
  for (const Work& work : works)
    expense += ranking.ExpenseOf(work.instruction, EstimateCycles(work.instruction, config));
  return expense;
}

Window WindowOf(const PoolGeometry& g, Combine combine, const View& image) {
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  Window w;
  w.combine = combine;
  w.window_y = static_cast<int32_t>(y.kernel);
  w.window_x = static_cast<int32_t>(x.kernel);
  w.stride_y = static_cast<int32_t>(y.stride);
  w.stride_x = static_cast<int32_t>(x.stride);
  w.dilation_y = static_cast<int32_t>(y.dilation);
  w.dilation_x = static_cast<int32_t>(x.dilation);
  w.pad_top = static_cast<int32_t>(y.pad_begin);
  w.pad_left = static_cast<int32_t>(x.pad_begin);
  w.height = static_cast<int32_t>(y.input);
  w.width = static_cast<int32_t>(x.input);
  w.row_stride = image.strides[1];
  w.column_stride = image.strides[2];
  return w;
}

}  // namespace

Stream StreamOf(const View& view) {
  Stream stream;
  stream.element = view.encoding.element;
  if (!view.encoding.is_float()) {
    stream.scale = view.encoding.scale;
    stream.zero_point = view.encoding.zero_point;
  }
  stream.blocks.present = view.blocked();
  return stream;
}

QuantiseOut QuantiseOf(const Encoding& encoding) {
  if (encoding.is_float() || encoding.blocked()) return {};
  if (IsCode(encoding.element)) return {InverseScale(encoding.scale), 0, 0, 0};
  return {InverseScale(encoding.scale), encoding.zero_point, encoding.low, encoding.high};
}

Place PlaceOf(const View& view) { return {view.buffer, view.offset}; }

Place ScalePlaceOf(const View& view) {
  return view.blocked() ? Place{view.blocks.buffer, view.blocks.offset} : Place{};
}

void PushOperand(const Stream& stream, const View& view, Work* work) {
  work->instruction.vector.operands.push_back(stream);
  work->operands.push_back(PlaceOf(view));
  work->operand_scales.push_back(ScalePlaceOf(view));
}

void SetOutput(const Stream& stream, const View& view, Work* work) {
  work->instruction.vector.output = stream;
  work->instruction.vector.quantise = QuantiseOf(view.encoding);
  work->output = PlaceOf(view);
  work->output_scales = ScalePlaceOf(view);
}

std::vector<int64_t> NhwcFrom(bool nhwc) {
  return nhwc ? std::vector<int64_t>{0, 1, 2, 3} : std::vector<int64_t>{0, 2, 3, 1};
}

Pass Lowering::FinalPass(Source source, std::vector<Stage> stages, const Chain& chain) const {
  Pass pass;
  pass.source = source;
  stages.insert(stages.end(), chain.stages.begin(), chain.stages.end());
  auto placed = PlaceStages(stages, config_);
  KILN_CHECK(placed.has_value());  // AppendFollowers stops a chain that would not fit
  pass.stages = *std::move(placed);
  pass.to_memory = true;
  return pass;
}

StatusOr<std::vector<Stage>> Lowering::PlacedStages(const std::vector<Stage>& stages) const {
  auto placed = PlaceStages(stages, config_);
  if (!placed.has_value())
    return ToHost(
        fmt::format("too few stages for its {}: {}", stages.size(), DescribeStages(config_)));
  return *std::move(placed);
}

StatusOr<std::vector<View>> Lowering::ChainOperands(const Chain& chain, const View& output,
                                                    std::vector<Work>* works) {
  std::vector<View> views;
  for (const Value* value : chain.operands) {
    KILN_ASSIGN_OR_RETURN(View view, ViewOf(value));
    KILN_ASSIGN_OR_RETURN(view, BroadcastTo(view, output.shape, works));
    views.push_back(std::move(view));
  }
  return views;
}

StatusOr<View> Lowering::BroadcastTo(const View& view, const std::vector<int64_t>& shape,
                                     std::vector<Work>* works) {
  if (CanBroadcast(view, shape)) return Broadcast(view, shape);
  KILN_ASSIGN_OR_RETURN(const View plain, Unblocked(view, works));
  return Broadcast(plain, shape);
}

// Chooses the cheapest loop to run along the words. With rows_are_last_axis it is always the last
// axis.
Status Lowering::EmitNest(const VectorSpec& spec, std::vector<Work>* works) const {
  std::vector<const View*> views = {&spec.output};
  for (const View& operand : spec.operands) views.push_back(&operand);
  VectorProgram program;
  program.passes = spec.passes;
  program.output = StreamOf(spec.output);
  program.quantise = QuantiseOf(spec.output.encoding);
  for (const View& operand : spec.operands) program.operands.push_back(StreamOf(operand));

  std::vector<Loop> loops = LoopsOver(views, spec.rows_are_last_axis);
  if (loops.empty()) loops.push_back(OneStep(views.size()));
  constexpr int kSlots[kOuterLoops] = {0, 1, 2, 3};
  const auto [best, looped] = BestNest(loops, spec.rows_are_last_axis ? loops.size() - 1 : 0,
                                       kSlots, program, config_, ranking_);
  for (const Loop& loop : best.outer) {
    if (loop.count > kMostCounted) return ToHost("an axis longer than the machine counts");
  }
  if (best.inner.count > kMostCounted) return ToHost("an axis longer than the machine counts");
  if (InstructionsOf(best) > kMaxInstructionsPerKernel) {
    return ToHost(fmt::format("needs {} vector instructions", InstructionsOf(best)));
  }
  AppendWorks(best, looped, views, ranking_, works);
  return OkStatus();
}

Status Lowering::EmitVector(VectorSpec spec, std::vector<Work>* works) {
  if (spec.output.elements() == 0) return ToHost("a tensor without elements");
  std::vector<View*> views = {&spec.output};
  for (View& operand : spec.operands) views.push_back(&operand);
  int axis = spec.rows_are_last_axis ? spec.output.rank() - 1 : -1;
  bool blocked = false;
  for (const View* view : views) {
    if (view->encoding.type != ElementType::kFloat32) return ToHost("integers that must be copied");
    blocked = blocked || view->blocked();
    if (axis < 0 && view->blocked()) axis = view->blocks.axis;
  }
  if (!blocked) return EmitNest(spec, works);
  // Words run along the block scales of the output or, if it has none, of the first operand with
  // block scales. Views with block scales along other axes are copied.
  const View target = spec.output, landing = Landing(target, axis);
  spec.output = landing;
  for (View& operand : spec.operands) {
    KILN_ASSIGN_OR_RETURN(operand, AlongBlocks(operand, axis, works));
  }
  if (!spec.rows_are_last_axis) {
    for (View* view : views) *view = AxisLast(*view, axis);
    spec.rows_are_last_axis = true;
  }
  KILN_RETURN_IF_ERROR(EmitNest(spec, works));
  return Land(landing, target, works);
}

Status Lowering::CopyTo(const View& from, const View& to, std::vector<Work>* works) {
  VectorSpec spec;
  spec.output = to;
  spec.operands = {from};
  spec.passes = {FinalPass(Source::kOperand0, {}, {})};
  return EmitVector(std::move(spec), works);
}

StatusOr<View> Lowering::Materialise(const View& view, const std::string& name,
                                     std::vector<Work>* works) {
  Encoding encoding = view.encoding;
  encoding.block_axis = view.blocks.axis;
  View dense = NewView(name, Shape(view.shape), encoding);
  KILN_RETURN_IF_ERROR(CopyTo(view, dense, works));
  return dense;
}

StatusOr<View> Lowering::Unblocked(const View& view, std::vector<Work>* works) {
  if (!view.blocked()) return view;
  View plain = NewView("unblocked", Shape(view.shape), VectorEncoding(config_));
  KILN_RETURN_IF_ERROR(CopyTo(view, plain, works));
  return plain;
}

StatusOr<View> Lowering::AlongBlocks(const View& view, int axis, std::vector<Work>* works) {
  return view.blocked() && view.blocks.axis != axis ? Unblocked(view, works) : view;
}

StatusOr<View> Lowering::WithBlocksAlong(const View& view, int axis, std::vector<Work>* works) {
  if (!view.blocked() || view.blocks.axis == axis) return view;
  KILN_ASSIGN_OR_RETURN(const View plain, Unblocked(view, works));
  Encoding encoding = view.encoding;
  encoding.block_axis = axis;
  View blocked = NewView("blocked anew", Shape(view.shape), encoding);
  KILN_RETURN_IF_ERROR(CopyTo(plain, blocked, works));
  return blocked;
}

View Lowering::Landing(const View& target, int axis) {
  if (!target.blocked() || target.blocks.axis == axis) return target;
  return NewView("to be blocked", Shape(target.shape), VectorEncoding(config_));
}

Status Lowering::Land(const View& landing, const View& target, std::vector<Work>* works) {
  return landing.blocked() == target.blocked() ? OkStatus() : CopyTo(landing, target, works);
}

StatusOr<Kernel> Lowering::EmitElementwise(const Group& group) {
  VectorSpec spec;
  spec.output = ResultView(group.result);
  KILN_ASSIGN_OR_RETURN(const View base, ViewOf(group.base));
  Kernel kernel =
      NewKernel(group, "vector", group.chain.text.substr(3) + " @" + ShapeText(spec.output.shape));
  KILN_ASSIGN_OR_RETURN(const View first, BroadcastTo(base, spec.output.shape, &kernel.works));
  spec.operands = {first};
  KILN_ASSIGN_OR_RETURN(std::vector<View> others,
                        ChainOperands(group.chain, spec.output, &kernel.works));
  spec.operands.insert(spec.operands.end(), others.begin(), others.end());
  spec.passes = {FinalPass(Source::kOperand0, {}, group.chain)};
  KILN_RETURN_IF_ERROR(EmitVector(spec, &kernel.works));
  views_[group.result] = spec.output;
  return kernel;
}

StatusOr<Kernel> Lowering::EmitPool(const Group& group) {
  const Node& node = *group.anchor;
  if (node.num_results() > 1 && node.result(1) != nullptr)
    return ToHost("the pool's indices are asked for");
  KILN_ASSIGN_OR_RETURN(const PoolGeometry g, ResolvePool(node, graph_.source()));
  if (g.axes.size() != 2) return ToHost(fmt::format("a pool over {} axes", g.axes.size()));
  const bool max = node.op() == Op::kMaxPool || node.op() == Op::kGlobalMaxPool;
  for (const WindowAxis& axis : g.axes) {
    if (!FitsCounts(axis)) return ToHost("the pool is larger than the machine counts");
    const int64_t reach = (axis.output - 1) * axis.stride - axis.pad_begin + axis.Extent();
    if (!max && g.count_include_pad && reach > axis.input + axis.pad_end) {
      return ToHost("an average whose last window reaches beyond the padding");
    }
    if (SeesPaddingAlone(axis)) return ToHost("a window that holds nothing but padding");
    // With dilation, a window may skip the whole image.
    if (axis.dilation > axis.input) return ToHost("a dilation larger than the image");
  }
  const std::vector<int64_t> to_nhwc = NhwcFrom(g.nhwc);
  std::string operation = fmt::format("{} pool {}x{} /{} @{}x{}x{}", max ? "max" : "average",
                                      g.axes[0].kernel, g.axes[1].kernel, g.axes[0].stride,
                                      g.axes[0].output, g.axes[1].output, g.channels);
  Kernel kernel = NewKernel(group, "vector", operation + group.chain.text);
  KILN_ASSIGN_OR_RETURN(View input, ViewOf(node.operand(0)));
  KILN_ASSIGN_OR_RETURN(input, AlongBlocks(Transposed(input, to_nhwc), 3, &kernel.works));
  const View result = ResultView(group.result);
  KILN_ASSIGN_OR_RETURN(std::vector<View> operands,
                        ChainOperands(group.chain, result, &kernel.works));
  const View target = Transposed(result, to_nhwc), output = Landing(target, 3);

  Work work;
  work.instruction.opcode = Opcode::kVector;
  VectorProgram& v = work.instruction.vector;
  v.window = WindowOf(g, max ? Combine::kMax : Combine::kSum, input);
  v.window.average = !max;
  v.window.divide_by_valid = !max && !g.count_include_pad;
  v.outer = {static_cast<int32_t>(g.batch), static_cast<int32_t>(g.axes[0].output),
             static_cast<int32_t>(g.axes[1].output), 1};
  v.length = static_cast<int32_t>(g.channels);
  // The window's strides walk the rows and columns of the image.
  Stream image = StreamOfPixels(input);
  image.outer_stride[1] = image.outer_stride[2] = 0;
  image.blocks.row_stride = std::exchange(image.blocks.outer_stride[1], 0);
  image.blocks.column_stride = std::exchange(image.blocks.outer_stride[2], 0);
  PushOperand(image, input, &work);
  for (View& operand : operands) {
    KILN_ASSIGN_OR_RETURN(operand, AlongBlocks(Transposed(operand, to_nhwc), 3, &kernel.works));
    PushOperand(StreamOfPixels(operand), operand, &work);
  }
  v.passes = {FinalPass(Source::kOperand0, {}, group.chain)};
  SetOutput(StreamOfPixels(output), output, &work);
  kernel.works.push_back(std::move(work));
  KILN_RETURN_IF_ERROR(Land(output, target, &kernel.works));
  views_[group.result] = result;
  return kernel;
}

// Returns which axes a reduction reduces.
StatusOr<std::vector<bool>> Lowering::ReducedAxes(const Node& node, int rank) const {
  std::vector<int64_t> axes = node.attributes().Ints("axes");
  if (node.operand(1) != nullptr) {
    if (!node.operand(1)->is_constant())
      return ToHost("the axes of the reduction are not constant");
    axes = node.operand(1)->constant().ToInts();
  }
  if (axes.empty() && node.attributes().Int("noop_with_empty_axes", 0) != 0)
    return ToHost("a reduction over no axis");
  std::vector<bool> reduced(static_cast<size_t>(rank), axes.empty());
  for (int64_t axis : axes) {
    const auto normal = NormaliseAxis(axis, rank);
    if (!normal.has_value())
      return ErrorAt(graph_.source(), node.Describe(),
                     fmt::format("axis {} of rank {}", axis, rank), "");
    reduced[static_cast<size_t>(*normal)] = true;
  }
  return reduced;
}

// Emits a reduction as a pool whose window covers the reduced axes. The other axes are batches, one
// free loop, and the words.
StatusOr<Kernel> Lowering::EmitReduce(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(View input, ViewOf(node.operand(0)));
  KILN_ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedAxes(node, input.rank()));
  // Views of the axes that stay and of those that are reduced.
  const View target = ResultView(group.result), result = Landing(target, -1);
  Kernel kernel = NewKernel(group, "vector",
                            fmt::format("{} {} -> {}{}", node.info().text, ShapeText(input.shape),
                                        ShapeText(result.shape), group.chain.text));
  KILN_ASSIGN_OR_RETURN(input, Unblocked(input, &kernel.works));
  KILN_ASSIGN_OR_RETURN(std::vector<View> others,
                        ChainOperands(group.chain, result, &kernel.works));
  for (View& other : others) {
    KILN_ASSIGN_OR_RETURN(other, Unblocked(other, &kernel.works));
  }
  const bool keep = node.attributes().Int("keepdims", 1) != 0;
  std::vector<bool> stays = reduced;
  stays.flip();
  const auto without_reduced = [&](const View& view) { return keep ? AxesOf(view, stays) : view; };
  const View gone = AxesOf(input, reduced);
  std::vector<View> stores = {without_reduced(result), AxesOf(input, stays)};
  for (const View& other : others) stores.push_back(without_reduced(other));
  std::vector<const View*> views;
  views.reserve(stores.size());
  for (const View& view : stores) views.push_back(&view);
  if (stores[0].elements() == 0 || gone.elements() == 0) return ToHost("a tensor without elements");

  const View* gone_views[] = {&gone};
  std::vector<Loop> window = LoopsOver(gone_views, false);
  if (window.size() > 2) return ToHost("a reduction over axes that do not lie together");
  while (window.size() < 2) window.insert(window.begin(), OneStep(1));
  std::vector<Loop> loops = LoopsOver(views, false);
  if (loops.empty()) loops.push_back(OneStep(views.size()));

  VectorProgram program;
  program.output = StreamOf(stores[0]);
  program.quantise = QuantiseOf(result.encoding);
  for (size_t i = 1; i < stores.size(); ++i) program.operands.push_back(StreamOf(stores[i]));
  program.passes = {FinalPass(Source::kOperand0, {}, group.chain)};
  Window& w = program.window;
  w.combine = node.op() == Op::kReduceMax ? Combine::kMax : Combine::kSum;
  w.average = node.op() == Op::kReduceMean;
  w.window_y = w.height = static_cast<int32_t>(window[0].count);
  w.window_x = w.width = static_cast<int32_t>(window[1].count);
  w.row_stride = window[0].strides[0];
  w.column_stride = window[1].strides[0];

  constexpr int kSlots[] = {0, 3};  // loops 1 and 2 belong to the window
  const auto [best, looped] = BestNest(loops, 0, kSlots, program, config_, ranking_);
  if (InstructionsOf(best) > kMaxInstructionsPerKernel) {
    return ToHost(fmt::format("needs {} vector instructions", InstructionsOf(best)));
  }
  AppendWorks(best, looped, views, ranking_, &kernel.works);
  KILN_RETURN_IF_ERROR(Land(result, target, &kernel.works));
  views_[group.result] = target;
  return kernel;
}

StatusOr<Kernel> Lowering::EmitSoftmax(const Group& group) {
  const Node& node = *group.anchor;
  KILN_ASSIGN_OR_RETURN(View input, ViewOf(node.operand(0)));
  const auto axis = NormaliseAxis(node.attributes().Int("axis", -1), input.rank());
  if (!axis.has_value())
    return ErrorAt(graph_.source(), node.Describe(), "its axis is beyond its rank", "");
  const int64_t length = input.shape[static_cast<size_t>(*axis)];
  const int64_t limit = int64_t{config_.vector_row_buffer_words} * config_.lanes();
  if (length > limit)
    return ToHost(fmt::format("rows of {} elements; the row buffer holds {}", length, limit));
  const View result = ResultView(group.result);
  VectorSpec spec;
  spec.output = AxisLast(result, *axis);
  spec.operands = {AxisLast(input, *axis)};
  Kernel kernel =
      NewKernel(group, "vector",
                fmt::format("{} {}{}", node.info().text, ShapeText(input.shape), group.chain.text));
  KILN_ASSIGN_OR_RETURN(std::vector<View> others,
                        ChainOperands(group.chain, result, &kernel.works));
  for (const View& other : others) spec.operands.push_back(AxisLast(other, *axis));
  spec.rows_are_last_axis = true;

  if (config_.vector_stages < 2) return ToHost("the vector unit has fewer than 2 stages");
  const bool logarithm = node.op() == Op::kLogSoftmax;
  Pass maximum;
  maximum.source = Source::kOperand0;
  maximum.reduce = Reduce::kMax;
  maximum.into = 0;
  maximum.to_row_buffer = true;
  Pass sum;
  sum.source = Source::kRowBuffer;
  KILN_ASSIGN_OR_RETURN(
      sum.stages, PlacedStages({WithScalar(StageOp::kSubtract, 0), Call(NonlinearFunction::kExp)}));
  sum.reduce = Reduce::kSum;
  sum.into = 1;
  sum.to_row_buffer = !logarithm;
  KILN_ASSIGN_OR_RETURN(sum.scalar_stages,
                        PlacedStages({logarithm ? Call(NonlinearFunction::kLog)
                                                : Stage{.op = StageOp::kReciprocal}}));
  std::vector<Stage> last = logarithm ? std::vector<Stage>{WithScalar(StageOp::kSubtract, 0),
                                                           WithScalar(StageOp::kSubtract, 1)}
                                      : std::vector<Stage>{WithScalar(StageOp::kMultiply, 1)};
  spec.passes = {maximum, sum, FinalPass(Source::kRowBuffer, last, group.chain)};
  const size_t before = kernel.works.size();
  KILN_RETURN_IF_ERROR(EmitVector(spec, &kernel.works));
  views_[group.result] = result;
  if (spec.operands.size() > 1 || spec.operands[0].blocked() || result.blocked()) return kernel;

  // Computes short rows side by side in the lanes if that is better.
  const size_t buffers = out_.buffers.size();
  const auto short_rows =
      SoftmaxOfShortRows(spec.operands[0], spec.output, logarithm, group.chain.stages, config_,
                         [&](const std::string& name, const Shape& shape) {
                           return NewView(name, shape, VectorEncoding(config_));
                         });
  std::vector<Work> works;
  bool better = short_rows.has_value();
  for (size_t i = 0; better && i < short_rows->size(); ++i)
    better = EmitVector((*short_rows)[i], &works).ok();
  const auto row_by_row = std::span(kernel.works).subspan(before);
  if (better && ranking_.IsBetter(ExpenseOf(works, config_, ranking_),
                                  ExpenseOf(row_by_row, config_, ranking_))) {
    kernel.least_cycles = 0;
    for (const Work& work : row_by_row) {
      *kernel.least_cycles +=
          CertifyVector(work.instruction, config_, work.orders_timed).lower_bound;
    }
    kernel.works.resize(before);
    std::move(works.begin(), works.end(), std::back_inserter(kernel.works));
  } else {
    out_.buffers.resize(buffers);
  }
  return kernel;
}

StatusOr<Kernel> Lowering::EmitLayerNorm(const Group& group) {
  const Node& node = *group.anchor;
  for (int i = 1; i < node.num_results(); ++i) {
    if (node.result(i) != nullptr)
      return ToHost("mean and deviation of the normalisation are asked for");
  }
  KILN_ASSIGN_OR_RETURN(View input, ViewOf(node.operand(0)));
  const auto axis = NormaliseAxis(node.attributes().Int("axis", -1), input.rank());
  if (!axis.has_value())
    return ErrorAt(graph_.source(), node.Describe(), "its axis is beyond its rank", "");
  int64_t length = 1;
  for (int i = *axis; i < input.rank(); ++i) length *= input.shape[static_cast<size_t>(i)];
  // A root mean square needs only the sum of the squares: both passes read the operand, and no row
  // is buffered.
  const bool centred = node.op() == Op::kLayerNormalization;
  const int64_t limit = int64_t{config_.vector_row_buffer_words} * config_.lanes();
  if (centred && length > limit) {
    return ToHost(fmt::format("rows of {} elements; the row buffer holds {}", length, limit));
  }
  const int stages = centred ? 3 : 2;
  if (config_.vector_stages < stages)
    return ToHost(fmt::format("the vector unit has fewer than {} stages", stages));
  if (length == 0) return ToHost("a tensor without elements");

  // The normalised axes are joined to one.
  std::vector<int64_t> rows(input.shape.begin(), input.shape.begin() + *axis);
  rows.push_back(length);
  Kernel kernel = NewKernel(group, "vector",
                            fmt::format("{} norm {}{}", centred ? "layer" : "rms",
                                        ShapeText(input.shape), group.chain.text));
  const View result = ResultView(group.result);
  // Block scales can be kept if the last axis alone is normalised.
  View written = result;
  if (*axis != input.rank() - 1) {
    KILN_ASSIGN_OR_RETURN(input, Unblocked(input, &kernel.works));
    written = Landing(result, -1);
  }
  const auto source = Reshaped(input, rows);
  const auto target = Reshaped(written, rows);
  if (!source.has_value() || !target.has_value())
    return ToHost("normalised axes that do not lie together");
  VectorSpec spec;
  spec.output = *target;
  spec.operands = {*source};
  spec.rows_are_last_axis = true;
  Stage affine{.op = centred ? StageOp::kFma : StageOp::kMultiply,
               .a = Argument::kImmediate,
               .immediate_a = 1};
  if (centred) affine.b = Argument::kImmediate;
  for (int i : {1, 2}) {
    const Value* value = node.operand(i);
    if (value == nullptr) continue;
    KILN_ASSIGN_OR_RETURN(const View view, ViewOf(value));
    const std::vector<int64_t> normalised(input.shape.begin() + *axis, input.shape.end());
    const auto flat = Reshaped(Broadcast(view, normalised), std::vector<int64_t>{length});
    if (!flat.has_value()) return ToHost("scale or bias that does not lie together");
    spec.operands.push_back(Broadcast(*flat, rows));
    const Argument argument = spec.operands.size() == 2 ? Argument::kOperand1 : Argument::kOperand2;
    (i == 1 ? affine.a : affine.b) = argument;
  }
  const float inverse_length = 1.0f / static_cast<float>(length);
  const float epsilon = node.attributes().Float("epsilon", 1e-5f);
  // Product and sum are one stage where functions come early. In short floats each is rounded then,
  // too; in fp32 there is one rounding less.
  const Stage root{.op = StageOp::kReciprocalSquareRoot};
  std::vector<Stage> inverse_root = {WithImmediate(StageOp::kMultiply, inverse_length),
                                     WithImmediate(StageOp::kAdd, epsilon), root};
  if (!PlaceStages(inverse_root, config_).has_value()) {
    inverse_root = {{.op = StageOp::kFma,
                     .a = Argument::kImmediate,
                     .b = Argument::kImmediate,
                     .immediate_a = inverse_length,
                     .immediate_b = epsilon},
                    root};
  }
  KILN_ASSIGN_OR_RETURN(inverse_root, PlacedStages(inverse_root));
  Pass mean;
  mean.source = Source::kOperand0;
  mean.reduce = Reduce::kSum;
  mean.into = 0;
  mean.to_row_buffer = true;
  mean.scalar_stages = {WithImmediate(StageOp::kMultiply, inverse_length)};
  Pass variance;
  variance.source = centred ? Source::kRowBuffer : Source::kOperand0;
  if (centred) variance.stages = {WithScalar(StageOp::kSubtract, 0)};
  variance.stages.push_back({.op = StageOp::kSquare});
  variance.reduce = Reduce::kSum;
  variance.into = 1;
  variance.scalar_stages = inverse_root;
  std::vector<Stage> last = {WithScalar(StageOp::kMultiply, 1), affine};
  if (centred) {
    last.insert(last.begin(), WithScalar(StageOp::kSubtract, 0));
    spec.passes = {mean, variance, FinalPass(Source::kRowBuffer, last, group.chain)};
  } else {
    spec.passes = {variance, FinalPass(Source::kOperand0, last, group.chain)};
  }
  KILN_RETURN_IF_ERROR(EmitVector(spec, &kernel.works));
  KILN_RETURN_IF_ERROR(Land(written, result, &kernel.works));
  views_[group.result] = result;
  return kernel;
}

}  // namespace kiln::systolic
