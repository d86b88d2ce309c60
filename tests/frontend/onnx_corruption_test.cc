// Checks that a damaged model causes an error or is another model, and never a crash.
#include <gtest/gtest.h>

#include "kiln/ir/shape_inference.h"
#include "kiln/ir/verifier.h"
#include "tests/frontend/onnx_models.h"

namespace kiln {
namespace {

// Small, with many kinds of field: raw and typed data, attributes of several kinds, a function,
// symbols.
std::string ModelWithFunction() {
  const std::string function =
      "functions { domain: 'local' name: 'F' input: 'a' output: 'b' opset_import { version: 11 } "
      "node { op_type: 'Clip' input: 'a' output: 't' } node { op_type: 'Softmax' input: 't' "
      "output: 'b' } } "
      "opset_import { domain: 'local' version: 1 }";
  return ModelBytes(11,
                    InputText("x", {"n", "1", "4", "4"}) +
                        "initializer { name: 'w' data_type: 1 dims: [2, 1, 3, 3] raw_data: '" +
                        std::string(72, 'a') + "' } " +
                        "initializer { name: 'i' data_type: 7 dims: 2 int64_data: [0, -1] } " +
                        "node { op_type: 'Conv' input: 'x' input: 'w' output: 'c' " +
                        IntsAttribute("pads", {1, 1, 1, 1}) +
                        "attribute { name: 'auto_pad' type: STRING s: 'NOTSET' } } " +
                        "node { op_type: 'Upsample' input: 'c' output: 'u' "
                        "attribute { name: 'scales' type: FLOATS floats: [1, 1, 2, 2] } } "
                        "node { op_type: 'Reshape' input: 'u' input: 'i' output: 'r' } "
                        "node { op_type: 'F' domain: 'local' input: 'r' output: 'y' } " +
                        ValueText("output", "y", {"n", "128"}),
                    function);
}

void Check(const std::string& bytes) {
  auto graph = ImportOnnxBytes(bytes, "test.onnx", "");
  if (!graph.ok()) {
    EXPECT_FALSE(MessageOf(graph.status()).empty());
    EXPECT_EQ(MessageOf(graph.status()).find('\n'), std::string::npos);
    return;
  }
  if (!Verify(*graph).ok()) return;
  EXPECT_TRUE(InferShapes(*graph).ok());
}

TEST(OnnxCorruption, TheWholeModelIsFine) {
  const auto graph = ImportOnnxBytes(ModelWithFunction(), "test.onnx", "");
  ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
  EXPECT_TRUE(Verify(*graph).ok()) << MessageOf(Verify(*graph));
  EXPECT_EQ(graph->outputs()[0]->shape(), (Shape{1, 128}));
}

TEST(OnnxCorruption, TruncatedAnywhere) {
  const std::string whole = ModelWithFunction();
  for (size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    Check(whole.substr(0, size));
  }
}

TEST(OnnxCorruption, AnyBitFlipped) {
  const std::string whole = ModelWithFunction();
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    SCOPED_TRACE(bit);
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    Check(bytes);
  }
}

TEST(OnnxCorruption, AnyByteReplaced) {
  const std::string whole = ModelWithFunction();
  for (const char value : {'\0', '\x7f', '\xff'}) {
    for (size_t i = 0; i < whole.size(); ++i) {
      SCOPED_TRACE(i);
      std::string bytes = whole;
      bytes[i] = value;
      Check(bytes);
    }
  }
}

}  // namespace
}  // namespace kiln
