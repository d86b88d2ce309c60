// Exports quantised networks with ONNX's 8-bit floats, 4-bit integers and scales per block, and
// runs them again: a machine must give the same bits as for the network that was exported. In these
// networks no kernel rounds what the exported quantisers would round as well (docs/onnx.md).
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "kiln/frontend/data_named.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/text.h"
#include "kiln/support/file.h"
#include "kiln/support/random.h"
#include "tests/cli/call.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

Tensor RandomMatrix(Shape shape, uint64_t seed, double low) {
  Tensor tensor(ElementType::kFloat32, std::move(shape));
  Random random(seed);
  for (float& x : tensor.data<float>()) x = static_cast<float>(random.Uniform(low, 0.2));
  return tensor;
}

// Returns three products with Relu between, as text.
std::string Perceptron(double least_weight) {
  Graph graph("perceptron");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 64}});
  const int64_t widths[] = {64, 64, 32, 16};
  for (size_t layer = 0; layer < 3; ++layer) {
    const std::string name = std::to_string(layer);
    if (layer > 0) x = graph.AddNode(Op::kRelu, "relu" + name, {x}, {"relu" + name})->result();
    Value* w = graph.AddConstant(
        "w" + name, RandomMatrix({widths[layer], widths[layer + 1]}, layer + 1, least_weight));
    x = graph.AddNode(Op::kMatMul, "product" + name, {x, w}, {"y" + name})->result();
  }
  graph.MarkOutput(x);
  EXPECT_TRUE(InferShapes(graph).ok());
  return PrintGraph(graph);
}

// Returns convolutions with activations, and with a residual sum if wanted, as text.
std::string Convolutions(bool residual) {
  Graph graph("residual");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 16, 8, 8}});
  uint64_t seed = 7;
  const auto convolution = [&](Value* from, const std::string& name) {
    Value* w = graph.AddConstant(name + ".w", RandomMatrix({16, 16, 3, 3}, ++seed, -0.2));
    Value* b = graph.AddConstant(name + ".b", RandomMatrix({16}, ++seed, -0.2));
    Attributes attributes;
    attributes.Set("kernel_shape", std::vector<int64_t>{3, 3});
    attributes.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
    return graph.AddNode(Op::kConv, name, {from, w, b}, {name + ".y"}, std::move(attributes))
        ->result();
  };
  const auto relu = [&](Value* from, const std::string& name) {
    return graph.AddNode(Op::kRelu, name, {from}, {name + ".y"})->result();
  };
  Value* skip = relu(convolution(x, "conv1"), "relu1");
  Value* body = convolution(relu(convolution(skip, "conv2"), "relu2"), "conv3");
  if (residual) body = graph.AddNode(Op::kAdd, "add", {body, skip}, {"add.y"})->result();
  Value* last = convolution(relu(body, "relu3"), "conv4");
  graph.MarkOutput(last);
  EXPECT_TRUE(InferShapes(graph).ok());
  return PrintGraph(graph);
}

class NarrowRoundTrip : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string At(const std::string& name) const { return (folder_ / name).string(); }
  void Write(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(WriteFile(folder_ / name, text).ok());
  }
  // Returns the bytes of the network's output for made-up inputs.
  std::string Run(const std::string& model, std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"run",       At(model),    "--random",      "20",
                                          "--limit",   "20",         "--cycle-limit", "1",
                                          "--outputs", At("out.npz")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome run = Call(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_NE(run.out.find("every kernel runs on the accelerator"), std::string::npos) << run.out;
    const auto arrays = NamedArrays::Open(At("out.npz"));
    EXPECT_TRUE(arrays.ok()) << arrays.status();
    const auto set = arrays->Read(0);
    EXPECT_TRUE(set.ok() && set->size() == 20) << set.status();
    std::string bytes;
    for (int64_t i = 0; i < set->size(); ++i) {
      const auto sample = set->Image(i);
      bytes.append(reinterpret_cast<const char*>(sample.data()), sample.size());
    }
    return bytes;
  }
  void Export(const std::string& recipe, const std::string& to,
              const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"export",   At("net.kir"), "--quantise", recipe,
                                          "--random", "20",          "-o",         At(to)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome out = Call(arguments);
    EXPECT_EQ(out.code, 0) << out.err;
    EXPECT_EQ(out.err.find("quantises every annotated value") != std::string::npos,
              more.empty() && to.ends_with(".onnx"))
        << out.err;
  }
  fs::path folder_ =
      fs::temp_directory_path() / ("kiln_narrow_round_trip_" + std::to_string(::getpid()));
};

// Everything is in the file.
TEST_F(NarrowRoundTrip, OfFloatsAndNibbles) {
  Write("net.kir", Perceptron(-0.2));
  for (const auto& [recipe, machine] :
       {std::pair{"e4m3", "systolic-e4m3-8x8"}, std::pair{"int4", "systolic-int8-8x8"}}) {
    SCOPED_TRACE(recipe);
    Export(recipe, "q.kir");
    Export(recipe, "q.onnx");
    EXPECT_EQ(Run("q.onnx", {"--on", machine}), Run("q.kir", {"--on", machine}));
  }
}

// A file for a machine has quantisers only where the machine rounds, so that the machine gives the
// bits of the recipe. Without --on other values are rounded, too, and where the machine fuses the
// sum with the convolution before it, the bits differ.
TEST_F(NarrowRoundTrip, OfAFileForAMachine) {
  struct Case {
    std::string recipe, machine;
    bool residual, fuses_sum;
  };
  const std::string with_outputs = At("outputs.yaml");
  Write("outputs.yaml", "activations: {type: int8}\nweights: {type: int8}\noutputs: quantised\n");
  for (const auto& [recipe, machine, residual, fuses_sum] :
       {Case{"int8", "systolic-int8-8x8", true, true},
        Case{"e4m3", "systolic-e4m3-8x8", true, true}, Case{"int8", "vta-default", true, true},
        Case{"int8", "dataflow-zcu104", true, false}, Case{"int8", "se-16", true, false},
        Case{with_outputs, "binary-176", false, false}}) {
    SCOPED_TRACE(machine);
    Write("net.kir", Convolutions(residual));
    const std::vector<std::string> on = {"--on", machine};
    std::vector<std::string> quantised = {"--on", machine, "--quantise", recipe};
    const std::string expected = Run("net.kir", quantised);
    Export(recipe, "q.onnx", on);
    EXPECT_TRUE(Run("q.onnx", on) == expected);
    Export(recipe, "all.onnx");
    EXPECT_EQ(Run("all.onnx", on) != expected, fuses_sum);
  }
}

// What a network quantises itself, here activations of eight bits between pools and reshapes, is in
// the file as in a run.
TEST_F(NarrowRoundTrip, OfANetworkThatQuantisesItself) {
  const Outcome copy =
      Call({"export", "models/fashion_cnn_w1a8.onnx", "--passes", "clean-up", "-o", At("net.kir")});
  EXPECT_EQ(copy.code, 0) << copy.err;
  for (const char* machine : {"systolic-int8-8x8", "dataflow-zcu104"}) {
    SCOPED_TRACE(machine);
    const std::vector<std::string> on = {"--on", machine};
    Export("int8", "q.onnx", on);
    EXPECT_TRUE(Run("q.onnx", on) == Run("net.kir", {"--on", machine, "--quantise", "int8"}));
  }
}

// The factor of a product of two activations, as attention has it, goes through the file exactly,
// also if it is not a power of two.
TEST_F(NarrowRoundTrip, OfAProductWithAFactor) {
  Graph graph("scores");
  Value* q = graph.AddInput("q", {ElementType::kFloat32, Shape{1, 8, 16}});
  Value* w = graph.AddConstant("w", RandomMatrix({16, 16}, 3, -0.2));
  Value* k = graph.AddNode(Op::kMatMul, "key", {q, w}, {"k"})->result();
  Attributes attributes;
  attributes.Set("transpose_b", int64_t{1});
  attributes.Set("alpha", 0.1767767f);
  Value* scores =
      graph.AddNode(Op::kMatMul, "scores", {q, k}, {"s"}, std::move(attributes))->result();
  Value* shares = graph.AddNode(Op::kSoftmax, "softmax", {scores}, {"p"})->result();
  graph.MarkOutput(graph.AddNode(Op::kMatMul, "sums", {shares, k}, {"y"})->result());
  EXPECT_TRUE(InferShapes(graph).ok());
  Write("net.kir", PrintGraph(graph));
  const std::vector<std::string> on = {"--on", "systolic-int8-8x8"};
  Export("int8", "q.onnx", on);
  EXPECT_TRUE(Run("q.onnx", on) ==
              Run("net.kir", {"--on", "systolic-int8-8x8", "--quantise", "int8"}));
}

TEST_F(NarrowRoundTrip, OfAMachineThatRunsNothing) {
  const Outcome out = Call({"export", "models/demo_fashion_mnist.onnx", "--quantise", "int8",
                            "--on", "cgra-grid-4x4", "--random", "1", "-o", At("q.onnx")});
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_NE(out.err.find("note: cgra-grid-4x4 runs no kernel of the network"), std::string::npos)
      << out.err;
}

// Symmetric codes and codes of fewer bits than ONNX's types are bounded in the file, by a Clip or
// by Max and Min, and have the same annotation after import.
TEST_F(NarrowRoundTrip, OfFewerCodes) {
  Write("net.kir", Convolutions(true));
  const std::vector<std::string> on = {"--on", "systolic-int8-8x8"};
  for (const char* recipe : {"int6", "int4"}) {
    for (const char* symmetric : {"true", "false"}) {
      SCOPED_TRACE(std::string(recipe) + " " + symmetric);
      const bool clips = std::string(recipe) == "int6";
      Write("recipe.yaml", std::string("activations: {type: ") + recipe +
                               ", symmetric: " + symmetric + "}\nweights: {type: int8}\n");
      Export(At("recipe.yaml"), "q.onnx", on);
      const std::string bytes = *ReadFile(At("q.onnx"));
      EXPECT_EQ(bytes.find("Clip") != std::string::npos, clips);
      EXPECT_EQ(bytes.find("Max") != std::string::npos, !clips && std::string(symmetric) == "true");
      std::vector<std::string> quantised = on;
      quantised.insert(quantised.end(), {"--quantise", At("recipe.yaml")});
      EXPECT_TRUE(Run("q.onnx", on) == Run("net.kir", quantised));
      const Outcome text =
          Call({"export", At("q.onnx"), "--passes", "annotated", "-o", At("q.kir")});
      EXPECT_EQ(text.code, 0) << text.err;
      const std::string graph = *ReadFile(At("q.kir"));
      EXPECT_NE(graph.find(std::string("quant ") + recipe), std::string::npos);
      EXPECT_EQ(graph.find("= clip"), std::string::npos);
      EXPECT_EQ(graph.find("= max"), std::string::npos);
    }
  }
}

// The weights are in the file, and the recipe gives blocks to the activations. The weights of
// mxint8 are positive: a block with the code -128 would be rounded anew (docs/onnx.md).
TEST_F(NarrowRoundTrip, OfBlocks) {
  for (const auto& [type, machine] : {std::pair{"mxint8", "systolic-mxint8-8x8"},
                                      std::pair{"mxfp8_e4m3", "systolic-mxfp8_e4m3-16x16"}}) {
    SCOPED_TRACE(type);
    Write("net.kir", Perceptron(std::string(type) == "mxint8" ? 0 : -0.2));
    Write("weights.yaml",
          std::string("activations: {type: fp32}\nweights: {type: ") + type + "}\n");
    Export(At("weights.yaml"), "q.onnx");
    const std::vector<std::string> more = {"--on", machine, "--quantise", type};
    EXPECT_EQ(Run("q.onnx", more), Run("net.kir", more));
  }
}

// A recipe sees the quantisers of a file, and keeps or replaces their parameters, as in a run.
TEST_F(NarrowRoundTrip, OfAFileThatIsQuantised) {
  Write("net.kir", Perceptron(-0.2));
  Export("int8", "q.onnx");
  Write("replace.yaml",
        "own_parameters: replace\nactivations: {type: int8}\nweights: {type: int4}\n");
  for (const auto& [recipe, note] :
       {std::pair{std::string("int4"), "note: what the network quantises itself keeps its"},
        std::pair{At("replace.yaml"), "note: the recipe replaces the quantisation that"}}) {
    SCOPED_TRACE(recipe);
    const Outcome out = Call(
        {"export", At("q.onnx"), "--quantise", recipe, "--random", "20", "-o", At("again.kir")});
    EXPECT_EQ(out.code, 0) << out.err;
    EXPECT_NE(out.err.find(note), std::string::npos) << out.err;
    EXPECT_NE(out.err.find("note: calibrated on random noise"), std::string::npos) << out.err;
    const std::vector<std::string> machine = {"--on", "systolic-int8-8x8"};
    EXPECT_TRUE(Run("again.kir", machine) ==
                Run("q.onnx", {"--on", "systolic-int8-8x8", "--quantise", recipe}));
    EXPECT_EQ(Run("again.kir", machine) == Run("q.onnx", machine), recipe == "int4");
  }
}

// The preprocessing that a network was calibrated with is in its file.
TEST_F(NarrowRoundTrip, KeepsThePreprocessing) {
  fs::create_directories(folder_ / "images");
  Random random(3);
  for (int i = 0; i < 3; ++i) {
    std::string image = "P5\n28 28\n255\n";
    for (int p = 0; p < 28 * 28; ++p) image += static_cast<char>(random.Below(256));
    Write("images/" + std::to_string(i) + ".pgm", image);
  }
  const auto network = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"export",      "models/demo_fashion_mnist.onnx",
                                          "--quantise",  "int8",
                                          "--calibrate", At("images"),
                                          "-o",          At("q.kir")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome out = Call(arguments);
    EXPECT_EQ(out.code, 0) << out.err;
    return *ReadFile(At("q.kir"));
  };
  EXPECT_EQ(network({}).find("scale=1/7"), std::string::npos);
  const std::string text = network({"--preprocess", "none,scale=1/7"});
  EXPECT_NE(text.find("scale=1/7"), std::string::npos) << text.substr(0, 500);
  // Noise is not preprocessed: the model's own preprocessing stays.
  const auto own = [](const std::string& graph) {
    const size_t at = graph.find("kiln.preprocess");
    return at == std::string::npos ? std::string() : graph.substr(at, graph.find('\n', at) - at);
  };
  const Outcome noise = Call({"export", "models/demo_fashion_mnist.onnx", "--quantise", "int8",
                              "--random", "3", "--preprocess", "scale=1/7", "-o", At("n.kir")});
  EXPECT_EQ(noise.code, 0) << noise.err;
  EXPECT_EQ(own(*ReadFile(At("n.kir"))), own(network({})));
  EXPECT_NE(own(network({})), "");
}

}  // namespace
}  // namespace kiln::cli
