// Concat and Pad: every number of the result is the nearest code of the one that was moved there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/ir/random_tensor.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/accelerator.h"
#include "tests/targets/vta/compiled.h"

namespace kiln::vta {
namespace {

Attributes Axis(int64_t axis) {
  Attributes a;
  a.Set("axis", axis);
  return a;
}

// Codes of the result at both levels against the values that are to be there, in real numbers.
void Check(const Graph& prepared, const VtaProgram& program, const Batch& images,
           const std::vector<double>& values) {
  ASSERT_EQ(FindingsOf(program), "");
  const Tensor codes = CodesOf(program, images);
  ASSERT_EQ(CodesOf(program, images, Level::kCycle), codes);
  const Quantisation& q = *prepared.outputs()[0]->quantisation();
  ASSERT_EQ(codes.size(), std::ssize(values));
  for (int64_t i = 0; i < codes.size(); ++i) {
    const double real = values[static_cast<size_t>(i)] / q.scales[0] + q.zero_points[0];
    ASSERT_NEAR(static_cast<double>(codes.IntAt(i)), std::clamp(real, -128.0, 127.0), 0.55) << i;
  }
}

// Images of several channels beside each other, in scales that are alike (then exactly equal) or
// far apart.
TEST(CompilerConcat, OperandsStandBesideEachOther) {
  for (const std::vector<int64_t>& channels : std::vector<std::vector<int64_t>>{
           {16, 32, 16}, {32, 5}, {10, 7}, {1, 1, 1, 1}, {16, 3, 16}, {48}}) {
    for (const double factor : {1.0, 1.4, 5.0}) {
      for (const bool second : {false, true}) {
        SCOPED_TRACE(fmt::format("{} operands of {} ..., factor {} {}", channels.size(),
                                 channels[0], factor, second));
        Graph graph("concat");
        std::vector<Value*> operands;
        for (size_t i = 0; i < channels.size(); ++i) {
          const Shape shape = second ? Shape{1, channels[i], 7, 9} : Shape{1, 7, 9, channels[i]};
          operands.push_back(graph.AddInput(fmt::format("x{}", i), {ElementType::kFloat32, shape}));
        }
        Value* joined =
            graph.AddNode(Op::kConcat, "concat", operands, {"y"}, Axis(second ? 1 : 3))->result();
        // What follows keeps the clean-up from taking a Concat of one out.
        graph.MarkOutput(graph.AddNode(Op::kRelu, "relu", {joined}, {"z"})->result());
        ASSERT_EQ(InferShapes(graph), OkStatus());
        Batch images = RandomImages(graph, 1, 7);
        for (float& v : images.inputs[0].data<float>()) v = static_cast<float>(v * factor);
        Recipe recipe = Int8Recipe();
        recipe.quantise_outputs = true;
        const Graph prepared = Prepare(graph.Clone(), images, recipe);
        const auto program = CompileFor(prepared, PynqConfig());
        ASSERT_NE(program, nullptr);
        const int64_t all = std::accumulate(channels.begin(), channels.end(), int64_t{0});
        std::vector<double> values(static_cast<size_t>(63 * all));
        int64_t first = 0;
        for (size_t k = 0; k < channels.size(); ++k) {
          const Tensor in = RoundTensor(images.inputs[k], *prepared.inputs()[k]->quantisation());
          for (int64_t i = 0; i < in.size(); ++i) {
            const int64_t channel = second ? i / 63 : i % channels[k],
                          pixel = second ? i % 63 : i / channels[k];
            const int64_t at =
                second ? (first + channel) * 63 + pixel : pixel * all + first + channel;
            values[static_cast<size_t>(at)] = std::max(0.0, in.ValueAt(i));
          }
          first += channels[k];
        }
        // Rounded twice: to the Concat's codes and to the result's.
        const Value* middle = nullptr;
        for (const Value* value : prepared.Values()) {
          if (value->producer() != nullptr && value->producer()->op() == Op::kConcat)
            middle = value;
        }
        if (middle != nullptr) {
          Tensor rounded(ElementType::kFloat32, Shape{std::ssize(values)});
          for (size_t i = 0; i < values.size(); ++i)
            rounded.data<float>()[i] = static_cast<float>(values[i]);
          rounded = RoundTensor(rounded, *middle->quantisation());
          const double half = 0.51 * middle->quantisation()->scales[0];
          for (size_t i = 0; i < values.size(); ++i) {
            ASSERT_NEAR(values[i], rounded.ValueAt(static_cast<int64_t>(i)), half);
            values[i] = rounded.ValueAt(static_cast<int64_t>(i));
          }
        }
        ASSERT_EQ(FindingsOf(*program), "");
        const Tensor codes = CodesOf(*program, images);
        ASSERT_EQ(CodesOf(*program, images, Level::kCycle), codes);
        const Quantisation& q = *prepared.outputs()[0]->quantisation();
        const double step = middle == nullptr ? 0 : middle->quantisation()->scales[0] / q.scales[0];
        int64_t other = 0;
        for (int64_t i = 0; i < codes.size(); ++i) {
          const double real =
              std::min(127.0, values[static_cast<size_t>(i)] / q.scales[0] + q.zero_points[0]);
          const double off = std::abs(static_cast<double>(codes.IntAt(i)) - real);
          ASSERT_LE(off, 0.52 + 1.01 * step) << i;  // a tie on the way may go to either code
          other += off > 0.52 ? 1 : 0;
        }
        EXPECT_LE(other, codes.size() / 20);
      }
    }
  }
}

class Builder {
 public:
  Value* Input(Shape shape) {
    return graph_.AddInput("x", {ElementType::kFloat32, std::move(shape)});
  }
  Value* Convolution(Value* x, int64_t in, int64_t out, int64_t kernel) {
    Tensor weights(ElementType::kFloat32, Shape{out, in, kernel, kernel});
    for (float& w : weights.data<float>()) w = static_cast<float>(random_.Uniform(-0.2, 0.2));
    Attributes a;
    const int64_t pad = kernel / 2;
    a.Set("kernel_shape", std::vector<int64_t>{kernel, kernel});
    a.Set("pads", std::vector<int64_t>{pad, pad, pad, pad});
    return Node(Op::kConv,
                {x, graph_.AddConstant(fmt::format("w{}", graph_.nodes().size()), weights)}, a);
  }
  Value* Node(Op op, std::vector<Value*> operands, const Attributes& a = {}) {
    const std::string name = fmt::format("n{}", graph_.nodes().size());
    return graph_.AddNode(op, name, std::move(operands), {name + "_y"}, a)->result();
  }
  Value* Constant(const Tensor& tensor) {
    return graph_.AddConstant(fmt::format("c{}", graph_.nodes().size()), tensor);
  }
  Graph Done(Value* output) {
    graph_.MarkOutput(output);
    EXPECT_EQ(InferShapes(graph_), OkStatus());
    return std::move(graph_);
  }

 private:
  Graph graph_{"network"};
  Random random_{5};
};

int64_t CountOf(const VtaProgram& program, std::string_view operation) {
  return std::count_if(program.kernels().begin(), program.kernels().end(),
                       [&](const KernelInfo& k) { return k.operation.starts_with(operation); });
}

// SqueezeNet's fire module, twice: the layers of a branch write where the Concat stands, and no
// copy is left.
TEST(CompilerConcat, BranchesWriteIntoTheResult) {
  Builder b;
  Value* x = b.Convolution(b.Input({1, 16, 11, 11}), 16, 16, 1);
  for (int module = 0; module < 2; ++module) {
    Value* squeezed = b.Node(Op::kRelu, {b.Convolution(x, module == 0 ? 16 : 64, 16, 1)});
    Value* ones = b.Node(Op::kRelu, {b.Convolution(squeezed, 16, 32, 1)});
    x = b.Node(Op::kConcat, {ones, b.Node(Op::kRelu, {b.Convolution(squeezed, 16, 32, 3)})},
               Axis(1));
  }
  const Graph graph = b.Done(b.Convolution(x, 64, 20, 3));
  const Batch images = RandomImages(graph, 2, 1);
  Recipe recipe = Int8Recipe();
  recipe.quantise_outputs = true;
  Graph prepared = Prepare(graph.Clone(), images, recipe);
  // The same scale for all that is put together.
  for (const auto& node : prepared.nodes()) {
    if (node->op() != Op::kConcat) continue;
    for (Value* operand : node->operands())
      operand->set_quantisation(*node->result()->quantisation());
  }
  const auto program = CompileFor(prepared, PynqConfig());
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->kernels().size(), 8u) << program->Print();
  EXPECT_EQ(CountOf(*program, "copy"), 0);
  EXPECT_EQ(FindingsOf(*program), "");
  const Tensor codes = CodesOf(*program, images);
  EXPECT_EQ(CodesOf(*program, images, Level::kCycle), codes);

  // The same network with scales that differ by less than rounding shows: copies instead, nearly
  // the same codes.
  for (const auto& node : prepared.nodes()) {
    if (node->op() != Op::kConcat) continue;
    Quantisation q = *node->operand(0)->quantisation();
    q.scales[0] *= 1.0001f;
    node->operand(0)->set_quantisation(q);
  }
  const auto copied = CompileFor(prepared, PynqConfig());
  EXPECT_EQ(CountOf(*copied, "copy"), 2) << copied->Print();
  const Tensor others = CodesOf(*copied, images);
  EXPECT_EQ(CodesOf(*copied, images, Level::kCycle), others);
  for (int64_t i = 0; i < codes.size(); ++i)
    ASSERT_LE(std::abs(codes.IntAt(i) - others.IntAt(i)), 2);
}

TEST(CompilerConcat, PadsOfPixelsAndChannels) {
  struct PadCase {
    std::vector<int64_t> pads;  // of [1, 7, 9, 20]
    float number;
  };
  for (const PadCase& c : std::vector<PadCase>{{{0, 1, 2, 0, 0, 3, 0, 0}, 0},
                                               {{0, 0, 0, 0, 0, 1, 1, 0}, 0.7f},
                                               {{0, 0, 0, 4, 0, 0, 0, 8}, 0},
                                               {{0, 0, 0, 0, 0, 0, 0, 12}, 0}}) {
    SCOPED_TRACE(fmt::format("{} {} {}", c.pads[1], c.pads[3], c.number));
    Builder b;
    Value* x = b.Input({1, 7, 9, 20});
    Value* pads = b.Constant(Tensor::Of<int64_t>(Shape{8}, c.pads));
    Value* y = b.Node(Op::kPad, {x, pads, b.Constant(Tensor::Scalar<float>(c.number))});
    const Graph graph = b.Done(y);
    const Batch images = RandomImages(graph, 1, 2);
    Recipe recipe = Int8Recipe();
    recipe.quantise_outputs = true;
    const Graph prepared = Prepare(graph.Clone(), images, recipe);
    const auto program = CompileFor(prepared, PynqConfig());
    ASSERT_NE(program, nullptr);
    const Tensor in = RoundTensor(images.inputs[0], *prepared.inputs()[0]->quantisation());
    const Shape shape = prepared.outputs()[0]->shape();
    std::vector<double> values;
    for (int64_t row = 0; row < shape[1]; ++row) {
      for (int64_t column = 0; column < shape[2]; ++column) {
        for (int64_t channel = 0; channel < shape[3]; ++channel) {
          const int64_t h = row - c.pads[1], w = column - c.pads[2], k = channel - c.pads[3];
          const bool inside = h >= 0 && h < 7 && w >= 0 && w < 9 && k >= 0 && k < 20;
          values.push_back(inside ? in.ValueAt((h * 9 + w) * 20 + k) : c.number);
        }
      }
    }
    Check(prepared, *program, images, values);
  }
}

TEST(CompilerConcat, ConstantsGoToTheHost) {
  for (const int64_t channels : {16, 12}) {
    for (const bool first : {false, true}) {
      SCOPED_TRACE(fmt::format("{} channels, {}", channels, first ? "first" : "second"));
      Builder b;
      Random random(3);
      Value* x = b.Input({1, 7, 9, channels});
      Value* c = b.Constant(
          RandomTensor(random, ElementType::kFloat32, Shape{1, 7, 9, channels}, -1.0, 2.0));
      std::vector<Value*> operands = {x, c};
      if (first) std::swap(operands[0], operands[1]);
      const Graph graph = b.Done(b.Node(Op::kConcat, operands, Axis(3)));
      const Batch images = RandomImages(graph, 1, 2);
      Recipe recipe = Int8Recipe();
      recipe.quantise_outputs = true;
      Graph prepared = Prepare(graph.Clone(), images, recipe);
      const Quantisation& q = *prepared.inputs()[0]->quantisation();
      Node* concat = prepared.outputs()[0]->producer();
      Value* constant = concat->operand(first ? 0 : 1);
      ASSERT_TRUE(constant->is_constant());
      constant->set_quantisation(q);
      const Tensor numbers = RoundTensor(constant->constant(), q),
                   in = RoundTensor(images.inputs[0], q);
      const VtaAccelerator accelerator(PynqConfig());
      const auto program = accelerator.Compile(prepared, {});
      ASSERT_TRUE(program.ok()) << program.status();
      EXPECT_TRUE((*program)->kernels().back().host_reason.ends_with("is a constant"))
          << (*program)->Print();
      const auto run = accelerator.Run(**program, images, {});
      ASSERT_TRUE(run.ok()) << run.status();
      const Tensor wanted_a =
          RoundTensor(first ? numbers : in, *prepared.outputs()[0]->quantisation());
      const Tensor wanted_b =
          RoundTensor(first ? in : numbers, *prepared.outputs()[0]->quantisation());
      const double step =
          1.01 * prepared.outputs()[0]->quantisation()->scales[0];  // ties may go to either code
      for (int64_t i = 0; i < 63; ++i) {
        for (int64_t k = 0; k < channels; ++k) {
          ASSERT_NEAR(run->outputs[0].ValueAt(2 * i * channels + k),
                      wanted_a.ValueAt(i * channels + k), step);
          ASSERT_NEAR(run->outputs[0].ValueAt((2 * i + 1) * channels + k),
                      wanted_b.ValueAt(i * channels + k), step);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kiln::vta
