// Lowers matrix products of activations by constant weights or by other activations.
#include <algorithm>
#include <array>
#include <numeric>

#include "fmt/format.h"
#include "kiln/targets/systolic/compile/lower_operands.h"
#include "kiln/targets/systolic/compile/lower_windows.h"
#include "kiln/targets/systolic/compile/lowering.h"
#include "kiln/targets/systolic/compile/schedule.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/simulate/numbers.h"

namespace kiln::systolic {

// A product [lead..., m, k] x [lead..., k, n]. The steps of EmitProduct fill in the members from
// top to bottom.
struct Product {
  const Node* node = nullptr;
  bool gemm = false, transpose_b = false;
  float alpha = 1;
  const Value* weight = nullptr;
  int reduction_axis = 0;  // of `weight`
  View a;                  // activations
  View b;                  // weights; of constant weights, the batch strides only, counted in
                           // matrices
  bool constant = false;   // whether the weights are constant
  int precision = 0;
  Config at;  // the design point at this precision

  View result, output;  // `output` is written and then copied to `result`
  int64_t m = 1, k = 1, n = 1;
  std::vector<int64_t> lead;
  std::vector<float> bias;
  bool has_bias = false;

  bool in_place = false;  // rows of `a` are read although their codes are not adjacent
  std::vector<View> operands;
  std::shared_ptr<const WeightCodes> codes;  // constant weights
  ParameterSets parameters{1, 1};
  int parameter_buffer = -1;

  // The views that the loops walk: a, output, weights, operands. Loops in which the weights do not
  // change are pixels, loops in which they change are batches; each iteration of `rest` is a
  // separate instruction.
  static constexpr size_t kInput = 0, kOutput = 1, kWeights = 2, kOperands = 3;
  Loop x, y, batch;
  std::vector<Loop> rest;
  int64_t instructions = 1;

  std::vector<int64_t> WithLead(int64_t rows, int64_t columns) const {
    std::vector<int64_t> shape = lead;
    shape.insert(shape.end(), {rows, columns});
    return shape;
  }
};

namespace {

// Returns a product of `m` rows by constant weights. The input codes of a row are `k_stride` bytes
// apart, and those of a column `m_stride`.
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

// Returns whether a product is at least as good, by `ranking`, if it reads its rows in place, one
// code per request, as if the vector unit first makes a dense copy.
bool ReadsInPlace(const Config& config, const Ranking& ranking, int64_t m, int64_t k, int64_t n,
                  int64_t m_stride, int64_t k_stride) {
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
  Scheduler scheduler(config, ranking);
  const auto in_place = scheduler.Find(TrialProduct(config, m, k, n, m_stride, k_stride));
  const auto dense = scheduler.Find(TrialProduct(config, m, k, n, k * bytes, bytes));
  if (!in_place.ok() || !dense.ok()) return in_place.ok();
  Expense with_copy = dense->expense;
  with_copy += ranking.ExpenseOf(copy, EstimateCycles(copy, config));
  return !ranking.IsBetter(with_copy, in_place->expense);
}

View WithoutLastAxis(const View& view) { return WithoutAxis(view, view.rank() - 1); }

// Returns the view with the last two axes swapped.
View WithRowsAsColumns(const View& view) {
  std::vector<int64_t> perm(view.shape.size());
  std::iota(perm.begin(), perm.end(), int64_t{0});
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return Transposed(view, perm);
}

}  // namespace

// Reads the operands of a product and finds the precision at which the array takes them.
StatusOr<Product> Lowering::ReadProduct(const Group& group) {
  Product p;
  const Node& node = *group.anchor;
  p.node = &node;
  p.gemm = node.op() == Op::kGemm;
  p.transpose_b = node.attributes().Int(p.gemm ? "transB" : "transpose_b", 0) != 0;
  p.alpha = node.attributes().Float("alpha", 1.0f);
  p.weight = node.operand(1);
  p.constant = p.weight->is_constant();
  p.reduction_axis = p.weight->shape().rank() - (p.transpose_b ? 1 : 2);
  KILN_ASSIGN_OR_RETURN(p.a, ViewOf(node.operand(0)));
  if (!p.constant) {
    KILN_ASSIGN_OR_RETURN(p.b, ViewOf(p.weight));
  }
  const auto takes = [&](const Config& at) -> Status {
    KILN_RETURN_IF_ERROR(CheckOperand(p.a.encoding, Side::kInput, at, "activations"));
    if (p.constant) return ConstantWeights::Read(*p.weight, p.reduction_axis, at).status();
    return CheckOperand(p.b.encoding, Side::kWeight, at, "activations used as weights");
  };
  KILN_ASSIGN_OR_RETURN(p.precision, FindPrecision(config_, takes));
  p.at = AtPrecision(config_, p.precision);
  if (p.a.rank() < 2 || p.weight->shape().rank() < 2) return ToHost("a product with a vector");
  if (p.gemm && node.attributes().Int("transA", 0) != 0) p.a = WithRowsAsColumns(p.a);

  p.result = ResultView(group.result);
  p.output = Landing(p.result, p.result.rank() - 1);
  const std::vector<int64_t>& shape = p.output.shape;
  p.k = p.a.shape.back();
  p.n = shape.back();
  p.m = shape[shape.size() - 2];
  p.lead.assign(shape.begin(), shape.end() - 2);
  if (!FitsCounts({p.k, p.n, p.m, p.output.elements()}))
    return ToHost("the product is larger than the machine counts");
  KILN_RETURN_IF_ERROR(ReadBias(group, &p));
  return p;
}

Status Lowering::ReadBias(const Group& group, Product* p) const {
  p->bias = BiasOf(group.bias, p->n);
  const Value* c = p->gemm ? p->node->operand(2) : nullptr;
  p->has_bias = !group.bias.empty() || c != nullptr;
  if (c == nullptr) return OkStatus();
  const bool per_channel =
      c->is_constant() && c->element() == ElementType::kFloat32 &&
      (c->constant().size() == 1 ||
       (c->constant().size() == p->n && c->shape()[c->shape().rank() - 1] == p->n));
  if (!per_channel) return ToHost("the bias of the product is not a constant per column");
  const auto values = c->constant().data<float>();
  for (size_t i = 0; i < p->bias.size(); ++i) {
    p->bias[i] += p->node->attributes().Float("beta", 1.0f) * values[values.size() == 1 ? 0 : i];
  }
  return OkStatus();
}

// Determines how the activations are read. Rows whose codes are not adjacent (those of a transposed
// matrix) are either read as columns of an image with one channel, under a kernel as high as the
// rows are long, or copied.
Status Lowering::PlaceActivations(const Group& group, Product* p, std::vector<Work>* works) {
  KILN_ASSIGN_OR_RETURN(p->a, WithBlocksAlong(p->a, p->a.rank() - 1, works));
  p->a = Broadcast(p->a, p->WithLead(p->m, p->k));
  const std::vector<int64_t>& strides = p->a.strides;
  p->in_place = p->k > 1 && strides.back() != p->a.encoding.bytes;
  if (p->in_place &&
      (config_.block_size > 0 || !ReadsInPlace(config_, ranking_, p->m, p->k, p->n,
                                               strides[strides.size() - 2], strides.back()))) {
    KILN_ASSIGN_OR_RETURN(p->a, Materialise(p->a, p->node->name() + " input", works));
    p->in_place = false;
  }
  KILN_ASSIGN_OR_RETURN(p->operands, ChainOperands(group.chain, p->result, works));
  for (View& operand : p->operands) {
    KILN_ASSIGN_OR_RETURN(operand, AlongBlocks(operand, p->result.rank() - 1, works));
  }
  return OkStatus();
}

// Determines the codes and parameters of constant weights. Of their view `b` only the batch strides
// matter; they are counted in matrices.
Status Lowering::PlaceConstantWeights(Product* p) const {
  const int64_t k = p->k, n = p->n;
  KILN_ASSIGN_OR_RETURN(const ConstantWeights weights,
                        ConstantWeights::Read(*p->weight, p->reduction_axis, p->at));
  const int64_t batches = p->weight->constant().size() / (k * n);
  p->codes = p->transpose_b ? weights.Codes({batches, 1, n, k}, {0, 1, 3, 2})
                            : weights.Codes({batches, 1, k, n}, {0, 1, 2, 3});
  // Scales along k or along batches cannot be factored out of the sum.
  if (weights.per_channel() &&
      (weights.channel_stride() != (p->transpose_b ? k : 1) || weights.channels() != n)) {
    return ToHost("weights have scales along something else than output channels");
  }
  const double input_factor = FactorOf(p->a.encoding, Side::kInput, p->at);
  for (int64_t c = 0; c < n; ++c) {
    const int64_t first = p->transpose_b ? c * k : c;
    p->parameters.scales[static_cast<size_t>(c)] =
        static_cast<float>(input_factor * weights.Factor(first) * p->alpha);
  }
  if (batches > 1 && p->a.encoding.zero_point != 0) {
    return ToHost("weights that differ between batches need activations without a zero point");
  }
  FillOffsets(*p->codes, p->at.weight_format, 0, p->a.encoding.zero_point, &p->parameters);
  const std::vector<int64_t>& dims = p->weight->shape().dims();
  const View matrices{RowMajorView(std::span(dims).first(dims.size() - 2)), 0, {}, {}};
  const int rank = static_cast<int>(p->lead.size());
  p->b = WithRepeats(WithRepeats(Broadcast(matrices, p->lead), rank, k), rank + 1, n);
  return OkStatus();
}

// Makes a view over [lead..., k, n] in which the codes of a row or of a column are adjacent.
Status Lowering::PlaceWeights(Product* p, std::vector<Work>* works) {
  View& b = p->b;
  if (p->a.encoding.zero_point != 0 || b.encoding.zero_point != 0) {
    return ToHost("a product of two activations needs both without a zero point");
  }
  if (p->transpose_b) b = WithRowsAsColumns(b);
  KILN_ASSIGN_OR_RETURN(b, WithBlocksAlong(b, b.rank() - 2, works));
  b = Broadcast(b, p->WithLead(p->k, p->n));
  const int64_t bytes = b.encoding.bytes, row = b.strides[p->lead.size()],
                column = b.strides[p->lead.size() + 1];
  const bool dense = p->k == 1 || row == bytes || (!b.blocked() && (p->n == 1 || column == bytes));
  if (!dense) {
    KILN_ASSIGN_OR_RETURN(b, Materialise(b, p->node->name() + " weights", works));
  }
  const double scale = FactorOf(p->a.encoding, Side::kInput, p->at) *
                       FactorOf(b.encoding, Side::kWeight, p->at) * p->alpha;
  std::fill(p->parameters.scales.begin(), p->parameters.scales.end(), static_cast<float>(scale));
  return OkStatus();
}

Status Lowering::ChooseLoops(Product* p) const {
  std::vector<View> rows = {
      WithoutLastAxis(p->a), WithoutLastAxis(p->output),
      WithRepeats(WithoutLastAxis(WithoutLastAxis(p->b)), static_cast<int>(p->lead.size()), p->m)};
  for (const View& operand : p->operands) rows.push_back(WithoutLastAxis(operand));
  std::vector<const View*> walked;
  for (const View& view : rows) walked.push_back(&view);
  std::vector<Loop> pixels, batches;
  for (Loop& loop : LoopsOver(walked, /*keep_last=*/false))
    (loop.strides[Product::kWeights] == 0 ? pixels : batches).push_back(loop);
  const auto take = [&](std::vector<Loop>& from) {
    if (from.empty()) return OneStep(walked.size());
    Loop loop = std::move(from.back());
    from.pop_back();
    return loop;
  };
  p->x = take(pixels);
  p->y = p->in_place ? OneStep(walked.size()) : take(pixels);
  p->batch = batches.empty() ? take(pixels) : take(batches);
  p->rest = std::move(pixels);
  p->rest.insert(p->rest.end(), batches.begin(), batches.end());
  for (const Loop& loop : p->rest) p->instructions *= loop.count;
  if (p->instructions > kMaxInstructionsPerKernel)
    return ToHost(fmt::format("needs {} instructions", p->instructions));
  if (p->constant && p->codes->batches > 1 &&
      (p->batch.strides[Product::kWeights] != 1 || p->batch.count != p->codes->batches ||
       p->instructions > 1)) {
    return ToHost("weights that differ between batches");
  }
  return OkStatus();
}

namespace {

// Sets the input and the sizes of the matrix instruction.
void SetInput(const Product& p, const View& a, Work* work) {
  Convolution& c = work->instruction.convolution;
  c.batch = static_cast<int32_t>(p.batch.count);
  c.height = c.out_height = static_cast<int32_t>(p.y.count);
  c.width = c.out_width = static_cast<int32_t>(p.x.count);
  c.out_channels = static_cast<int32_t>(p.n);
  c.input_batch_stride = p.batch.strides[Product::kInput];
  if (p.in_place) {
    c.height = c.kernel_y = static_cast<int32_t>(p.k);
    c.input_row_stride = a.strides.back();
  } else {
    c.channels = static_cast<int32_t>(p.k);
    c.input_row_stride = p.y.strides[Product::kInput];
  }
  c.input_column_stride = p.x.strides[Product::kInput];
  c.pad_code = IsInteger(a.encoding.element) ? a.encoding.zero_point : 0;
  c.input_scales =
      InputScales(a, p.batch.scale_strides[0], p.y.scale_strides[0], p.x.scale_strides[0]);
  work->input_counts = CountsOf(a.encoding, Side::kInput, p.at);
  work->input_zero = a.encoding.zero_point;
  work->input = PlaceOf(a);
  work->input_scales = ScalePlaceOf(a);
}

void SetWeights(const Product& p, const View& b, Work* work) {
  Convolution& c = work->instruction.convolution;
  if (p.constant) {
    work->codes = p.codes;
    c.weight_scales.present = p.codes->blocked();
    return;
  }
  const size_t batch = Product::kWeights;
  c.weight_layout = WeightLayout::kStrided;
  c.weight_batch_stride = p.batch.strides[batch];
  const int64_t bytes = b.encoding.bytes, rows = b.strides[p.lead.size()];
  c.weight_row_stride = p.k == 1 ? bytes : rows;
  c.weight_column_stride =
      p.n == 1 && p.k > 1 && rows != bytes ? bytes : b.strides[p.lead.size() + 1];
  work->weight_counts = CountsOf(b.encoding, Side::kWeight, p.at);
  work->weights = PlaceOf(b);
  if (!b.blocked()) return;
  c.weight_scales.present = true;
  c.weight_scales.batch_stride = p.batch.scale_strides[batch];
  c.weight_scales.column_stride = b.blocks.strides[p.lead.size() + 1];
  work->weight_scales = ScalePlaceOf(b);
}

Stream StreamOfRows(const Product& p, const View& view, size_t walked) {
  Stream stream = StreamOf(view);
  stream.outer_stride = {p.batch.strides[walked], p.y.strides[walked], p.x.strides[walked], 0};
  stream.element_stride = view.strides.back();
  stream.blocks.outer_stride = {p.batch.scale_strides[walked], p.y.scale_strides[walked],
                                p.x.scale_strides[walked], 0};
  return stream;
}

}  // namespace

// Returns instruction `index` of the remaining loops.
Work Lowering::ProductWork(const Group& group, const Product& p, int64_t index) const {
  // Returns a view that begins at this instruction's share.
  const auto share = [&](View view, size_t walked) {
    int64_t left = index;
    for (size_t i = p.rest.size(); i-- > 0;) {
      view.offset += left % p.rest[i].count * p.rest[i].strides[walked];
      view.blocks.offset += left % p.rest[i].count * p.rest[i].scale_strides[walked];
      left /= p.rest[i].count;
    }
    return view;
  };
  Work work;
  work.instruction.opcode = Opcode::kMatrix;
  work.instruction.precision = static_cast<uint8_t>(p.precision);
  SetInput(p, share(p.a, Product::kInput), &work);
  SetWeights(p, share(p.b, Product::kWeights), &work);
  work.parameters = {p.parameter_buffer, 0};
  const Convolution& c = work.instruction.convolution;
  VectorProgram& v = work.instruction.vector;
  v.outer = {c.batch, c.out_height, c.out_width, 1};
  v.length = c.out_channels;
  for (size_t i = 0; i < p.operands.size(); ++i) {
    const size_t walked = Product::kOperands + i;
    PushOperand(StreamOfRows(p, p.operands[i], walked), share(p.operands[i], walked), &work);
  }
  v.passes = {FinalPass(Source::kAccumulator, {}, group.chain)};
  SetOutput(StreamOfRows(p, p.output, Product::kOutput), share(p.output, Product::kOutput), &work);
  return work;
}

StatusOr<Kernel> Lowering::EmitProduct(const Group& group) {
  KILN_ASSIGN_OR_RETURN(Product p, ReadProduct(group));
  Kernel kernel = NewKernel(group, "matrix", "");
  KILN_RETURN_IF_ERROR(PlaceActivations(group, &p, &kernel.works));
  p.parameters = ParameterSets(1, p.n);
  p.parameters.biases = p.bias;
  KILN_RETURN_IF_ERROR(p.constant ? PlaceConstantWeights(&p) : PlaceWeights(&p, &kernel.works));
  p.parameter_buffer = NewConstant(KernelName(std::array<const Node*, 1>{p.node}) + " parameters",
                                   p.parameters.Bytes());
  KILN_RETURN_IF_ERROR(ChooseLoops(&p));
  const int64_t products = p.batch.count * p.instructions;
  kernel.info.operation =
      fmt::format("matmul {}{}x{}x{}{}{}", products > 1 ? fmt::format("{} x ", products) : "",
                  p.x.count * p.y.count, p.k, p.n, p.has_bias ? " + bias" : "", group.chain.text);
  for (int64_t index = 0; index < p.instructions; ++index)
    kernel.works.push_back(ProductWork(group, p, index));
  KILN_RETURN_IF_ERROR(Land(p.output, p.result, &kernel.works));
  views_[group.result] = p.result;
  return kernel;
}

}  // namespace kiln::systolic
