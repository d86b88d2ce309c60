// Exports every model of the repository, after passes and quantised, and checks what other readers
// of ONNX rely on: names, order and operator sets, and the checker of ONNX itself.
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cli/call.h"

namespace kiln::cli {
namespace {

struct Variant {
  const char* name;
  std::vector<std::string> arguments;
  bool known_to_checker;  // Debian's ONNX 1.12 knows the element types
};

class ExportedModels : public testing::TestWithParam<std::tuple<const char*, Variant>> {};

// Returns the values that the graph gives before its first node.
std::set<std::string> ValuesBefore(const onnx::GraphProto& graph) {
  std::set<std::string> known;
  for (const auto& input : graph.input()) known.insert(input.name());
  for (const auto& tensor : graph.initializer()) {
    EXPECT_TRUE(known.insert(tensor.name()).second) << "two values '" << tensor.name() << "'";
  }
  return known;
}

// Returns whether Debian's ONNX 1.12 knows the operators: these are of opset 18 or later.
bool OperatorsAreKnown(const onnx::ModelProto& model) {
  const auto& nodes = model.graph().node();
  return std::none_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return node.op_type() == "Gelu" || node.op_type() == "ReduceMean";
  });
}

void CheckGraph(const onnx::ModelProto& model) {
  std::set<std::string> domains, names, known = ValuesBefore(model.graph());
  for (const auto& opset : model.opset_import()) domains.insert(opset.domain());
  for (const auto& node : model.graph().node()) {
    SCOPED_TRACE(node.name());
    EXPECT_FALSE(node.name().empty());
    EXPECT_TRUE(names.insert(node.name()).second) << "two nodes of this name";
    EXPECT_EQ(domains.count(node.domain()), 1u) << "no operator set of domain " << node.domain();
    for (const auto& input : node.input()) {
      if (!input.empty()) {
        EXPECT_EQ(known.count(input), 1u) << "'" << input << "' comes later or from nowhere";
      }
    }
    for (const auto& output : node.output()) {
      if (!output.empty()) {
        EXPECT_TRUE(known.insert(output).second) << "two values '" << output << "'";
      }
    }
  }
  for (const auto& output : model.graph().output())
    EXPECT_EQ(known.count(output.name()), 1u) << "output " << output.name();
}

TEST_P(ExportedModels, AreWhatReadersExpect) {
  const auto& [path, variant] = GetParam();
  const auto file = std::filesystem::temp_directory_path() /
                    ("kiln_exported" + std::to_string(::getpid()) + ".onnx");
  std::vector<std::string> arguments = {"export", path, "-o", file.string()};
  arguments.insert(arguments.end(), variant.arguments.begin(), variant.arguments.end());
  const Outcome outcome = Call(arguments);
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  onnx::ModelProto model;
  std::ifstream stream(file, std::ios::binary);
  ASSERT_TRUE(model.ParseFromIstream(&stream));
  std::filesystem::remove(file);
  ASSERT_GT(model.graph().node_size(), 0);
  CheckGraph(model);
  if (!variant.known_to_checker || !OperatorsAreKnown(model)) return;
  // The checker refuses newer files by number alone.
  model.set_ir_version(onnx::IR_VERSION);
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception& error) {
    FAIL() << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Repository, ExportedModels,
    testing::Combine(
        testing::Values(
            "models/demo_fashion_mnist.onnx", "models/fashion_cnn_w1a1.onnx",
            "models/fashion_mlp_w1a8.onnx", "models/binary_resnet20.onnx", "models/hourglass.onnx",
            "models/vdsr5.onnx", "tests/data/models/dscnn_kws_mlperftiny.onnx",
            "tests/data/models/mnist-8.onnx", "tests/data/models/resnet8_cifar10_mlperftiny.onnx",
            "tests/data/models/super_resolution_espcn3x.onnx",
            "tests/data/models/tfc_2w2a_mnist_qonnx.onnx", "tests/data/models/vit_mnist.onnx"),
        testing::Values(Variant{"clean", {}, true},
                        Variant{"standard", {"--passes", "standard"}, true},
                        Variant{"int8", {"--quantise", "int8", "--random", "1"}, true},
                        Variant{"int4", {"--quantise", "int4", "--random", "1"}, false},
                        Variant{"e4m3", {"--quantise", "e4m3", "--random", "1"}, false})),
    [](const testing::TestParamInfo<ExportedModels::ParamType>& info) {
      std::string name = std::filesystem::path(std::get<0>(info.param)).stem().string();
      for (char& c : name) c = c == '-' ? '_' : c;
      return name + "_" + std::get<1>(info.param).name;
    });

}  // namespace
}  // namespace kiln::cli
