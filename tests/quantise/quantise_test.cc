// Tests of Quantise: shared annotations, weights, blocks, biases and layer settings.
#include "kiln/quantise/quantise.h"

#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kiln/execute/codes.h"
#include "kiln/ir/verifier.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/quantise.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

// A graph under construction, and calibration data that say which range each value takes.
class Net {
 public:
  Net() : graph_("net") { graph_.set_source("net.onnx"); }
  Graph& graph() { return graph_; }
  CalibrationData& data() { return data_; }

  Value* Input(std::string_view name, float low, float high) {
    Value* value = graph_.AddInput(name, {});
    See(value, low, high);
    return value;
  }
  Value* Weights(std::string_view name, const Shape& shape) {
    Tensor t(ElementType::kFloat32, shape);
    for (size_t i = 0; i < static_cast<size_t>(t.size()); ++i)
      t.data<float>()[i] = static_cast<float>(i + 1);
    return graph_.AddConstant(name, t);
  }
  Value* Add(Op op, std::string_view name, std::vector<Value*> operands, float low, float high,
             Attributes attributes = {}) {
    Node* node = graph_.AddNode(op, fmt::format("{}_node", name), std::move(operands),
                                {std::string(name)}, std::move(attributes));
    graph_.SetType(node->result(), {});
    See(node->result(), low, high);
    return node->result();
  }
  void See(const Value* value, float low, float high) {
    const float ends[] = {low, high};
    Histogram h;
    h.Add(ends);
    data_.Add(value->name(), h);
  }

  // One line a value: name, format, scale times 1000 and zero point, or "fp32".
  std::string Annotated(const Recipe& recipe) {
    auto quantised = Quantise(graph_, recipe, data_);
    if (!quantised.ok()) return MessageOf(quantised.status());
    std::string text;
    for (const Value* value : quantised->Values()) {
      text += value->name() + ":";
      if (const auto& q = value->quantisation()) {
        text += fmt::format(" {}{}", q->type.format.name, q->type.symmetric ? "" : " asymmetric");
        if (q->axis >= 0) text += fmt::format(" axis {}", q->axis);
        for (size_t i = 0; i < q->scales.size(); ++i) {
          text += fmt::format(" {:.4g}", q->scales[i]);
          if (q->zero_points[i] != 0) text += fmt::format("@{}", q->zero_points[i]);
        }
      } else {
        text += " fp32";
      }
      text += "\n";
    }
    return text;
  }

 private:
  Graph graph_;
  CalibrationData data_;
};

Recipe MinMax() {
  Recipe recipe = Int8Recipe();
  recipe.activations.calibration = Calibration::kMinMax;
  return recipe;
}

Recipe With(std::string_view layers) {
  auto recipe = ParseRecipe(
      fmt::format("activations: {{calibration: min_max}}\nlayers:\n{}", layers), "r.yaml");
  KILN_CHECK(recipe.ok());
  return *std::move(recipe);
}

// Scales of weights by column, the innermost axis, are those of the same weights by row.
TEST(Quantise, ScalesOfColumnsAreThoseOfRows) {
  constexpr int64_t kRows = 37, kColumns = 700;
  Random random(3);
  std::vector<float> plain(kRows * kColumns), transposed(plain.size());
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t c = 0; c < kColumns; ++c) {
      // Columns of one sign, and of zeros, among others.
      const double low = c % 3 == 0 ? 0 : -1, high = c % 5 == 0 ? 0 : 1;
      const auto value = static_cast<float>(random.Uniform(low, high));
      plain[r * kColumns + c] = transposed[c * kRows + r] = value;
    }
  }
  std::vector<float> scales[2];
  std::vector<int32_t> zero_points[2];
  for (const int64_t trans_b : {0, 1}) {
    Net net;
    Value* x = net.Input("x", -1, 1);
    Value* w = net.graph().AddConstant(
        "w", trans_b == 0 ? Tensor::Of<float>(Shape{kRows, kColumns}, plain)
                          : Tensor::Of<float>(Shape{kColumns, kRows}, transposed));
    Attributes attributes;
    attributes.Set("transB", trans_b);
    net.graph().MarkOutput(net.Add(Op::kGemm, "y", {x, w}, -9, 9, std::move(attributes)));
    Recipe recipe = MinMax();
    recipe.weights.calibration = Calibration::kMinMax;
    recipe.weights.type.symmetric = false;
    const auto quantised = Quantise(net.graph(), recipe, net.data());
    ASSERT_TRUE(quantised.ok()) << quantised.status();
    const auto& q = quantised->Constants().front()->quantisation();
    ASSERT_TRUE(q.has_value());
    EXPECT_EQ(q->axis, trans_b == 0 ? 1 : 0);
    scales[trans_b] = q->scales;
    zero_points[trans_b] = q->zero_points;
  }
  EXPECT_EQ(scales[0].size(), static_cast<size_t>(kColumns));
  EXPECT_EQ(scales[0], scales[1]);
  EXPECT_EQ(zero_points[0], zero_points[1]);
}

TEST(Quantise, ConvReluPoolShareTheClampedRange) {
  Net net;
  Value* x = net.Input("x", -1, 1.55f);
  Value* conv = net.Add(Op::kConv, "conv",
                        {x, net.Weights("w", {2, 1, 1, 1}), net.Weights("b", {2})}, -30, 51);
  Value* relu = net.Add(Op::kRelu, "relu", {conv}, 0, 51);
  Value* pool = net.Add(Op::kMaxPool, "pool", {relu}, 2, 51);
  Value* flat = net.Add(Op::kFlatten, "flat", {pool}, 2, 51);
  net.graph().MarkOutput(net.Add(Op::kGemm, "y", {flat, net.Weights("wg", {2, 2})}, -9, 9));
  EXPECT_EQ(net.Annotated(MinMax()),
            "x: int8 asymmetric 0.01@-28\n"
            "w: int8 axis 0 0.007874 0.01575\n"
            "b: fp32\n"
            "wg: int8 axis 1 0.02362 0.0315\n"
            "conv: int8 asymmetric 0.2@-128\n"
            "relu: int8 asymmetric 0.2@-128\n"
            "pool: int8 asymmetric 0.2@-128\n"
            "flat: int8 asymmetric 0.2@-128\n"
            "y: fp32\n");
}

TEST(Quantise, AValueWithOtherUsersKeepsItsOwnRange) {
  Net net;
  Value* x = net.Input("x", -127.5f, 127.5f);
  Value* relu = net.Add(Op::kRelu, "relu", {x}, 0, 255);
  net.graph().MarkOutput(net.Add(Op::kAdd, "y", {x, relu}, -1, 1));
  EXPECT_EQ(net.Annotated(MinMax()),
            "x: int8 asymmetric 1\n"
            "relu: int8 asymmetric 1@-128\n"
            "y: fp32\n");
}

TEST(Quantise, OutputsCanBeQuantised) {
  Net net;
  Value* x = net.Input("x", 0, 255);
  net.graph().MarkOutput(net.Add(Op::kSigmoid, "y", {x}, 0, 1.02f));
  Recipe recipe = MinMax();
  EXPECT_EQ(net.Annotated(recipe), "x: int8 asymmetric 1@-128\ny: fp32\n");
  recipe.quantise_outputs = true;
  EXPECT_EQ(net.Annotated(recipe), "x: int8 asymmetric 1@-128\ny: int8 asymmetric 0.004@-128\n");
}

TEST(Quantise, ValuesThatOnlyBecomeOutputsStayFloat) {
  Net net;
  Value* x = net.Input("x", 0, 255);
  Value* y = net.Add(Op::kGemm, "y", {x, net.Weights("w", {1, 1})}, 0, 1);
  Value* moved = net.Add(Op::kTranspose, "moved", {y}, 0, 1);
  net.graph().MarkOutput(net.Add(Op::kReshape, "out", {moved, nullptr}, 0, 1));
  EXPECT_EQ(net.Annotated(MinMax()),
            "x: int8 asymmetric 1@-128\n"
            "w: int8 axis 1 0.007874\n"
            "y: fp32\nmoved: fp32\nout: fp32\n");
}

TEST(Quantise, ProductsOfTwoActivationsAreSymmetric) {
  Net net;
  Value* q = net.Input("q", -1, 254);
  Value* k = net.Input("k", 0, 127);
  Value* kt = net.Add(Op::kTranspose, "kt", {k}, 0, 127);
  Value* scores = net.Add(Op::kMatMul, "scores", {q, kt}, -1, 254);
  net.graph().MarkOutput(net.Add(Op::kSoftmax, "y", {scores}, 0, 1));
  EXPECT_EQ(net.Annotated(MinMax()),
            "q: int8 2\n"
            "k: int8 1\n"
            "kt: int8 1\n"
            "scores: int8 asymmetric 1@-127\n"
            "y: fp32\n");
}

TEST(Quantise, WeightAxes) {
  Net net;
  Value* x = net.Input("x", 0, 255);
  Attributes transposed;
  transposed.Set("transB", int64_t{1});
  Attributes matmul_transposed;
  matmul_transposed.Set("transpose_b", int64_t{1});
  const std::vector<Value*> outputs = {
      net.Add(Op::kGemm, "gemm_t", {x, net.Weights("gemm_b", {2, 3})}, 0, 1, transposed),
      net.Add(Op::kMatMul, "matmul", {x, net.Weights("matmul_b", {1, 3, 2})}, 0, 1),
      net.Add(Op::kMatMul, "matmul_t", {x, net.Weights("matmul_bt", {2, 3})}, 0, 1,
              matmul_transposed),
      net.Add(Op::kMatMul, "vector", {x, net.Weights("vector_b", {3})}, 0, 1),
      net.Add(Op::kMatMul, "left", {net.Weights("left_a", {2, 3}), x}, 0, 1),
      net.Add(Op::kConvTranspose, "deconv", {x, net.Weights("deconv_w", {1, 2, 1, 1})}, 0, 1)};
  for (Value* output : outputs) net.graph().MarkOutput(output);
  const auto quantised = Quantise(net.graph(), MinMax(), net.data());
  ASSERT_TRUE(quantised.ok()) << quantised.status();
  const auto axis_and_scales = [&](std::string_view name) {
    const Quantisation& q = *quantised->FindValue(name)->quantisation();
    return std::pair<int, size_t>(q.axis, q.scales.size());
  };
  using Pair = std::pair<int, size_t>;
  EXPECT_EQ(axis_and_scales("gemm_b"), Pair(0, 2));
  EXPECT_EQ(axis_and_scales("matmul_b"), Pair(2, 2));
  EXPECT_EQ(axis_and_scales("matmul_bt"), Pair(0, 2));
  EXPECT_EQ(axis_and_scales("vector_b"), Pair(-1, 1));
  EXPECT_EQ(axis_and_scales("left_a"), Pair(-1, 1));
  EXPECT_EQ(axis_and_scales("deconv_w"), Pair(1, 2));
  EXPECT_EQ(quantised->FindValue("vector_b")->quantisation()->type.scheme, Scheme::kPerTensor);
}

// The rows are 1 2 3 and 4 5 6, and the greatest code of int4 is 7: the scales are 3/7 and 6/7.
TEST(Quantise, ATypeOfWeightsHasAScalePerOutputChannel) {
  for (const std::string_view text : {"weights: {type: int4}\n", "weights: {format: int4}\n",
                                      "layers:\n  - {match: gemm_node, weights: {type: int4}}\n",
                                      "weights: {scheme: per_tensor}\nlayers:\n  - {match: "
                                      "gemm_node, weights: {type: int4}}\n"}) {
    Net net;
    Attributes transposed;
    transposed.Set("transB", int64_t{1});
    net.graph().MarkOutput(net.Add(
        Op::kGemm, "gemm", {net.Input("x", 0, 255), net.Weights("b", {2, 3})}, 0, 1, transposed));
    const auto recipe = ParseRecipe(text, "r.yaml");
    ASSERT_TRUE(recipe.ok()) << recipe.status();
    const auto quantised = Quantise(net.graph(), *recipe, net.data());
    ASSERT_TRUE(quantised.ok()) << quantised.status();
    const Quantisation& q = *quantised->FindValue("b")->quantisation();
    EXPECT_EQ(q.type.format.name, "int4") << text;
    EXPECT_EQ(q.axis, 0) << text;
    EXPECT_EQ(q.scales, (std::vector<float>{3.0f / 7, 6.0f / 7})) << text;
  }
}

TEST(Quantise, WeightsUsedInAnotherWayAreSplit) {
  // An embedding table that is also the weights of the last product (tied embeddings).
  Net net;
  Value* table = net.Weights("table", {2, 2});
  Value* indices = net.graph().AddInput("indices", {ElementType::kInt64, std::nullopt});
  Value* x = net.Add(Op::kGather, "x", {table, indices}, 0, 255);
  net.graph().MarkOutput(net.Add(Op::kMatMul, "y", {x, table}, 0, 1));
  EXPECT_EQ(net.Annotated(MinMax()),
            "indices: fp32\n"
            "table: fp32\n"
            "table.1: int8 axis 1 0.02362 0.0315\n"
            "x: int8 asymmetric 1@-128\n"
            "y: fp32\n");
}

TEST(Quantise, WeightsSharedByEqualUsesStayShared) {
  Net net;
  Value* w = net.Weights("w", {2, 2});
  Value* x = net.Input("x", 0, 255);
  Value* a = net.Add(Op::kMatMul, "a", {x, w}, 0, 255);
  net.graph().MarkOutput(net.Add(Op::kMatMul, "b", {a, w}, 0, 1));
  const auto quantised = Quantise(net.graph(), MinMax(), net.data());
  ASSERT_TRUE(quantised.ok());
  EXPECT_EQ(quantised->Constants().size(), 1u);
  EXPECT_EQ(CountQuantised(*quantised).weights, 1);
  EXPECT_EQ(CountQuantised(*quantised).activations, 2);
  EXPECT_EQ(CountQuantised(*quantised).float_values, 1);
}

TEST(Quantise, ConcatSharesCloseRangesOnly) {
  for (bool close : {true, false}) {
    Net net;
    Value* a = net.Input("a", 0, 255);
    Value* b = net.Input("b", 0, close ? 127.5f : 51);
    Value* both = net.Add(Op::kConcat, "both", {a, b}, 0, 255);
    net.graph().MarkOutput(net.Add(Op::kSigmoid, "y", {both}, 0, 1));
    EXPECT_EQ(net.Annotated(MinMax()),
              close ? "a: int8 asymmetric 1@-128\nb: int8 asymmetric 1@-128\n"
                      "both: int8 asymmetric 1@-128\ny: fp32\n"
                    : "a: int8 asymmetric 1@-128\nb: int8 asymmetric 0.2@-128\n"
                      "both: int8 asymmetric 1@-128\ny: fp32\n");
  }
}

TEST(Quantise, PadSharesWhereItFillsWithZero) {
  for (float fill : {0.0f, -5.0f}) {
    Net net;
    Value* x = net.Input("x", 0, 255);
    Value* pads = net.graph().AddConstant("pads", Tensor::Of<int64_t>({2}, {1, 1}));
    Value* padded =
        net.Add(Op::kPad, "padded",
                {x, pads, net.graph().AddConstant("fill", Tensor::Scalar(fill))}, fill, 250);
    net.graph().MarkOutput(net.Add(Op::kSigmoid, "y", {padded}, 0, 1));
    const std::string text = net.Annotated(MinMax());
    EXPECT_EQ(text.find("padded: int8 asymmetric 1@-128\ny") != std::string::npos, fill == 0)
        << text;
  }
}

TEST(Quantise, DegenerateRangesAndIntegerValues) {
  Net net;
  Value* zero = net.Input("zero", 0, 0);
  Value* shape = net.graph().AddNode(Op::kShape, "shape_node", {zero}, {"shape"})->result();
  net.graph().SetType(shape, {ElementType::kInt64, std::nullopt});
  net.graph().MarkOutput(
      net.Add(Op::kReshape, "y", {net.Add(Op::kNeg, "neg", {zero}, -3, -3), shape}, 0, 0));
  EXPECT_EQ(net.Annotated(MinMax()), "zero: int8 asymmetric 1\nshape: fp32\nneg: fp32\ny: fp32\n");
}

TEST(Quantise, LayersKeepFloatOrTakeOtherSettings) {
  Net net;
  Value* x = net.Input("x", 0, 255);
  Value* a = net.Add(Op::kMatMul, "a", {x, net.Weights("wa", {1, 1})}, 0, 255);
  Value* b = net.Add(Op::kMatMul, "b", {a, net.Weights("wb", {1, 1})}, 0, 255);
  Value* c = net.Add(Op::kMatMul, "c", {b, net.Weights("wc", {1, 1})}, 0, 255);
  net.graph().MarkOutput(net.Add(Op::kSigmoid, "y", {c}, 0, 1));
  EXPECT_EQ(
      net.Annotated(With("  - {position: first, keep: float}\n"
                         "  - {match: b*, weights: {format: int4}}\n"
                         "  - {operator: MatMul, position: last, activations: {format: uint8}}\n")),
      "x: int8 asymmetric 1@-128\n"
      "wa: fp32\n"
      "wb: int4 axis 1 0.1429\n"
      "wc: int8 axis 1 0.007874\n"
      "a: fp32\n"
      "b: int8 asymmetric 1@-128\n"
      "c: uint8 asymmetric 1\n"
      "y: fp32\n");
}

// A convolution over `channels` of an NCHW image, its result 40 channels.
Value* AddConv(Net& net, std::string_view name, Value* x, int64_t channels, int64_t groups = 1,
               int64_t out = 40) {
  Attributes attributes;
  attributes.Set("group", groups);
  Value* w = net.Weights(fmt::format("{}_w", name), {out, channels / groups, 1, 1});
  Value* y = net.Add(Op::kConv, name, {x, w}, -1, 1, std::move(attributes));
  net.graph().SetType(y, {ElementType::kFloat32, Shape{1, out, 4, 4}});
  return y;
}

Value* Image(Net& net, int64_t channels) {
  Value* x = net.Input("x", -1, 1);
  net.graph().SetType(x, {ElementType::kFloat32, Shape{1, channels, 4, 4}});
  return x;
}

// "format scheme axis" of a value.
std::string Held(const Graph& graph, std::string_view name) {
  const auto& q = graph.FindValue(name)->quantisation();
  if (!q) return "fp32";
  return fmt::format("{} {} {}", q->type.format.name, NameOf(q->type.scheme), q->axis);
}

StatusOr<Graph> QuantisedAs(Net& net, std::string_view name) {
  return Quantise(net.graph(), *RecipeByName(name), net.data());
}

TEST(QuantiseBlocks, GoToWhatLayersSumOver) {
  Net net;
  Value* a =
      AddConv(net, "a", Image(net, 3), 3);  // the sum over three colours is not worth a scale
  Value* relu = net.Add(Op::kRelu, "relu", {a}, 0, 1);
  net.graph().SetType(relu, a->type());
  Value* b = AddConv(net, "b", relu, 40);
  Value* sum =
      net.Add(Op::kAdd, "sum", {b, relu}, -1, 1);  // element-wise readers take what there is
  net.graph().SetType(sum, b->type());
  net.graph().MarkOutput(AddConv(net, "c", sum, 40));
  const auto q = QuantisedAs(net, "mxint8");
  ASSERT_TRUE(q.ok()) << q.status();
  EXPECT_EQ(Held(*q, "x"), "int8 per_tensor -1");
  EXPECT_EQ(Held(*q, "a_w"), "int8 per_channel 0");
  EXPECT_EQ(Held(*q, "a"), "fixed8_6 per_block 1");
  EXPECT_EQ(Held(*q, "relu"), "fixed8_6 per_block 1");
  EXPECT_EQ(Held(*q, "b_w"), "fixed8_6 per_block 1");
  EXPECT_EQ(Held(*q, "b"), "int8 per_tensor -1");  // nobody multiplies it
  EXPECT_EQ(Held(*q, "sum"), "fixed8_6 per_block 1");
  for (const Value* value : q->Values()) {
    if (value->quantisation() && value->quantisation()->type.scheme == Scheme::kPerBlock) {
      EXPECT_EQ(value->quantisation()->type, *FindQuantType("mxint8"));
      EXPECT_TRUE(value->quantisation()->scales.empty());
    }
  }
  EXPECT_EQ(Held(*QuantisedAs(net, "mxfp8_e4m3"), "b"), "e4m3 per_tensor -1");
}

TEST(QuantiseBlocks, ADepthwiseReaderEndsThem) {
  for (int64_t groups : {1, 40}) {
    Net net;
    Value* x = Image(net, 40);
    net.graph().MarkOutput(AddConv(net, "dense", x, 40));
    net.graph().MarkOutput(AddConv(net, "other", x, 40, groups));
    const auto q = QuantisedAs(net, "mxint8");
    ASSERT_TRUE(q.ok()) << q.status();
    EXPECT_EQ(Held(*q, "x"), groups == 1 ? "fixed8_6 per_block 1" : "int8 per_tensor -1");
    EXPECT_EQ(Held(*q, "dense_w"), groups == 1 ? "fixed8_6 per_block 1" : "int8 per_channel 0");
    EXPECT_EQ(Held(*q, "other_w"), groups == 1 ? "fixed8_6 per_block 1" : "int8 per_channel 0");
  }
}

TEST(QuantiseBlocks, GroupsMustHoldWholeBlocks) {
  for (int64_t channels : {64, 96}) {
    Net net;
    net.graph().MarkOutput(AddConv(net, "y", Image(net, channels), channels, 2, 2));
    const auto q = QuantisedAs(net, "mxint8");
    ASSERT_TRUE(q.ok()) << q.status();
    EXPECT_EQ(Held(*q, "x"), channels == 64 ? "fixed8_6 per_block 1" : "int8 per_tensor -1");
  }
}

TEST(QuantiseBlocks, ReadersThatSumOverDifferentAxesEndThem) {
  for (bool disagree : {false, true}) {
    Net net;
    Value* x = net.Input("x", -1, 1);
    net.graph().SetType(x, {ElementType::kFloat32, Shape{64, 64}});
    Attributes attributes;
    attributes.Set("transA", int64_t{disagree});
    net.graph().MarkOutput(net.Add(Op::kMatMul, "y", {x, net.Weights("w", {64, 2})}, -1, 1));
    net.graph().MarkOutput(
        net.Add(Op::kGemm, "z", {x, net.Weights("v", {64, 2})}, -1, 1, attributes));
    const auto q = QuantisedAs(net, "mxint8");
    ASSERT_TRUE(q.ok()) << q.status();
    EXPECT_EQ(Held(*q, "x"), disagree ? "int8 per_tensor -1" : "fixed8_6 per_block 1");
    EXPECT_EQ(Held(*q, "w"), disagree ? "int8 per_channel 1" : "fixed8_6 per_block 0");
  }
}

TEST(QuantiseBlocks, AxesFollowTransposesAndEndAtMixingReshapes) {
  for (bool mixes : {false, true}) {
    Net net;
    Value* x = Image(net, 40);  // 1x40x4x4
    Attributes attributes;
    attributes.Set("perm", std::vector<int64_t>{0, 2, 3, 1});
    Value* moved = net.Add(Op::kTranspose, "moved", {x}, -1, 1, attributes);
    net.graph().SetType(moved, {ElementType::kFloat32, Shape{1, 4, 4, 40}});
    Value* flat = net.Add(Op::kReshape, "flat", {mixes ? x : moved, nullptr}, -1, 1);
    net.graph().SetType(flat, {ElementType::kFloat32, Shape{16, 40}});
    net.graph().MarkOutput(net.Add(Op::kMatMul, "y", {flat, net.Weights("w", {40, 2})}, -1, 1));
    const auto q = QuantisedAs(net, "mxint8");
    ASSERT_TRUE(q.ok()) << q.status();
    EXPECT_EQ(Held(*q, "flat"), mixes ? "int8 per_tensor -1" : "fixed8_6 per_block 1");
    EXPECT_EQ(Held(*q, "x"), mixes ? "int8 per_tensor -1" : "fixed8_6 per_block 1");
    EXPECT_EQ(Held(*q, "moved"), mixes ? "int8 per_tensor -1" : "fixed8_6 per_block 3");
  }
}

TEST(QuantiseBlocks, ProductsOfTwoActivationsSumAlongRowsOrNotAtAll) {
  for (int64_t transposed : {0, 1}) {
    Net net;
    Value* a = net.Input("a", -1, 1);
    Value* b = net.Input("b", -1, 1);
    for (Value* value : {a, b}) net.graph().SetType(value, {ElementType::kFloat32, Shape{64, 64}});
    Attributes attributes;
    attributes.Set("transpose_b", transposed);
    net.graph().MarkOutput(net.Add(Op::kMatMul, "y", {a, b}, -1, 1, attributes));
    const auto q = QuantisedAs(net, "mxint8");
    ASSERT_TRUE(q.ok()) << q.status();
    for (std::string_view name : {"a", "b"}) {
      EXPECT_EQ(Held(*q, name), transposed != 0 ? "fixed8_6 per_block 1" : "int8 per_tensor -1")
          << name;
    }
  }
}

TEST(QuantiseBlocks, WeightsAloneCanBeBlocked) {
  Net net;
  net.graph().MarkOutput(AddConv(net, "y", Image(net, 40), 40));
  const auto recipe =
      ParseRecipe("weights: {format: nf4, scheme: per_block, block_size: 8}\n", "r.yaml");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  const auto q = Quantise(net.graph(), *recipe, net.data());
  ASSERT_TRUE(q.ok()) << q.status();
  EXPECT_EQ(Held(*q, "x"), "int8 per_tensor -1");
  EXPECT_EQ(Held(*q, "y_w"), "nf4 per_block 1");
}

TEST(Quantise, InputsOfALayerWinOverActivationsOfItsProducer) {
  Net net;
  Value* x = net.Input("x", 0, 255);
  Value* a = net.Add(Op::kMatMul, "a", {x, net.Weights("wa", {1, 1})}, 0, 255);
  net.graph().MarkOutput(net.Add(Op::kMatMul, "b", {a, net.Weights("wb", {1, 1})}, 0, 255));
  EXPECT_EQ(
      net.Annotated(With("  - {match: a*, inputs: {format: uint8}, activations: {format: int4}}\n"
                         "  - {match: b*, inputs: {type: bf16}}\n")),
      "x: uint8 asymmetric 1\nwa: int8 axis 1 0.007874\nwb: int8 axis 1 0.007874\na: bf16\nb: "
      "fp32\n");
}

TEST(Quantise, EveryFormatMeetsTheRange) {
  Net net;
  Value* x = net.Input("x", -7, 14);
  net.graph().MarkOutput(net.Add(Op::kMatMul, "y", {x, net.Weights("w", {2, 2})}, 0, 1));
  // The greatest magnitude meets the format's greatest value: 448, 57344, 4096, 1, 127/16.
  const std::pair<std::string_view, double> kCases[] = {{"e4m3", 14.0 / 448},
                                                        {"e5m2", 14.0 / 57344},
                                                        {"posit8_1", 14.0 / 4096},
                                                        {"nf4", 14},
                                                        {"fixed8_4", 14.0 * 16 / 127}};
  for (const auto& [format, scale] : kCases) {
    const auto recipe = ParseRecipe(
        fmt::format("activations: {{format: {}, calibration: min_max}}\nweights: {{format: {}}}\n",
                    format, format),
        "r.yaml");
    ASSERT_TRUE(recipe.ok()) << recipe.status();
    const auto q = Quantise(net.graph(), *recipe, net.data());
    ASSERT_TRUE(q.ok()) << q.status();
    EXPECT_FLOAT_EQ(q->FindValue("x")->quantisation()->scales[0], static_cast<float>(scale))
        << format;
  }
}

TEST(Quantise, ScalesTakeTheirFormatAndStillCoverTheRange) {
  Net net;
  Value* x = net.Input("x", -100, 155);
  net.graph().MarkOutput(net.Add(Op::kMatMul, "y", {x, net.Weights("w", {2, 2})}, 0, 1));
  for (std::string_view scale_format : {"power_of_two", "e5m2", "ue5m3"}) {
    const auto recipe =
        ParseRecipe(fmt::format("activations: {{calibration: min_max, scale_format: {}}}\n"
                                "weights: {{scale_format: {}}}\n",
                                scale_format, scale_format),
                    "r.yaml");
    ASSERT_TRUE(recipe.ok()) << recipe.status();
    const auto q = Quantise(net.graph(), *recipe, net.data());
    ASSERT_TRUE(q.ok()) << q.status();
    const Quantisation& annotation = *q->FindValue("x")->quantisation();
    const Format& format = annotation.type.scale_format;
    EXPECT_EQ(format.name, scale_format == "power_of_two" ? "e8m0" : scale_format);
    const float scale = annotation.scales[0];
    EXPECT_EQ(DecodeFloat(format, EncodeFloat(format, scale)), scale);
    EXPECT_GE(scale * 255, 255);
    EXPECT_LE(scale, 2);  // the next value of the format above 1, at most
    EXPECT_TRUE(VerifyQuantisation(annotation, x->type(), "", "").ok());
    for (float s : q->FindValue("w")->quantisation()->scales)
      EXPECT_EQ(DecodeFloat(format, EncodeFloat(format, s)), s);
  }
}

TEST(Quantise, BinaryWeightsTakeTheMeanMagnitude) {
  Net net;
  Value* x = net.Input("x", 0, 255);
  Tensor weights(ElementType::kFloat32, Shape{2, 300});
  Random random(1);
  for (float& v : weights.data<float>()) v = static_cast<float>(std::pow(random.Uniform(-1, 1), 3));
  Value* w = net.graph().AddConstant("w", weights);
  Attributes attributes;
  attributes.Set("transB", int64_t{1});
  net.graph().MarkOutput(net.Add(Op::kGemm, "y", {x, w}, 0, 1, attributes));
  const auto q = QuantisedAs(net, "binary");
  ASSERT_TRUE(q.ok()) << q.status();
  EXPECT_EQ(Held(*q, "w"), "binary per_channel 0");
  for (int row = 0; row < 2; ++row) {
    double sum = 0;
    for (int i = 0; i < 300; ++i) sum += std::abs(w->constant().ValueAt(row * 300 + i));
    EXPECT_NEAR(q->FindValue("w")->quantisation()->scales[static_cast<size_t>(row)], sum / 300,
                sum / 300 * 1e-3);
  }
}

TEST(Quantise, BiasesTakeTheirFormat) {
  Net net;
  Value* x = net.Input("x", -127, 127);
  Value* w = net.Weights("w", {2, 1, 1, 1});  // 1 and 2: scales 1/127 and 2/127
  Value* b = net.graph().AddConstant("b", Tensor::Of<float>(Shape{2}, {0.3f, -1.003f}));
  net.graph().MarkOutput(net.Add(Op::kConv, "y", {x, w, b}, 0, 1));
  const auto bias = [&](std::string_view format) {
    const auto recipe = ParseRecipe(
        fmt::format("activations: {{calibration: min_max, symmetric: true}}\nbiases: {}\n", format),
        "r");
    KILN_CHECK(recipe.ok());
    const auto q = Quantise(net.graph(), *recipe, net.data());
    KILN_CHECK(q.ok());
    const auto values = q->NodeList()[0]->operand(2)->constant().data<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(bias("fp32"), (std::vector<float>{0.3f, -1.003f}));
  EXPECT_EQ(bias("e5m2"), (std::vector<float>{0.3125f, -1}));
  const std::vector<float> sums = bias("int32");
  EXPECT_NEAR(sums[0], 38.0 / 127, 1e-6);    // 0.3 * 127 = 38.1
  EXPECT_NEAR(sums[1], -128.0 / 127, 1e-6);  // 1.003 * 127 / 2 = 63.7
}

TEST(Quantise, Errors) {
  Net net;
  Value* x = net.Input("x", 0, 255);
  Value* w = net.Weights("w", {1, 2});
  net.graph().MarkOutput(net.Add(Op::kMatMul, "y", {x, w}, 0, 1));
  EXPECT_EQ(net.Annotated(With("  - {match: nothing*, keep: float}\n")),
            "r.yaml: line 3, layers[0] (match 'nothing*'): matches no node of 'net.onnx'; it has "
            "y_node; `kiln inspect --shapes` lists all nodes");
  EXPECT_EQ(net.Annotated(With("  - {position: 1, keep: float}\n"))
                .find("r.yaml: line 3, layers[0] (position 1): "),
            0u);
  EXPECT_EQ(
      net.Annotated(With("  - {operator: Conv, keep: float, optional: true}\n")).find("x: int8"),
      0u);

  Tensor bad = Tensor::Of<float>({1, 2}, {1, std::nanf("")});
  net.graph().SetOperand(net.graph().NodeList()[0], 1, net.graph().AddConstant("bad", bad));
  EXPECT_EQ(net.Annotated(MinMax()),
            "net.onnx: value 'bad': weight 1 is NaN; quantisation needs finite weights");

  Net other;
  other.graph().MarkOutput(other.Add(Op::kNeg, "y", {other.graph().AddInput("x", {})}, 0, 1));
  EXPECT_EQ(
      other.Annotated(MinMax()),
      "net.onnx: value 'x': has no calibration data; calibrate the same graph that is quantised");
}

TEST(Quantise, AssumedDataServeAnyGraph) {
  Net net;
  Value* x = net.Input("x", 0, 255);
  net.graph().MarkOutput(net.Add(Op::kMatMul, "y", {x, net.graph().AddInput("w", {})}, 0, 1));
  const auto quantised = Quantise(net.graph(), MinMax(), CalibrationData::Assumed());
  ASSERT_TRUE(quantised.ok()) << quantised.status();
  EXPECT_FLOAT_EQ(quantised->FindValue("w")->quantisation()->scales[0], 1.0f / 127);
}

TEST(Quantise, TheNetworksOwnParametersStandUnlessTheRecipeReplacesThem) {
  Net net;
  Value* x = net.Input("x", 0, 255);
  Value* w = net.Weights("w", {2, 2});
  const StatusOr<Format> uint4 = FindFormat("uint4");
  ASSERT_TRUE(uint4.ok());
  Quantisation own;
  own.type.format = *uint4;
  own.type.symmetric = false;
  own.scales = {0.5f};
  own.zero_points = {3};
  x->set_quantisation(own);
  w->set_quantisation(own);
  Value* product = net.Add(Op::kMatMul, "product", {x, w}, 0, 255);
  net.graph().MarkOutput(net.Add(Op::kNeg, "y", {product}, 0, 1));
  EXPECT_EQ(net.Annotated(MinMax()),
            "x: uint4 asymmetric 0.5@3\nw: uint4 asymmetric 0.5@3\nproduct: int8 asymmetric "
            "1@-128\ny: fp32\n");
  auto recipe =
      ParseRecipe("own_parameters: replace\nactivations: {calibration: min_max}\n", "recipe.yaml");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  EXPECT_EQ(net.Annotated(*recipe),
            "x: int8 asymmetric 1@-128\nw: int8 axis 1 0.02362 0.0315\nproduct: int8 asymmetric "
            "1@-128\ny: fp32\n");
}

TEST(Quantise, WeightsAreWithinHalfAStepForAnyThreadCount) {
  Net net;
  Value* x = net.Input("x", 0, 255);
  Value* w = net.Weights("w", {7, 5, 3, 3});
  net.graph().MarkOutput(net.Add(Op::kConv, "y", {x, w}, 0, 1));
  std::vector<float> first;
  for (int threads : {1, 4}) {
    SetThreadCount(threads);
    const auto quantised = Quantise(net.graph(), MinMax(), net.data());
    ASSERT_TRUE(quantised.ok());
    const Quantisation& q = *quantised->FindValue("w")->quantisation();
    if (first.empty()) first = q.scales;
    EXPECT_EQ(q.scales, first);
    const Tensor back = DequantiseTensor(QuantiseTensor(w->constant(), q), q);
    for (int64_t i = 0; i < back.size(); ++i) {
      ASSERT_LE(std::abs(back.ValueAt(i) - w->constant().ValueAt(i)),
                q.scales[static_cast<size_t>(i / 45)] * 0.50001);
    }
  }
  SetThreadCount(0);
}

}  // namespace
}  // namespace kiln
