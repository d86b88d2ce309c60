// Tests of weights in external files: offsets, lengths, and paths that leave the model's folder.
#include "kiln/frontend/onnx_external.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "kiln/frontend/model.h"
#include "kiln/frontend/onnx.h"
#include "kiln/support/file.h"
#include "onnx/onnx_pb.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

// A folder with a model whose one initialiser, four floats, lies in an external file.
class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    root_ =
        fs::temp_directory_path() / ("kiln_external_" + std::to_string(::getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(root_ / "model" / "sub");
    const float values[] = {1, 2, 3, 4};
    bytes_.assign(reinterpret_cast<const char*>(values), sizeof(values));
  }
  void TearDown() override { fs::remove_all(root_); }

  StatusOr<Graph> Load(const std::string& location, const std::string& offset = "",
                       const std::string& length = "") {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    auto* graph = model.mutable_graph();
    auto* weights = graph->add_initializer();
    weights->set_name("w");
    weights->set_data_type(onnx::TensorProto::FLOAT);
    weights->add_dims(4);
    weights->set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
      if (value.empty()) return;
      auto* e = weights->add_external_data();
      e->set_key(key);
      e->set_value(value);
    };
    entry("location", location);
    entry("offset", offset);
    entry("length", length);
    auto* node = graph->add_node();
    node->set_op_type("Relu");
    node->add_input("w");
    node->add_output("y");
    graph->add_output()->set_name("y");
    EXPECT_TRUE(WriteFile(root_ / "model" / "net.onnx", model.SerializeAsString()).ok());
    return ImportOnnx(root_ / "model" / "net.onnx");
  }

  void ExpectRefused(const StatusOr<Graph>& graph, const std::string& why) {
    ASSERT_FALSE(graph.ok());
    EXPECT_NE(MessageOf(graph.status()).find("initialiser 'w'"), std::string::npos)
        << MessageOf(graph.status());
    EXPECT_NE(MessageOf(graph.status()).find(why), std::string::npos) << MessageOf(graph.status());
  }

  fs::path root_;
  std::string bytes_;
};

TEST_F(ExternalData, IsReadAtItsOffset) {
  ASSERT_TRUE(WriteFile(root_ / "model" / "sub" / "w.bin", "xyz" + bytes_ + "tail").ok());
  auto graph = Load("sub/w.bin", "3", "16");
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  EXPECT_EQ(graph->FindValue("w")->constant(), Tensor::Of<float>({4}, {1, 2, 3, 4}));
}

// Commands must not write over these files, nor copy the model without them.
TEST_F(ExternalData, IsListedWithTheModel) {
  ASSERT_TRUE(WriteFile(root_ / "model" / "sub" / "w.bin", bytes_).ok());
  ASSERT_TRUE(Load("sub/w.bin").ok());
  const fs::path model = root_ / "model" / "net.onnx";
  EXPECT_EQ(ExternalFilesOf(model), std::vector<fs::path>{root_ / "model" / "sub/w.bin"});
  const std::string refused = MessageOf(ModelWithMetadata(model, "kiln.x", "y").status());
  EXPECT_NE(refused.find("tensor 'w': lies in a file of its own"), std::string::npos) << refused;

  // The same in an attribute of a node within a branch.
  onnx::ModelProto nested;
  nested.set_ir_version(8);
  nested.add_opset_import()->set_version(17);
  auto* branch = nested.mutable_graph()->add_node()->add_attribute()->add_graphs();
  auto* tensor = branch->add_node()->add_attribute()->mutable_t();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("other.bin");
  ASSERT_TRUE(WriteFile(model, nested.SerializeAsString()).ok());
  EXPECT_EQ(ExternalFilesOf(model), std::vector<fs::path>{root_ / "model" / "other.bin"});
  EXPECT_TRUE(ExternalFilesOf(root_ / "none.onnx").empty());
}

TEST_F(ExternalData, OffsetAndLengthMustFitTheFile) {
  ASSERT_TRUE(WriteFile(root_ / "model" / "w.bin", bytes_).ok());
  EXPECT_TRUE(Load("w.bin").ok());
  ExpectRefused(Load("w.bin", "1"), "needs 16 bytes at offset 1 of 'w.bin', which has 16");
  ExpectRefused(Load("w.bin", "18446744073709551615"), "which has 16");
  ExpectRefused(Load("w.bin", "0", "12"), "holds 12 bytes");
  ExpectRefused(Load("w.bin", "-1"), "offset '-1'");
  ExpectRefused(Load("w.bin", "4k"), "offset '4k'");
}

TEST_F(ExternalData, MustLieInTheFolderOfTheModel) {
  ASSERT_TRUE(WriteFile(root_ / "secret.bin", bytes_).ok());
  ExpectRefused(Load((root_ / "secret.bin").string()), "is an absolute path");
  ExpectRefused(Load("../secret.bin"), "leaves the folder");
  ExpectRefused(Load("sub/../../secret.bin"), "leaves the folder");
  ExpectRefused(Load("missing.bin"), "is not there");
  ExpectRefused(Load("sub"), "is a directory");
  ExpectRefused(Load("."), "leaves the folder");
  ExpectRefused(Load(""), "is not a file name");
}

TEST_F(ExternalData, LinksMayNotLeaveTheFolder) {
  ASSERT_TRUE(WriteFile(root_ / "secret.bin", bytes_).ok());
  ASSERT_TRUE(WriteFile(root_ / "model" / "w.bin", bytes_).ok());
  fs::create_symlink(root_ / "secret.bin", root_ / "model" / "out.bin");
  fs::create_symlink(root_, root_ / "model" / "sub" / "up");
  fs::create_symlink("w.bin", root_ / "model" / "inside.bin");
  ExpectRefused(Load("out.bin"), "leaves the folder through a link");
  ExpectRefused(Load("sub/up/secret.bin"), "leaves the folder through a link");
  EXPECT_TRUE(Load("inside.bin").ok());
}

TEST_F(ExternalData, IsRefusedWithoutAFolder) {
  ASSERT_TRUE(WriteFile(root_ / "model" / "w.bin", bytes_).ok());
  ASSERT_TRUE(Load("w.bin").ok());
  const auto bytes = ReadFile(root_ / "model" / "net.onnx");
  ASSERT_TRUE(bytes.ok());
  ExpectRefused(ImportOnnxBytes(*bytes, "net.onnx", ""), "does not come from a file");
}

TEST(MapFile, GivesTheBytesAndSlackBehindThem) {
  const fs::path path = fs::temp_directory_path() / ("kiln_map_" + std::to_string(::getpid()));
  const std::string text(4096, 'k');  // ends on a page, where an ordinary mapping would end too
  ASSERT_TRUE(WriteFile(path, text).ok());
  const auto mapped = MapFile(path);
  fs::remove(path);
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped->bytes), mapped->size), text);
  EXPECT_EQ(mapped->bytes[mapped->size + 63], std::byte{0});
}

}  // namespace
}  // namespace kiln
