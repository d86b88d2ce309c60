// Tests of the budgets of the ONNX importer (support/budgets.def), each at its limit: a small file
// must not be able to request unlimited resources.
#include "kiln/frontend/onnx_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "kiln/frontend/onnx_outline.h"
#include "kiln/frontend/onnx_tensor.h"
#include "kiln/support/budgets.h"
#include "kiln/support/process.h"
#include "tests/frontend/onnx_models.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string ErrorOf(const StatusOr<Graph>& graph) {
  return graph.ok() ? "no error" : MessageOf(graph.status());
}

// A model y = relu(x), to which tests add.
onnx::ModelProto SmallModel() {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(ModelBytes(17, InputText("x", {"1"}) + NodeToY("Relu"))));
  return model;
}

StatusOr<Graph> ImportProto(const onnx::ModelProto& model) {
  return ImportOnnxBytes(model.SerializeAsString(), "test.onnx", "");
}

// What the walk over the file foresees is what protobuf then takes, within a third.
TEST(OnnxStructure, IsWhatParsingTakes) {
  const auto compare = [](const onnx::ModelProto& model, const char* what) {
    const std::string bytes = model.SerializeAsString();
    onnx::ModelProto parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    const auto taken = static_cast<double>(parsed.SpaceUsedLong());
    const double foreseen = static_cast<double>(
        StructureBytes(bytes, *onnx::ModelProto::descriptor(), INT64_MAX) + std::ssize(bytes));
    EXPECT_GT(foreseen, taken * 0.67) << what;
    EXPECT_LT(foreseen, taken * 1.5) << what;
  };
  onnx::ModelProto nodes = SmallModel(), names = SmallModel(), numbers = SmallModel(),
                   raw = SmallModel();
  onnx::ModelProto floats = SmallModel(), attributes = SmallModel();
  for (int i = 0; i < 10000; ++i) nodes.mutable_graph()->add_node();
  for (int i = 0; i < 10000; ++i) names.mutable_graph()->mutable_node(0)->add_input("");
  for (int i = 0; i < 16384; ++i)
    numbers.mutable_graph()->mutable_node(0)->add_attribute()->add_ints(1);
  auto* list = attributes.mutable_graph()->mutable_node(0)->add_attribute();
  for (int i = 0; i < 16384; ++i) list->add_ints(1);
  raw.mutable_graph()->add_initializer()->set_raw_data(std::string(1 << 20, 'x'));
  for (int i = 0; i < 16384; ++i) floats.mutable_graph()->add_initializer()->add_float_data(1);
  compare(nodes, "nodes");
  compare(names, "names");
  compare(numbers, "numbers");
  compare(attributes, "attributes");
  compare(raw, "raw data");
  compare(floats, "floats");
}

// Fields of onnx.proto that come in another wire type, numbers that an enumeration lacks and
// groups: protobuf keeps all of them as unknown fields.
TEST(OnnxStructure, CountsFieldsOfAnotherWireType) {
  const std::pair<const char*, std::string> fields[] = {
      {"ir_version as bytes", std::string("\x0a\x00", 2)},
      {"graph as a number", std::string("\x38\x00", 2)},
      {"producer_name as four bytes", std::string("\x15\x00\x00\x00\x00", 5)},
      {"ir_version as eight bytes", std::string("\x09\x00\x00\x00\x00\x00\x00\x00\x00", 9)},
      {"a group", std::string("\x0b\x0c", 2)},
      {"a field that is not there", std::string("\xf8\x07\x00", 3)},
  };
  const auto compare = [](const google::protobuf::Message& empty, const std::string& bytes,
                          const char* what) {
    const std::unique_ptr<google::protobuf::Message> parsed(empty.New());
    ASSERT_TRUE(parsed->ParseFromString(bytes)) << what;
    const auto taken = static_cast<double>(parsed->SpaceUsedLong());
    const double foreseen = static_cast<double>(
        StructureBytes(bytes, *empty.GetDescriptor(), INT64_MAX) + std::ssize(bytes));
    EXPECT_GT(foreseen, taken * 0.67) << what;
    EXPECT_LT(foreseen, taken * 3) << what;
  };
  for (const auto& [what, field] : fields) {
    std::string bytes;
    for (int i = 0; i < 16384; ++i) bytes += field;
    compare(onnx::ModelProto(), bytes, what);
  }
  std::string types;
  for (int i = 0; i < 16384; ++i) types += "\xa0\x01\x63";  // AttributeProto.type: 99
  compare(onnx::AttributeProto(), types, "a type that onnx.proto lacks");
  // 28 MB of ir_version as bytes are refused before they are parsed, by the outline as well.
  std::string bytes(28'000'000, '\0');
  for (size_t i = 0; i < bytes.size(); i += 2) bytes[i] = '\x0a';
  EXPECT_THAT(MessageOf(CheckStructure(bytes, "net.onnx")),
              HasSubstr("holds too many nodes, attributes"));
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-budget");
  const fs::path path = folder.path() / "net.onnx";
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(MessageOf(OutlineOnnx(path).status()), ErrorOf(ImportOnnx(path)));
  EXPECT_THAT(MessageOf(OutlineOnnx(path).status()), HasSubstr("holds too many nodes, attributes"));
}

// A shape that no tensor has counts no parameters.
TEST(OnnxOutline, ShapesOfNegativeSizeCountNothing) {
  onnx::ModelProto model;
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : {int64_t{-3}, int64_t{1} << 40, int64_t{1} << 40}) tensor->add_dims(dim);
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-outline");
  const fs::path path = folder.path() / "net.onnx";
  std::ofstream(path, std::ios::binary) << model.SerializeAsString();
  const auto outline = OutlineOnnx(path);
  ASSERT_TRUE(outline.ok()) << outline.status();
  EXPECT_EQ(outline->parameters, 0);
}

// 18 MB of empty nodes would take more than the budget of memory; they are refused before they are
// parsed.
TEST(OnnxStructure, HoldsAtItsEdge) {
  const int64_t each =
      StructureBytes(std::string("\x3a\x02\x0a\x00", 4), *onnx::ModelProto::descriptor(),
                     INT64_MAX) -
      StructureBytes(std::string("\x3a\x00", 2), *onnx::ModelProto::descriptor(), INT64_MAX);
  ASSERT_GT(each, 100);
  const auto model = [&](int64_t nodes) {
    std::string graph, out = "\x3a";  // the field `graph`
    for (int64_t i = 0; i < nodes; ++i) graph += std::string("\x0a\x00", 2);
    for (uint64_t left = graph.size(); true; left >>= 7) {
      out += static_cast<char>((left & 127) | (left > 127 ? 128 : 0));
      if (left <= 127) break;
    }
    return out + graph;
  };
  const int64_t of_graph = StructureBytes(model(0), *onnx::ModelProto::descriptor(), INT64_MAX);
  const int64_t most = (budgets::kOnnxStructureBytes - of_graph) / each;
  EXPECT_TRUE(CheckStructure(model(most), "net.onnx").ok());
  const std::string refused =
      "net.onnx: holds too many nodes, attributes, names and numbers; at most 1073741824 bytes "
      "of memory beyond the size of the file";
  EXPECT_EQ(MessageOf(CheckStructure(model(most + 1), "net.onnx")), refused);
  EXPECT_EQ(ErrorOf(ImportOnnxBytes(model(most + 1), "net.onnx", "")), refused);
}

// A varint of one byte becomes eight bytes of memory.
TEST(OnnxStructure, CountsWhatPackedNumbersGrowTo) {
  onnx::TensorProto tensor;
  for (int i = 0; i < 1000; ++i) tensor.add_int64_data(i % 100);
  const int64_t found =
      StructureBytes(tensor.SerializeAsString(), *onnx::TensorProto::descriptor(), INT64_MAX);
  EXPECT_EQ(found, 7000);
}

TEST(OnnxStructure, LeavesDamageToTheParser) {
  const std::string whole = SmallModel().SerializeAsString();
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_TRUE(CheckStructure(whole.substr(0, length), "cut.onnx").ok()) << length;
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i)
    deep += "\x0b";  // groups inside groups, which onnx.proto does not have
  EXPECT_TRUE(CheckStructure(deep, "deep.onnx").ok());
  EXPECT_THAT(ErrorOf(ImportOnnxBytes(deep, "deep.onnx", "")),
              HasSubstr("is not an ONNX model, or is damaged"));
}

// A model that calls a function of `nodes` constants and passes an attribute of that many bytes to
// each.
onnx::ModelProto ManyAttributes(int nodes, int64_t bytes) {
  onnx::ModelProto model = SmallModel();
  auto* import = model.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  auto* function = model.add_functions();
  function->set_name("F");
  function->set_domain("local");
  function->add_input("a");
  function->add_output("b");
  function->add_attribute("text");
  for (int i = 0; i < nodes; ++i) {
    auto* node = function->add_node();
    node->set_op_type("Constant");
    node->add_output("v" + std::to_string(i));
    auto* attribute = node->add_attribute();
    attribute->set_name("value_string");
    attribute->set_ref_attr_name("text");
    attribute->set_type(onnx::AttributeProto::STRING);
  }
  auto* last = function->add_node();
  last->set_op_type("Relu");
  last->add_input("a");
  last->add_output("b");
  auto* call = model.mutable_graph()->mutable_node(0);
  call->set_op_type("F");
  call->set_domain("local");
  auto* attribute = call->add_attribute();
  attribute->set_name("text");
  attribute->set_type(onnx::AttributeProto::STRING);
  attribute->set_s(std::string(static_cast<size_t>(bytes), 'x'));
  return model;
}

// 1.3 MB of file: an attribute of a megabyte that a function hands to thousands of nodes.
TEST(OnnxInlining, ChargesAttributes) {
  const std::string whole = ErrorOf(ImportProto(ManyAttributes(8000, 1 << 20)));
  EXPECT_THAT(
      whole,
      HasSubstr(
          "functions are too large, or called too often, to be inlined; at most 268435456 bytes"));
  // Copies: one of the call's attribute, one for each node, and the body.
  const int nodes = 63;
  const int64_t half = budgets::kOnnxInlinedBytes / (nodes + 1);
  EXPECT_EQ(ErrorOf(ImportProto(ManyAttributes(nodes, half - 4096))), "no error");
  EXPECT_THAT(ErrorOf(ImportProto(ManyAttributes(nodes, half))), HasSubstr("to be inlined"));
}

// The name of a call stands before the names of all nodes inside.
TEST(OnnxInlining, ChargesNames) {
  onnx::ModelProto model = ManyAttributes(4000, 1);
  model.mutable_graph()->mutable_node(0)->set_name(std::string(1 << 16, 'n'));
  EXPECT_THAT(ErrorOf(ImportProto(model)),
              HasSubstr("functions are too large, or called too often, to be inlined"));
  model.mutable_graph()->mutable_node(0)->set_name(std::string(1 << 14, 'n'));
  EXPECT_EQ(ErrorOf(ImportProto(model)), "no error");
}

// Functions that call one another, one level each.
TEST(OnnxInlining, DepthAtTheBudget) {
  const auto nested = [](int64_t levels) {
    std::string functions;
    for (int64_t i = 0; i < levels; ++i) {
      const bool last = i + 1 == levels;
      functions += fmt::format(
          "functions {{ domain: 'local' name: 'F{}' input: 'a' output: 'b' opset_import {{ "
          "version: 17 }} "
          "opset_import {{ domain: 'local' version: 1 }} node {{ op_type: '{}' domain: '{}' input: "
          "'a' output: 'b' }} "
          "}} ",
          i, last ? "Relu" : fmt::format("F{}", i + 1), last ? "" : "local");
    }
    return ErrorOf(Import(
        17,
        InputText("x", {"1"}) +
            "node { op_type: 'F0' domain: 'local' input: 'x' output: 'y' } output { name: 'y' } ",
        functions + "opset_import { domain: 'local' version: 1 } "));
  };
  EXPECT_EQ(nested(budgets::kOnnxCallDepth), "no error");
  EXPECT_THAT(nested(budgets::kOnnxCallDepth + 1),
              HasSubstr("functions call each other too deeply to be inlined; at most 32 levels"));
}

// The first node lacks its operand, so that the import stops after the count.
TEST(OnnxNodes, AtTheBudget) {
  onnx::ModelProto model = SmallModel();
  model.mutable_graph()->mutable_node(0)->set_input(0, "none");
  for (int64_t i = 1; i < budgets::kOnnxNodes; ++i) {
    auto* node = model.mutable_graph()->add_node();
    node->set_op_type("Relu");
    node->add_input("none");
    node->add_output("");
  }
  EXPECT_THAT(ErrorOf(ImportProto(model)), testing::Not(HasSubstr("too many nodes")));
  model.mutable_graph()->add_node()->set_op_type("Relu");
  EXPECT_THAT(
      ErrorOf(ImportProto(model)),
      HasSubstr("test.onnx: the model has too many nodes; at most 1048576, functions inlined"));
}

// The dense form of a sparse tensor of one entry.
TEST(OnnxMadeElements, AtTheBudget) {
  const auto sparse = [](int64_t elements) {
    return ErrorOf(Import(
        17,
        InputText("x", {"1"}) + NodeToY("Relu") +
            fmt::format("sparse_initializer {{ dims: {} values {{ name: 's' data_type: 2 dims: 1 "
                        "int32_data: 1 }} indices {{ data_type: 7 dims: 1 int64_data: 0 }} }} ",
                        elements)));
  };
  EXPECT_EQ(sparse(budgets::kOnnxMadeElements), "no error");
  EXPECT_THAT(sparse(budgets::kOnnxMadeElements + 1),
              HasSubstr("initialiser 's': sparse tensor of shape 67108865 is empty or too large"));
}

class OnnxExternal : public testing::Test {
 protected:
  // A tensor of bytes at an offset of the file "w".
  StatusOr<Tensor> Take(ExternalFiles& files, int64_t elements, int64_t offset, int type) const {
    onnx::TensorProto proto;
    proto.set_data_type(type);
    proto.add_dims(elements);
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    const std::pair<const char*, std::string> entries[] = {{"location", "w"},
                                                           {"offset", std::to_string(offset)}};
    for (const auto& [key, value] : entries) {
      auto* entry = proto.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return TakeTensor(proto, "net.onnx", "initialiser 'w'", files);
  }
  void MakeFile(int64_t bytes) const {
    std::ofstream(folder_.path() / "w").close();
    fs::resize_file(folder_.path() / "w", static_cast<uintmax_t>(bytes));
  }
  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-budget");
};

// Tensors that name one file again and again; a file with holes is as large as one likes.
TEST_F(OnnxExternal, BytesAtTheBudget) {
  const int64_t each = budgets::kOnnxExternalBytes / 8;
  MakeFile(each);
  ExternalFiles files(folder_.path(), "net.onnx");
  std::vector<Tensor> tensors;
  for (int i = 0; i < 8; ++i) {
    auto tensor = Take(files, each / 8, 0, onnx::TensorProto::INT64);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    tensors.push_back(*std::move(tensor));
  }
  EXPECT_EQ(MessageOf(Take(files, 1, 0, onnx::TensorProto::INT64).status()),
            "net.onnx: initialiser 'w': makes the model's external data too large; at most "
            "274877906944 bytes in one "
            "model");
}

TEST_F(OnnxExternal, CopiesAtTheBudget) {
  MakeFile(1 << 20);
  const std::string refused =
      "net.onnx: initialiser 'w': makes the external data that is small, narrow or not aligned, "
      "and so is copied, "
      "too large; at most 1000 bytes in one model";
  ExternalFiles small(folder_.path(), "net.onnx", {.bytes = 1 << 30, .copied = 1000});
  EXPECT_TRUE(Take(small, 600, 0, onnx::TensorProto::INT8).ok());
  EXPECT_TRUE(Take(small, 400, 0, onnx::TensorProto::INT8).ok());
  EXPECT_EQ(MessageOf(Take(small, 1, 0, onnx::TensorProto::INT8).status()), refused);
  EXPECT_TRUE(Take(small, 1 << 20, 0, onnx::TensorProto::INT8).ok());  // is not copied
  ExternalFiles others(folder_.path(), "net.onnx", {.bytes = 1 << 30, .copied = 1000});
  EXPECT_EQ(MessageOf(Take(others, 1 << 17, 1, onnx::TensorProto::FLOAT).status()), refused);
  EXPECT_EQ(MessageOf(Take(others, 1 << 20, 0, onnx::TensorProto::BOOL).status()), refused);
}

// What is unpacked counts: a byte of the file holds two elements of INT4, or one of FP8 that
// becomes four bytes.
TEST_F(OnnxExternal, NarrowElementsCountAsWhatTheyBecome) {
  MakeFile(1 << 20);
  const std::pair<int, int64_t> types[] = {
      {22, 1 << 21}, {21, 1 << 21}, {17, 1 << 22}, {19, 1 << 22}};
  for (const auto& [type, unpacked] : types) {
    const int64_t elements = type >= 21 ? 1 << 21 : 1 << 20;
    const auto take = [&](int64_t copied) {
      ExternalFiles files(folder_.path(), "net.onnx", {.bytes = 1 << 30, .copied = copied});
      onnx::TensorProto proto;
      proto.set_data_type(type);
      proto.add_dims(elements);
      proto.set_data_location(onnx::TensorProto::EXTERNAL);
      auto* entry = proto.add_external_data();
      entry->set_key("location");
      entry->set_value("w");
      return TakeTensor(proto, "net.onnx", "initialiser 'w'", files).status();
    };
    EXPECT_TRUE(take(unpacked).ok()) << type;
    EXPECT_THAT(MessageOf(take(unpacked - 1)),
                HasSubstr("small, narrow or not aligned, and so is copied, too large"))
        << type;
  }
}

TEST_F(OnnxExternal, CopiesHaveTheBudgetOfTheTable) {
  ExternalFiles files(folder_.path(), "net.onnx");
  EXPECT_TRUE(files.Charge(budgets::kOnnxExternalCopies, /*copied=*/true, "initialiser 'w'").ok());
  EXPECT_TRUE(files.Charge(1, /*copied=*/false, "initialiser 'w'").ok());
  EXPECT_THAT(MessageOf(files.Charge(1, /*copied=*/true, "initialiser 'w'")),
              HasSubstr("too large; at most 4294967296 bytes in one model"));
}

// Opening one would wait for a writer.
TEST_F(OnnxExternal, AFifoIsRefused) {
  ASSERT_EQ(::mkfifo((folder_.path() / "w").c_str(), 0600), 0);
  ExternalFiles files(folder_.path(), "net.onnx");
  EXPECT_THAT(MessageOf(Take(files, 1, 0, onnx::TensorProto::FLOAT).status()),
              HasSubstr("net.onnx: initialiser 'w': " + (folder_.path() / "w").string() +
                        ": is not a regular file; name a file"));
  EXPECT_EQ(ErrorOf(ImportOnnx(folder_.path() / "w")),
            (folder_.path() / "w").string() + ": is not a regular file; name a file");
}

TEST(OnnxFile, AtTheBudget) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-budget");
  const fs::path path = folder.path() / "net.onnx";
  std::ofstream(path).close();
  fs::resize_file(path, static_cast<uintmax_t>(budgets::kOnnxFileBytes));
  EXPECT_EQ(
      ErrorOf(ImportOnnx(path)),
      path.string() + ": is not an ONNX model, or is damaged; a protobuf ModelProto is expected");
  fs::resize_file(path, static_cast<uintmax_t>(budgets::kOnnxFileBytes) + 1);
  EXPECT_EQ(MessageOf(OutlineOnnx(path).status()), ErrorOf(ImportOnnx(path)));
  EXPECT_EQ(ErrorOf(ImportOnnx(path)),
            path.string() +
                ": 2147483648 bytes are too many; at most 2147483647; larger models keep "
                "their tensors in external files");
}

}  // namespace
}  // namespace kiln
