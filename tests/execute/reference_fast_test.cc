// Compares the executor's fast kernels with the plain ones over random shapes, and with each other:
// the bits must be the same at every processor level, for any number of threads, fused or not.
#include "kiln/execute/reference_fast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kiln/execute/reference.h"
#include "kiln/ir/batch_shape.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/cpu.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"
#include "tests/execute/evaluate.h"

namespace kiln {
namespace {

Tensor RandomOperand(const Shape& shape, Random& random) {
  Tensor t(ElementType::kFloat32, shape);
  for (float& v : t.data<float>()) v = static_cast<float>(random.Uniform(-1, 1));
  return t;
}

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.shape() == b.shape() &&
         std::memcmp(a.bytes(), b.bytes(), static_cast<size_t>(a.num_bytes())) == 0;
}

// Runs the graph at every level that this processor has, which must not matter.
StatusOr<std::vector<Tensor>> RunAtEveryLevel(const Graph& graph,
                                              const std::vector<Tensor>& inputs) {
  StatusOr<std::vector<Tensor>> expected;
  for (const CpuLevel level : kCpuLevels) {
    LimitCpuLevel(level);
    if (GetCpuLevel() != level) continue;  // EveryLevel counts those that are missing
    const auto executor = ReferenceExecutor::Create(graph);
    KILN_RETURN_IF_ERROR(executor.status());
    auto results = (*executor)->Run(inputs);
    if (level == kCpuLevels[0])
      expected = std::move(results);
    else if (expected.ok() && results.ok()) {
      for (size_t i = 0; i < expected->size(); ++i) {
        EXPECT_TRUE(SameBits((*expected)[i], (*results)[i]))
            << "portable and " << NameOf(level) << ", output " << i;
      }
    } else {
      EXPECT_EQ(expected.status(), results.status());
    }
  }
  LimitCpuLevel(kHighestCpuLevel);
  return expected;
}

// Runs the node through the executor and through its kernel. Also makes sure that the executor
// takes a fast kernel.
void ExpectAgreement(Op op, const std::vector<std::optional<Tensor>>& operands,
                     const AttributeList& attributes) {
  const OneNode one(op, operands, attributes);
  std::vector<const Tensor*> pointers;
  std::vector<Tensor> inputs;
  reference::NodeShapes shapes;
  for (const auto& operand : operands) {
    pointers.push_back(operand.has_value() ? &*operand : nullptr);
    shapes.operands.push_back(std::nullopt);
    if (!operand.has_value()) continue;
    inputs.push_back(*operand);
    shapes.operands.back() = TensorType{operand->type(), operand->shape()};
  }
  const auto expected = EvaluateNode(*one.node, pointers);
  const auto actual = RunAtEveryLevel(one.graph, inputs);
  ASSERT_EQ(expected.ok(), actual.ok())
      << MessageOf(expected.status()) << " / " << MessageOf(actual.status());
  if (!expected.ok()) return;
  const Tensor &e = (*expected)[0], &a = (*actual)[0];
  ASSERT_EQ(e.shape(), a.shape());
  shapes.result = {e.type(), e.shape()};
  EXPECT_TRUE(reference::IsFast(*one.node, shapes));
  for (int64_t i = 0; i < e.size(); ++i)
    ASSERT_NEAR(a.ValueAt(i), e.ValueAt(i), 2e-5 * (1 + std::abs(e.ValueAt(i))));
}

TEST(ReferenceFast, RandomConvolutions) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const int64_t axes = random.Between(1, 3),
                  groups = random.Below(2) == 0 ? 1 : random.Between(1, 4);
    const bool depthwise = random.Below(4) == 0;
    const int64_t in = groups * (depthwise ? 1 : random.Between(1, 9)),
                  out = groups * random.Between(1, 17);
    const bool nhwc = random.Below(3) == 0;
    std::vector<int64_t> x = {random.Between(1, 2)}, w = {out, in / groups};
    Ints strides, dilations, begins, ends;
    std::vector<int64_t> spatial;
    for (int64_t a = 0; a < axes; ++a) {
      spatial.push_back(axes == 3 ? random.Between(7, 9) : random.Between(7, 14));
      w.push_back(random.Between(1, 4));
      strides.push_back(random.Between(1, 3));
      dilations.push_back(random.Between(1, 2));
      begins.push_back(random.Between(0, 2));
      ends.push_back(random.Between(0, 2));
    }
    if (!nhwc) x.push_back(in);
    x.insert(x.end(), spatial.begin(), spatial.end());
    if (nhwc) x.push_back(in);
    begins.insert(begins.end(), ends.begin(), ends.end());
    std::optional<Tensor> bias;
    if (random.Below(2) == 0) bias = RandomOperand({out}, random);
    ExpectAgreement(Op::kConv,
                    {RandomOperand(Shape(x), random), RandomOperand(Shape(w), random), bias},
                    {{"group", groups},
                     {"strides", strides},
                     {"dilations", dilations},
                     {"pads", begins},
                     {"layout", std::string(nhwc ? "nhwc" : "nchw")}});
  }
}

class ReferenceFastEveryLevel : public testing::TestWithParam<CpuLevel> {
 protected:
  void SetUp() override {
    LimitCpuLevel(GetParam());
    if (GetCpuLevel() != GetParam()) GTEST_SKIP() << "this processor has no " << NameOf(GetParam());
  }
  void TearDown() override { LimitCpuLevel(kHighestCpuLevel); }
};

// The levels that the other tests compare; those that the processor lacks are counted here.
TEST_P(ReferenceFastEveryLevel, GivesTheBitsOfThePortableOne) {
  Random random(12);
  const Tensor x = RandomOperand({1, 5, 9, 9}, random), w = RandomOperand({21, 5, 3, 3}, random);
  const OneNode one(Op::kConv, {x, w}, {{"pads", Ints{1, 1, 1, 1}}});
  const auto run = [&] {
    return (*ReferenceExecutor::Create(one.graph))->Run(std::vector<Tensor>{x, w});
  };
  const auto own = run();
  LimitCpuLevel(CpuLevel::kPortable);
  const auto portable = run();
  ASSERT_TRUE(own.ok() && portable.ok());
  EXPECT_TRUE(SameBits((*own)[0], (*portable)[0]));
}

INSTANTIATE_TEST_SUITE_P(Levels, ReferenceFastEveryLevel, testing::ValuesIn(kCpuLevels),
                         [](const auto& level) { return std::string(NameOf(level.param)); });

TEST(ReferenceFast, RandomProducts) {
  Random random(14);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const int64_t m = random.Between(1, 9), k = random.Between(1, 9), n = random.Between(1, 9);
    const int64_t trans_a = random.Between(0, 1), trans_b = random.Between(0, 1);
    const std::vector<Shape> biases = {Shape{n}, Shape{1, n}};
    std::optional<Tensor> bias;
    if (random.Below(2) == 0) bias = RandomOperand(biases[random.Below(2)], random);
    ExpectAgreement(
        Op::kGemm,
        {RandomOperand(trans_a != 0 ? Shape{k, m} : Shape{m, k}, random),
         RandomOperand(trans_b != 0 ? Shape{n, k} : Shape{k, n}, random), bias},
        {{"transA", trans_a}, {"transB", trans_b}, {"alpha", bias.has_value() ? 1.0f : 0.5f}});
    const int64_t batch = random.Between(1, 3);
    const std::vector<Shape> left = {Shape{m, k}, Shape{batch, m, k}, Shape{2, batch, m, k}};
    const auto right = [&](Shape lead) {
      std::vector<int64_t> dims = lead.dims();
      dims.insert(dims.end(), {trans_b != 0 ? n : k, trans_b != 0 ? k : n});
      return Shape(dims);
    };
    const std::vector<Shape> leads = {Shape{}, Shape{1}, Shape{batch}, Shape{2, 1}};
    ExpectAgreement(Op::kMatMul,
                    {RandomOperand(left[random.Below(3)], random),
                     RandomOperand(right(leads[random.Below(4)]), random)},
                    {{"transpose_b", trans_b}, {"alpha", 0.25f}});
  }
}

// Returns rows [begin, end) of a matrix.
Tensor RowsOf(const Tensor& matrix, int64_t begin, int64_t end) {
  const int64_t columns = matrix.shape()[1];
  const auto rows = matrix.data<float>().subspan(static_cast<size_t>(begin * columns),
                                                 static_cast<size_t>((end - begin) * columns));
  return Tensor::Of<float>(Shape{end - begin, columns}, {rows.begin(), rows.end()});
}

// Products of many rows pack panels of a plain right matrix while they multiply. They have several
// blocks of rows, the last of one row; full and partial panels; and several blocks of the
// reduction. The bits are those of the same rows in products of few rows, and of the transposed
// matrix, which are packed as a whole.
TEST(ReferenceFast, ProductsOfManyRows) {
  Random random(15);
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{
           {128, 3, 1}, {257, 300, 50}, {129, 256, 48}, {300, 257, 200}, {513, 5, 97}}) {
    SCOPED_TRACE(testing::Message() << m << "x" << k << "x" << n);
    const Tensor a = RandomOperand({m, k}, random), b = RandomOperand({k, n}, random);
    ExpectAgreement(Op::kMatMul, {a, b}, {});
    Tensor transposed(ElementType::kFloat32, {n, k});
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        transposed.data<float>()[static_cast<size_t>(j * k + i)] =
            b.data<float>()[static_cast<size_t>(i * n + j)];
      }
    }
    // Runs x * right with a constant right operand.
    const auto product = [&](const Tensor& x, const Tensor& right, int64_t trans_b) {
      Graph graph("product");
      Value* in = graph.AddInput("x", {ElementType::kFloat32, x.shape()});
      Attributes attributes;
      attributes.Set("transpose_b", trans_b);
      Node* node = graph.AddNode(Op::kMatMul, "y", {in, graph.AddConstant("w", right)}, {"y"},
                                 std::move(attributes));
      graph.SetType(node->result(), {ElementType::kFloat32, Shape{x.shape()[0], n}});
      graph.MarkOutput(node->result());
      const auto executor = ReferenceExecutor::Create(graph);
      KILN_CHECK(executor.ok());
      const auto outputs = (*executor)->Run(std::vector<Tensor>{x});
      KILN_CHECK(outputs.ok());
      return (*outputs)[0].Clone();
    };
    const Tensor whole = product(a, b, 0);
    EXPECT_TRUE(whole == product(a, transposed, 1));
    for (int64_t row = 0; row < m; row += 100) {
      const int64_t end = std::min(m, row + 100);
      EXPECT_TRUE(RowsOf(whole, row, end) == product(RowsOf(a, row, end), b, 0)) << row;
    }
  }
}

// What padding, dilations and strides make of one element: planes beyond all memory, extents whose
// product overflows, strides that nobody may count through, planes that rounding up makes 32 times
// as large. The plain kernel computes these.
TEST(ReferenceFast, ConvolutionsThatWouldCopyTooMuchArePlain) {
  struct Case {
    Shape x, w;
    AttributeList attributes;
    float sum;
    bool nchw_is_fast, nhwc_is_fast;
  };
  const int64_t far = (int64_t{1} << 22) - 1, most = int64_t{1} << 30;
  const std::vector<Case> cases = {
      {{1, 1, 1, 1, 1},
       {1, 1, 2, 2, 2},
       {{"dilations", Ints{far, far / 2, far / 2}}, {"pads", Ints{far, far / 2, far / 2, 0, 0, 0}}},
       1,
       false,
       false},
      {{1, 1, 1, 1},
       {1, 1, 2, 2},
       {{"dilations", Ints{131071, 131071}}, {"pads", Ints{131071, 131071, 0, 0}}},
       1,
       false,
       false},
      {{1, 1, 1, 1000}, {1, 1, 1, 1000}, {{"strides", Ints{1, most}}}, 1000, true, true},
      {{1, 1, 1, 1},
       {1, 1, 2, 1},
       {{"dilations", Ints{most, 1}}, {"pads", Ints{most, 0, 0, 0}}},
       1,
       false,
       false},
  };
  for (const Case& c : cases) {
    for (const bool nhwc : {false, true}) {
      SCOPED_TRACE(c.x.ToString() + (nhwc ? " nhwc" : " nchw"));
      std::vector<int64_t> dims = c.x.dims();
      if (nhwc) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
      Tensor x(ElementType::kFloat32, Shape(dims)), w(ElementType::kFloat32, c.w);
      std::ranges::fill(x.data<float>(), 1.0f);
      std::ranges::fill(w.data<float>(), 1.0f);
      AttributeList attributes = c.attributes;
      attributes.emplace_back("layout", std::string(nhwc ? "nhwc" : "nchw"));
      const OneNode one(Op::kConv, {x, w}, attributes);
      const reference::NodeShapes shapes{
          .operands = {TensorType{x.type(), x.shape()}, TensorType{w.type(), w.shape()}},
          .result = {x.type(), Shape(std::vector<int64_t>(dims.size(), 1))}};
      EXPECT_EQ(reference::IsFast(*one.node, shapes), nhwc ? c.nhwc_is_fast : c.nchw_is_fast);
      const auto y = RunAtEveryLevel(one.graph, {x, w});
      ASSERT_TRUE(y.ok()) << y.status();
      ASSERT_EQ((*y)[0].size(), 1);
      EXPECT_EQ((*y)[0].ValueAt(0), c.sum);
    }
  }
}

// Rounding up makes planes of one element 32 times as large: that counts where there are many.
TEST(ReferenceFast, ConvolutionsOfManySmallPlanesArePlain) {
  for (const int64_t channels : {int64_t{1} << 10, int64_t{1} << 22}) {
    const Tensor x(ElementType::kFloat32, {1, channels, 1, 1});
    const OneNode one(Op::kConv, {x, x}, {});
    const TensorType type{x.type(), x.shape()};
    const reference::NodeShapes shapes{.operands = {type, type},
                                       .result = {x.type(), Shape{1, 1, 1, 1}}};
    EXPECT_EQ(reference::IsFast(*one.node, shapes), channels == 1 << 10);
  }
}

TEST(ReferenceFast, MoreMemoryThanThereIsIsAnError) {
  for (const size_t bytes : {SIZE_MAX, size_t{1} << 62}) {
    EXPECT_EQ(MessageOf(reference::AllocateBuffer(bytes).status()),
              "out of memory: " + std::to_string(bytes) + " bytes are needed at once");
  }
}

// A chain of fused multiply-adds from +0 in order of input channels and kernel positions, then the
// bias: what the kernels promise, written down once more. std::fma is exact.
TEST(ReferenceFast, SumsAreChainsInAStatedOrder) {
  Random random(15);
  const int64_t channels = 37, outputs = 11, size = 9;
  const Tensor x = RandomOperand({1, channels, size, size}, random),
               w = RandomOperand({outputs, channels, 3, 3}, random),
               bias = RandomOperand({outputs}, random);
  Tensor x_nhwc(ElementType::kFloat32, {1, size, size, channels});
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t p = 0; p < size * size; ++p) {
      x_nhwc.data<float>()[static_cast<size_t>(p * channels + c)] =
          x.data<float>()[static_cast<size_t>(c * size * size + p)];
    }
  }
  for (const bool nhwc : {false, true}) {
    const OneNode one(
        Op::kConv, {nhwc ? x_nhwc : x, w, bias},
        {{"pads", Ints{1, 1, 1, 1}}, {"layout", std::string(nhwc ? "nhwc" : "nchw")}});
    const auto result = RunAtEveryLevel(one.graph, {nhwc ? x_nhwc : x, w, bias});
    ASSERT_TRUE(result.ok());
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t p = 0; p < size * size; ++p) {
        float sum = 0;
        for (int64_t c = 0; c < channels; ++c) {
          for (int64_t k = 0; k < 9; ++k) {
            const int64_t row = p / size + k / 3 - 1, column = p % size + k % 3 - 1;
            const bool inside = row >= 0 && row < size && column >= 0 && column < size;
            const float value =
                inside ? x.data<float>()[static_cast<size_t>((c * size + row) * size + column)] : 0;
            sum = std::fma(w.data<float>()[static_cast<size_t>((o * channels + c) * 9 + k)], value,
                           sum);
          }
        }
        const float want = sum + bias.data<float>()[static_cast<size_t>(o)];
        ASSERT_EQ(
            (*result)[0]
                .data<float>()[static_cast<size_t>(nhwc ? p * outputs + o : o * size * size + p)],
            want);
      }
    }
  }
}

// Numbers at the ends of the range: subnormals, infinities, sums that overflow and cancel. NaN is
// 0x7fc00000.
TEST(ReferenceFast, SpecialNumbersAreTheSameAtEveryLevel) {
  Random random(16);
  const auto special = [&](const Shape& shape) {
    Tensor t(ElementType::kFloat32, shape);
    for (float& v : t.data<float>()) {
      const double magnitude = std::exp2(random.Uniform(-80, 70));
      v = static_cast<float>(random.Uniform(-1, 1) * magnitude);
      if (random.Below(40) == 0) v = static_cast<float>(random.Uniform(-1, 1) * 1e-42);
      if (random.Below(400) == 0) v = random.Below(2) == 0 ? INFINITY : -INFINITY;
      if (random.Below(40) == 0) v = 0;
      if (random.Below(40) == 0) v = std::ldexp(1.0f, static_cast<int>(random.Between(-60, 60)));
    }
    return t;
  };
  bool has_nan = false;
  for (int round = 0; round < 20; ++round) {
    const Tensor a = special({33, 47}), b = special({47, 41});
    const OneNode one(Op::kMatMul, {a, b}, {});
    const auto result = RunAtEveryLevel(one.graph, {a, b});
    ASSERT_TRUE(result.ok());
    for (int64_t i = 0; i < 33; ++i) {
      for (int64_t j = 0; j < 41; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < 47; ++k) {
          sum = std::fma(a.data<float>()[static_cast<size_t>(i * 47 + k)],
                         b.data<float>()[static_cast<size_t>(k * 41 + j)], sum);
        }
        const auto got =
            std::bit_cast<uint32_t>((*result)[0].data<float>()[static_cast<size_t>(i * 41 + j)]);
        has_nan |= std::isnan(sum);
        ASSERT_EQ(got, std::isnan(sum) ? 0x7fc00000u : std::bit_cast<uint32_t>(sum));
      }
    }
  }
  EXPECT_TRUE(has_nan);
}

// conv + add + relu, matmul + clip: in one step where nobody watches, node by node for an observer.
TEST(ReferenceFast, FusionAndThreadsDoNotChangeTheBits) {
  Random random(17);
  for (const bool nhwc : {false, true}) {
    Graph graph("g");
    const Shape shape = nhwc ? Shape{1, 13, 13, 24} : Shape{1, 24, 13, 13};
    Value* x = graph.AddInput("x", {ElementType::kFloat32, shape});
    Value* w = graph.AddConstant("w", RandomOperand({24, 24, 3, 3}, random));
    Value* bias = graph.AddConstant("b", RandomOperand({24}, random));
    Attributes attributes;
    attributes.Set("pads", Ints{1, 1, 1, 1});
    attributes.Set("layout", std::string(nhwc ? "nhwc" : "nchw"));
    Value* y = x;
    for (int i = 0; i < 2; ++i) {
      Value* conv =
          graph.AddNode(Op::kConv, "", {y, w, bias}, {"c" + std::to_string(i)}, attributes)
              ->result();
      Value* sum = graph.AddNode(Op::kAdd, "", {conv, y}, {"s" + std::to_string(i)})->result();
      y = graph.AddNode(Op::kRelu, "", {sum}, {"r" + std::to_string(i)})->result();
    }
    Attributes leaky;
    leaky.Set("alpha", 0.3f);
    Value* columns = graph.AddConstant("m", RandomOperand({shape[3], 19}, random));
    Value* product = graph.AddNode(Op::kMatMul, "", {y, columns}, {"p"})->result();
    graph.MarkOutput(graph.AddNode(Op::kLeakyRelu, "", {product}, {"l"}, leaky)->result());
    ASSERT_TRUE(InferShapes(graph).ok());
    const Tensor input = RandomOperand({5, shape[1], shape[2], shape[3]}, random);
    const auto executor = ReferenceExecutor::Create(graph);
    ASSERT_TRUE(executor.ok());
    std::vector<Tensor> watched;  // what operators give one by one, image by image
    const Status observed =
        (*executor)->ObserveBatch(std::span(&input, 1), [&](const Value& value, const Tensor& one) {
          if (value.name() == "l") watched.push_back(one);
        });
    ASSERT_TRUE(observed.ok()) << observed;
    ASSERT_EQ(watched.size(), 5u);
    for (const int threads : {1, 2, 5}) {
      SetThreadCount(threads);
      const auto batch = (*executor)->RunBatch(std::span(&input, 1)),
                 whole = (*executor)->Run(std::span(&input, 1));
      ASSERT_TRUE(batch.ok() && whole.ok());
      EXPECT_TRUE(SameBits((*whole)[0], (*batch)[0])) << threads;
      for (int64_t i = 0; i < 5; ++i) {
        const Tensor& image = watched[static_cast<size_t>(i)];
        EXPECT_TRUE(SameBits(image, SampleOf((*batch)[0], image.shape(), i))) << threads;
      }
    }
    SetThreadCount(0);
  }
}

// Of 4000 images all even ones from the 2000th on divide by zero; threads begin at different places
// among them.
TEST(ReferenceFast, TheFirstErrorIsThatOfTheLowestImage) {
  Graph graph("g");
  Value* x = graph.AddInput("x", {ElementType::kInt64, Shape{1, 1}});
  Value* one = graph.AddConstant("one", Tensor::Of<int64_t>({1}, {1}));
  graph.MarkOutput(graph.AddNode(Op::kDiv, "quotient", {one, x}, {"y"})->result());
  ASSERT_TRUE(InferShapes(graph).ok());
  Tensor input(ElementType::kInt64, {4000, 1});
  for (int64_t i = 0; i < 4000; ++i)
    input.data<int64_t>()[static_cast<size_t>(i)] = i < 2000 ? 1 : i % 2;
  const auto executor = ReferenceExecutor::Create(graph);
  ASSERT_TRUE(executor.ok());
  for (const int threads : {1, 2, 3, 8}) {
    SetThreadCount(threads);
    for (int round = 0; round < 5; ++round) {
      const auto result = (*executor)->RunBatch(std::span(&input, 1));
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(MessageOf(result.status()).substr(0, 11), "image 2000:")
          << threads << ": " << MessageOf(result.status());
    }
  }
  SetThreadCount(0);
}

}  // namespace
}  // namespace kiln
