// Checks that the importer's errors about models with names, lists and texts of any length are one
// line of less than 2 KB.
#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/ir/verifier.h"
#include "tests/frontend/onnx_models.h"

namespace kiln {
namespace {

constexpr int kMany = 200'000;

std::string Long(char letter = 'a') { return std::string(kMany, letter); }

std::string StringAttribute(const std::string& name, const std::string& text) {
  return fmt::format("attribute {{ name: '{}' type: STRING s: '{}' }} ", name, text);
}
std::string IntegerConstant(const std::string& name, const std::vector<int64_t>& values) {
  return fmt::format("initializer {{ name: '{}' data_type: 7 dims: {} int64_data: [{}] }} ", name,
                     values.size(), fmt::join(values, ","));
}

// Options that refuse inputs of unknown shape.
ImportOptions KnownInputs(decltype(ImportOptions::shapes) shapes = {}) {
  ImportOptions options;
  options.shapes = std::move(shapes);
  options.known_inputs = true;
  return options;
}

// A model in text form with the error that it must cause.
struct Hostile {
  std::string what;
  std::string graph;
  std::string fault;  // a part of the message
  ImportOptions options = {};
  int opset = 13;
};

std::vector<Hostile> HostileModels() {
  const std::string x = InputText("x", {"1", "2", "3", "4"});
  const std::vector<int64_t> list(kMany, -7);
  std::vector<Hostile> out = {
      {"perm", x + NodeToY("Transpose", IntsAttribute("perm", list)),
       "perm [-7,-7,-7,-7,-7,-7,-7,-7,... (200000 in all)] does not permute"},
      {"strides",
       x + NodeToY("MaxPool",
                   IntsAttribute("kernel_shape", {1, 1}) + IntsAttribute("strides", list)),
       "(200000 in all)"},
      {"pads",
       x + NodeToY("AveragePool",
                   IntsAttribute("kernel_shape", {1, 1}) + IntsAttribute("pads", list)),
       "(200000 in all)"},
      {"axes",
       x + NodeToY("Squeeze", IntsAttribute("axes", std::vector<int64_t>(kMany, 0))),
       "",
       {},
       11},
      {"reshape", x + IntegerConstant("s", list) + NodeToY("Reshape", "input: 's'"), ""},
      {"expand", x + IntegerConstant("s", list) + NodeToY("Expand", "input: 's'"), ""},
      {"shape of constants", IntegerConstant("x", list) + NodeToY("ConstantOfShape"), ""},
      {"split", x + IntegerConstant("s", list) + NodeToY("Split", "input: 's'"), ""},
      {"tile", x + IntegerConstant("s", list) + NodeToY("Tile", "input: 's'"), ""},
      {"pad", x + IntegerConstant("s", list) + NodeToY("Pad", "input: 's'"), ""},
      {"operator", x + NodeToY(Long('O')), "operators that are not supported: OOO"},
      {"auto_pad",
       x + NodeToY("MaxPool",
                   IntsAttribute("kernel_shape", {1, 1}) + StringAttribute("auto_pad", Long('P'))),
       "' (200000 bytes in all)"},
      {"equation", x + NodeToY("Einsum", StringAttribute("equation", Long('i'))), ""},
      {"broken equation", x + NodeToY("Einsum", StringAttribute("equation", Long('!'))),
       "(200000 bytes in all)"},
      {"attribute", x + NodeToY("Relu", StringAttribute(Long(), "1")), "(200000 bytes in all)"},
      {"name of a node",
       x + NodeToY("Transpose", IntsAttribute("perm", {0}) + fmt::format("name: '{}'", Long())),
       "' (200000 bytes in all) (Transpose)"},
      {"undefined value", x + NodeToY("Add", fmt::format("input: '{}'", Long())),
       "reads value 'aaa"},
      {"value defined twice",
       x + fmt::format("node {{ op_type: 'Relu' input: 'x' output: '{0}' output: '{0}' }}", Long()),
       "defines value 'aaa"},
      {"output", x + fmt::format("output {{ name: '{}' }}", Long()), "is not defined by any node"},
      {"input defined twice", InputText(Long(), {"1"}) + InputText(Long(), {"1"}),
       "is defined twice"},
      {"initialiser defined twice", FloatsText(Long(), {1}, {1}) + FloatsText(Long(), {1}, {1}),
       "is defined twice"},
      {"shape of an input", InputText(Long(), std::vector<std::string>(1000, "9")),
       "(200000 bytes in all)"},
      {"external file",
       fmt::format("initializer {{ name: 'w' data_type: 1 dims: 4 data_location: EXTERNAL "
                   "external_data {{ key: 'location' value: '{}' }} }}",
                   Long()),
       "external data 'aaa"},
      {"external offset",
       fmt::format("initializer {{ name: 'w' data_type: 1 dims: 4 data_location: EXTERNAL "
                   "external_data {{ key: 'offset' value: '{}' }} }}",
                   Long()),
       "external data"},
      {"declared type",
       x + fmt::format("node {{ op_type: 'Relu' input: 'x' output: '{0}' }} ", Long()) +
           ValueText("output", Long(), {"7"}),
       "is declared"},
      {"symbol", InputText("x", {"1", Long()}) + NodeToY("Relu"), "without a size: aaa",
       KnownInputs()},
      {"type of a cast", x + NodeToY("Cast", StringAttribute("to", Long())), "", {}, 1},
      {"domain", x + NodeToY("Relu", fmt::format("domain: '{}'", Long())), "not supported"},
  };
  std::string nodes = x, inputs;
  for (int i = 0; i < 2000; ++i) {
    nodes += fmt::format("node {{ op_type: 'Unknown{}' input: 'x' output: 'y{}' }} ", i, i);
    inputs += InputText(fmt::format("input{}", i), {"1", fmt::format("symbol{}", i)});
  }
  out.push_back({"many unsupported operators", nodes, "... (2000 in all)"});
  out.push_back({"many symbols", inputs, "... (2000 in all)", KnownInputs()});
  out.push_back(
      {"names for --shape", inputs, "... (2000 in all)", KnownInputs({{"none", Shape{3}}})});
  return out;
}

TEST(OnnxMessageLength, ErrorsAreShort) {
  for (const Hostile& model : HostileModels()) {
    SCOPED_TRACE(model.what);
    auto graph = Import(model.opset, model.graph, "", model.options);
    Status status = graph.status();
    if (graph.ok()) status = Verify(*graph);
    EXPECT_FALSE(status.ok());
    const std::string message = MessageOf(status);
    EXPECT_LT(message.size(), 2048u);
    EXPECT_TRUE(std::none_of(message.begin(), message.end(), [](char c) { return c == '\n'; }));
    EXPECT_NE(message.find(model.fault), std::string::npos) << message;
  }
}

// A file name of the user is never cut by what a model says.
TEST(OnnxMessageLength, TheFileAndTheFaultAreNamed) {
  const auto graph = Import(
      13, InputText("x", {"1", "2"}) + NodeToY("Transpose", IntsAttribute("perm", {0, 0}) +
                                                                fmt::format("name: '{}'", Long())));
  EXPECT_EQ(MessageOf(graph.status()).substr(0, 20), "test.onnx: node 'aaa");
  EXPECT_NE(MessageOf(graph.status()).find("perm [0,0] does not permute"), std::string::npos)
      << MessageOf(graph.status());
}

}  // namespace
}  // namespace kiln
