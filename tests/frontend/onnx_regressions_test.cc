// Tests of models in which fuzzing found faults (fuzz/onnx_fuzz.cc): each must become a graph that
// the passes keep valid, or a one-line error.
#include <gtest/gtest.h>

#include <filesystem>

#include "kiln/frontend/onnx.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/verifier.h"
#include "kiln/passes/pipeline.h"

namespace kiln {
namespace {

void ExpectOneLine(const Status& status, const std::string& begin) {
  EXPECT_TRUE(MessageOf(status).starts_with(begin)) << MessageOf(status);
  EXPECT_EQ(MessageOf(status).find('\n'), std::string::npos) << MessageOf(status);
}

TEST(OnnxRegressions, AreErrorsOrGraphs) {
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/frontend/regressions")) {
    const std::string path = entry.path().string();
    SCOPED_TRACE(path);
    ++models;
    auto graph = ImportOnnx(path);
    if (!graph.ok()) {
      ExpectOneLine(graph.status(), path + ": ");
      continue;
    }
    if (!Verify(*graph).ok()) continue;
    EXPECT_TRUE(InferShapes(*graph).ok());
    EXPECT_TRUE(ExportOnnxBytes(*graph).ok());
    PassContext context;
    if (const Status status = RunPasses(*graph, StandardPipeline(), context); !status.ok()) {
      ExpectOneLine(status, "pass ");
    } else {
      EXPECT_TRUE(Verify(*graph).ok());
    }
  }
  EXPECT_GE(models, 2) << "run from the source folder";
}

}  // namespace
}  // namespace kiln
