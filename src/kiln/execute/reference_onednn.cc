#include "kiln/execute/reference_onednn.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "kiln/ir/window.h"
#include "kiln/support/check.h"

// Of the OpenMP runtime that oneDNN itself runs on; <omp.h> belongs to the compiler, which may bring another runtime.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int threads);
}

namespace kiln::reference {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

constexpr auto kFloat = memory::data_type::f32;

dnnl::primitive_attr AttributesFor(const PostOperations& post) {
  dnnl::primitive_attr attr;
  // The library's own scratchpad belongs to the thread that created the primitive; ours goes with the run.
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (!post.empty()) {
    dnnl::post_ops ops;
    if (post.adds_residual) ops.append_sum(1.0f);
    if (post.activation.has_value()) ops.append_eltwise(1.0f, *post.activation, post.alpha, post.beta);
    attr.set_post_ops(ops);
  }
  return attr;
}

// Row-major in the order NHWC, described with the dimensions in the order NCHW.
memory::desc NhwcDesc(const std::vector<int64_t>& nchw) {
  memory::dims strides(nchw.size());
  int64_t stride = nchw[1];
  for (size_t d = nchw.size(); d-- > 2;) {
    strides[d] = stride;
    stride *= nchw[d];
  }
  strides[1] = 1;
  strides[0] = stride;
  return memory::desc(nchw, kFloat, strides);
}

std::vector<int64_t> NchwDims(const Shape& shape, bool nhwc) {
  std::vector<int64_t> dims = shape.dims();
  if (nhwc) std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return dims;
}

bool HasElements(const Shape& shape) {
  return shape.IsKnown() && std::find(shape.dims().begin(), shape.dims().end(), 0) == shape.dims().end();
}

// oneDNN's own limit on rank, fp32, and something in every tensor.
bool AreDense(const NodeShapes& shapes) {
  const auto fits = [](const TensorType& t) {
    return t.element == ElementType::kFloat32 && t.shape.has_value() && HasElements(*t.shape) && t.shape->rank() <= 6;
  };
  return fits(shapes.result) && std::all_of(shapes.operands.begin(), shapes.operands.end(),
                                            [&](const auto& t) { return !t.has_value() || fits(*t); });
}

const Shape& OperandShape(const NodeShapes& shapes, size_t i) { return *shapes.operands[i]->shape; }
bool Present(const NodeShapes& shapes, size_t i) {
  return i < shapes.operands.size() && shapes.operands[i].has_value();
}

template <typename PrimitiveDesc>
void Finish(OneDnnNode& out, const PrimitiveDesc& pd) {
  out.scratchpad_bytes = pd.scratchpad_desc().get_size();
}

std::optional<OneDnnNode> MakeConvolution(const Node& node, const NodeShapes& shapes, const PostOperations& post) {
  const Shape& x = OperandShape(shapes, 0);
  const Shape& w = OperandShape(shapes, 1);
  const StatusOr<ConvGeometry> geometry = ResolveConv(node, x, w);
  if (!geometry.ok() || geometry->rank() > 3 || geometry->OutputShape() != *shapes.result.shape) return std::nullopt;
  if (Present(shapes, 2) && OperandShape(shapes, 2) != Shape{geometry->out_channels}) return std::nullopt;
  const ConvGeometry& g = *geometry;
  memory::dims strides, dilations, begins, ends;
  for (const WindowAxis& axis : g.axes) {
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation - 1);
    begins.push_back(axis.pad_begin);
    ends.push_back(axis.pad_end);
  }
  memory::dims weights = w.dims();
  if (g.groups > 1) {
    weights[0] /= g.groups;
    weights.insert(weights.begin(), g.groups);
  }
  const memory::dims src = NchwDims(x, g.nhwc), dst = NchwDims(*shapes.result.shape, g.nhwc);
  const bool has_bias = Present(shapes, 2);
  const memory::desc src_desc = g.nhwc ? NhwcDesc(src) : AnyDesc(src), dst_desc = g.nhwc ? NhwcDesc(dst) : AnyDesc(dst);
  using Convolution = dnnl::convolution_forward;
  const auto desc = has_bias ? Convolution::desc(prop_kind::forward_inference, algorithm::convolution_direct, src_desc,
                                                 AnyDesc(weights), PlainDesc({g.out_channels}), dst_desc, strides,
                                                 dilations, begins, ends)
                             : Convolution::desc(prop_kind::forward_inference, algorithm::convolution_direct, src_desc,
                                                 AnyDesc(weights), dst_desc, strides, dilations, begins, ends);
  const Convolution::primitive_desc pd(desc, AttributesFor(post), CpuEngine());
  OneDnnNode out;
  out.primitive = Convolution(pd);
  out.arguments = {{DNNL_ARG_SRC, 0, g.nhwc ? NhwcDesc(src) : PlainDesc(src), pd.src_desc()},
                   {DNNL_ARG_WEIGHTS, 1, PlainDesc(weights), pd.weights_desc()}};
  if (has_bias) out.arguments.push_back({DNNL_ARG_BIAS, 2, PlainDesc({g.out_channels}), pd.bias_desc()});
  out.plain_result = g.nhwc ? NhwcDesc(dst) : PlainDesc(dst);
  out.result = pd.dst_desc();
  Finish(out, pd);
  return out;
}

std::optional<OneDnnNode> MakePool(const Node& node, const NodeShapes& shapes, const KnownLayouts& layouts) {
  const Shape& x = OperandShape(shapes, 0);
  const StatusOr<PoolGeometry> geometry = ResolvePool(node, x);
  if (!geometry.ok() || geometry->axes.size() > 3 || geometry->OutputShape() != *shapes.result.shape)
    return std::nullopt;
  if (node.num_results() > 1 && node.result(1) != nullptr) return std::nullopt;
  const PoolGeometry& g = *geometry;
  const bool takes_greatest = node.op() == Op::kMaxPool || node.op() == Op::kGlobalMaxPool;
  memory::dims strides, kernel, dilations, begins, ends;
  for (const WindowAxis& axis : g.axes) {
    // Under ceil_mode the last window reaches beyond the padding, which oneDNN must be told as padding.
    const int64_t reach = (axis.output - 1) * axis.stride + axis.Extent() - axis.input - axis.pad_begin;
    if (g.count_include_pad && reach > axis.pad_end) return std::nullopt;
    if (axis.pad_begin >= axis.Extent() || reach >= axis.Extent()) return std::nullopt;  // windows on padding alone
    if (!takes_greatest && axis.dilation > 1) return std::nullopt;
    strides.push_back(axis.stride);
    kernel.push_back(axis.kernel);
    dilations.push_back(axis.dilation - 1);
    begins.push_back(axis.pad_begin);
    ends.push_back(std::max<int64_t>(reach, 0));
  }
  const algorithm how = takes_greatest        ? algorithm::pooling_max
                        : g.count_include_pad ? algorithm::pooling_avg_include_padding
                                              : algorithm::pooling_avg_exclude_padding;
  const memory::dims src = NchwDims(x, g.nhwc), dst = NchwDims(*shapes.result.shape, g.nhwc);
  const memory::desc plain_src = g.nhwc ? NhwcDesc(src) : PlainDesc(src);
  const memory::desc src_desc = g.nhwc || layouts[0].is_zero() ? plain_src : layouts[0];
  const memory::desc dst_desc = g.nhwc ? NhwcDesc(dst) : AnyDesc(dst);
  using Pooling = dnnl::pooling_v2_forward;
  const Pooling::primitive_desc pd(
      Pooling::desc(prop_kind::forward_inference, how, src_desc, dst_desc, strides, kernel, dilations, begins, ends),
      AttributesFor({}), CpuEngine());
  OneDnnNode out;
  out.primitive = Pooling(pd);
  out.arguments = {{DNNL_ARG_SRC, 0, plain_src, pd.src_desc()}};
  out.plain_result = g.nhwc ? NhwcDesc(dst) : PlainDesc(dst);
  out.result = pd.dst_desc();
  Finish(out, pd);
  return out;
}

// A product as oneDNN's matmul: fp32 matrices with equal rank, either order of the last two axes.
struct Product {
  memory::dims a, b, y;
  bool transpose_a = false, transpose_b = false;
  float alpha = 1;
  int bias = -1;  // operand of [columns], or none
};

memory::desc MatrixDesc(memory::dims dims, bool transposed) {
  if (!transposed) return PlainDesc(dims);
  // `dims` are those of the product; memory holds the last two the other way round.
  memory::dims strides(dims.size());
  const size_t n = dims.size();
  strides[n - 1] = dims[n - 2];
  strides[n - 2] = 1;
  int64_t stride = dims[n - 1] * dims[n - 2];
  for (size_t d = n - 2; d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return memory::desc(dims, kFloat, strides);
}

std::optional<OneDnnNode> MakeProduct(const Node& node, const Product& p, const PostOperations& post) {
  dnnl::primitive_attr attr = AttributesFor(post);
  if (p.alpha != 1) attr.set_output_scales(0, {p.alpha});
  const memory::desc a = MatrixDesc(p.a, p.transpose_a), plain_b = MatrixDesc(p.b, p.transpose_b), y = PlainDesc(p.y);
  // Constant weights are worth a layout of their own.
  const Value* weights = node.operand(1);
  const bool reorders = weights != nullptr && weights->is_constant() && p.b.size() == 2;
  const memory::desc b = reorders ? AnyDesc(p.b) : plain_b;
  using MatMul = dnnl::matmul;
  memory::dims bias_dims(p.y.size(), 1);
  bias_dims.back() = p.y.back();
  const MatMul::desc desc = p.bias >= 0 ? MatMul::desc(a, b, PlainDesc(bias_dims), y) : MatMul::desc(a, b, y);
  const MatMul::primitive_desc pd(desc, attr, CpuEngine());
  OneDnnNode out;
  out.primitive = MatMul(pd);
  out.arguments = {{DNNL_ARG_SRC, 0, a, pd.src_desc()}, {DNNL_ARG_WEIGHTS, 1, plain_b, pd.weights_desc()}};
  if (p.bias >= 0) out.arguments.push_back({DNNL_ARG_BIAS, p.bias, PlainDesc(bias_dims), pd.bias_desc()});
  out.plain_result = out.result = y;
  Finish(out, pd);
  return out;
}

std::optional<OneDnnNode> MakeGemm(const Node& node, const NodeShapes& shapes, const PostOperations& post) {
  const Shape &a = OperandShape(shapes, 0), &b = OperandShape(shapes, 1), &y = *shapes.result.shape;
  if (a.rank() != 2 || b.rank() != 2 || y.rank() != 2) return std::nullopt;
  Product p;
  p.transpose_a = node.attributes().Int("transA", 0) != 0;
  p.transpose_b = node.attributes().Int("transB", 0) != 0;
  p.alpha = node.attributes().Float("alpha", 1.0f);
  const int64_t depth = a[p.transpose_a ? 0 : 1];
  p.a = {y[0], depth};
  p.b = {depth, y[1]};
  p.y = {y[0], y[1]};
  if (a.NumElements() != y[0] * depth || b.NumElements() != depth * y[1]) return std::nullopt;
  if (Present(shapes, 2)) {
    const Shape& c = OperandShape(shapes, 2);
    if (c.rank() == 0 || c.NumElements() != y[1] || c[c.rank() - 1] != y[1]) return std::nullopt;
    if (p.alpha != 1 || node.attributes().Float("beta", 1.0f) != 1) return std::nullopt;
    p.bias = 2;
  }
  return MakeProduct(node, p, post);
}

std::optional<OneDnnNode> MakeMatMul(const Node& node, const NodeShapes& shapes, const PostOperations& post) {
  Shape a = OperandShape(shapes, 0), b = OperandShape(shapes, 1), y = *shapes.result.shape;
  if (a.rank() < 2 || b.rank() < 2) return std::nullopt;
  Product p;
  p.transpose_b = node.attributes().Int("transpose_b", 0) != 0;
  p.alpha = node.attributes().Float("alpha", 1.0f);
  if (b.rank() == 2 && a.rank() > 2) {
    // One tall matrix instead of many.
    const int64_t depth = a[a.rank() - 1], columns = y[y.rank() - 1];
    a = Shape{a.NumElements() / depth, depth};
    y = Shape{y.NumElements() / columns, columns};
  }
  p.a = a.dims();
  p.b = b.dims();
  p.y = y.dims();
  const size_t rank = p.y.size();
  p.a.insert(p.a.begin(), rank - p.a.size(), 1);
  p.b.insert(p.b.begin(), rank - p.b.size(), 1);
  if (p.transpose_b) std::swap(p.b[rank - 1], p.b[rank - 2]);
  return MakeProduct(node, p, post);
}

}  // namespace

const dnnl::engine& CpuEngine() {
  static const auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);  // outlives every primitive
  return *engine;
}

OpenMpThreads::OpenMpThreads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
OpenMpThreads::~OpenMpThreads() { omp_set_num_threads(before_); }

std::shared_ptr<void> AllocateBuffer(size_t bytes) {
  void* storage = std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  KILN_CHECK(storage != nullptr);
  return std::shared_ptr<void>(storage, std::free);
}

memory::desc PlainDesc(const std::vector<int64_t>& dims) {
  memory::dims strides(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return memory::desc(dims, kFloat, strides);
}

memory::desc AnyDesc(const std::vector<int64_t>& dims) { return memory::desc(dims, kFloat, memory::format_tag::any); }

std::optional<PostOperations> FindActivation(const Node& node) {
  PostOperations post;
  switch (node.op()) {
    case Op::kRelu:
      post.activation = algorithm::eltwise_relu;
      return post;
    case Op::kLeakyRelu:
      post.activation = algorithm::eltwise_relu;
      post.alpha = node.attributes().Float("alpha", 0.01f);
      return post;
    case Op::kClip: {
      post.activation = algorithm::eltwise_clip;
      post.alpha = -std::numeric_limits<float>::infinity();
      post.beta = std::numeric_limits<float>::infinity();
      for (int i = 1; i <= 2; ++i) {
        const Value* bound = node.operand(i);
        if (bound == nullptr) continue;
        if (!bound->is_constant() || bound->constant().type() != ElementType::kFloat32 ||
            bound->constant().size() != 1) {
          return std::nullopt;
        }
        (i == 1 ? post.alpha : post.beta) = static_cast<float>(bound->constant().ValueAt(0));
      }
      if (post.alpha > post.beta) return std::nullopt;
      return post;
    }
    default:
      return std::nullopt;
  }
}

std::optional<OneDnnNode> MakeHeavy(const Node& node, const NodeShapes& shapes, const KnownLayouts& layouts,
                                    const PostOperations& post) {
  if (!AreDense(shapes)) return std::nullopt;
  // oneDNN throws where it has no implementation; the plain kernels always have one.
  try {
    switch (node.op()) {
      case Op::kConv:
        return MakeConvolution(node, shapes, post);
      case Op::kGemm:
        return MakeGemm(node, shapes, post);
      case Op::kMatMul:
        return MakeMatMul(node, shapes, post);
      case Op::kMaxPool:
      case Op::kAveragePool:
      case Op::kGlobalAveragePool:
      case Op::kGlobalMaxPool:
        return MakePool(node, shapes, layouts);
      default:
        return std::nullopt;
    }
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
}

std::optional<OneDnnNode> MakeInLayout(const Node& node, const NodeShapes& shapes, const KnownLayouts& layouts) {
  if (!AreDense(shapes)) return std::nullopt;
  const auto known = std::find_if(layouts.begin(), layouts.end(), [](const memory::desc& d) { return !d.is_zero(); });
  if (known == layouts.end()) return std::nullopt;
  const memory::desc layout = *known;
  const memory::desc plain = PlainDesc(shapes.result.shape->dims());
  OneDnnNode out;
  out.plain_result = plain;
  out.result = layout;
  try {
    if (const auto post = FindActivation(node)) {
      using Eltwise = dnnl::eltwise_forward;
      const Eltwise::primitive_desc pd(
          Eltwise::desc(prop_kind::forward_inference, *post->activation, layout, post->alpha, post->beta),
          AttributesFor({}), CpuEngine());
      out.primitive = Eltwise(pd);
      out.arguments = {{DNNL_ARG_SRC, 0, plain, layout}};
      Finish(out, pd);
      return out;
    }
    if (node.op() == Op::kAdd || node.op() == Op::kMul) {
      if (OperandShape(shapes, 0) != *shapes.result.shape || OperandShape(shapes, 1) != *shapes.result.shape) {
        return std::nullopt;
      }
      using Binary = dnnl::binary;
      const Binary::primitive_desc pd(
          Binary::desc(node.op() == Op::kAdd ? algorithm::binary_add : algorithm::binary_mul, layout, layout, layout),
          AttributesFor({}), CpuEngine());
      out.primitive = Binary(pd);
      out.arguments = {{DNNL_ARG_SRC_0, 0, plain, layout}, {DNNL_ARG_SRC_1, 1, plain, layout}};
      Finish(out, pd);
      return out;
    }
    if (node.op() == Op::kBatchNormalization && !layouts[0].is_zero()) {
      using BatchNorm = dnnl::batch_normalization_forward;
      const int64_t channels = (*shapes.result.shape)[1];
      for (size_t i = 1; i <= 4; ++i) {
        if (OperandShape(shapes, i) != Shape{channels}) return std::nullopt;
      }
      if (node.attributes().Int("training_mode", 0) != 0) return std::nullopt;
      const BatchNorm::primitive_desc pd(
          BatchNorm::desc(prop_kind::forward_inference, layout, node.attributes().Float("epsilon", 1e-5f),
                          dnnl::normalization_flags::use_global_stats | dnnl::normalization_flags::use_scale |
                              dnnl::normalization_flags::use_shift),
          AttributesFor({}), CpuEngine());
      out.primitive = BatchNorm(pd);
      const memory::desc numbers = PlainDesc({channels});
      out.arguments = {{DNNL_ARG_SRC, 0, plain, layout},
                       {DNNL_ARG_SCALE, 1, numbers, numbers},
                       {DNNL_ARG_SHIFT, 2, numbers, numbers},
                       {DNNL_ARG_MEAN, 3, numbers, numbers},
                       {DNNL_ARG_VARIANCE, 4, numbers, numbers}};
      Finish(out, pd);
      return out;
    }
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace kiln::reference
