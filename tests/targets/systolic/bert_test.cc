// BERT as PyTorch exports it, two integer inputs, against PyTorch's own results
// (bench/export_bert.py writes both). The small one lies in tests/data; KILN_BERT names another by
// its path without ending, such as FOLDER/bert_base.
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"
#include "kiln/execute/reference.h"
#include "kiln/frontend/model.h"
#include "kiln/passes/pipeline.h"
#include "kiln/support/file.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/systolic/compiled.h"

namespace kiln::systolic {
namespace {

std::string Base() {
  if (const char* named = std::getenv("KILN_BERT")) return named;
  const std::string path = "tests/data/bert_small/bert_small";
  return std::filesystem::exists(path + ".onnx") ? path : "../" + path;
}

Tensor Array(const std::string& name) {
  const std::string path = Base() + "_" + name + ".pb";
  const auto bytes = ReadFile(path);
  EXPECT_TRUE(bytes.ok()) << MessageOf(bytes.status());
  auto tensor = ImportOnnxTensor(bytes.ok() ? *bytes : "", path);
  EXPECT_TRUE(tensor.ok()) << MessageOf(tensor.status());
  return tensor.ok() ? *std::move(tensor) : Tensor();
}

// The greatest difference, as a share of the greatest number expected.
double Difference(const Tensor& got, const Tensor& expected) {
  EXPECT_EQ(got.shape(), expected.shape());
  double difference = 0, size = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(std::isfinite(got.ValueAt(i))) << "element " << i;  // max would pass over a NaN
    difference = std::max(difference, std::abs(got.ValueAt(i) - expected.ValueAt(i)));
    size = std::max(size, std::abs(expected.ValueAt(i)));
  }
  EXPECT_GT(size, 0);
  return difference / size;
}

class Bert : public testing::Test {
 protected:
  void SetUp() override {
    auto graph = LoadModel(Base() + ".onnx");
    ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
    graph_ = *std::move(graph);
    ASSERT_EQ(graph_.inputs().size(), 2u);
    EXPECT_EQ(graph_.inputs()[0]->name(), "input_ids");
    EXPECT_EQ(graph_.inputs()[0]->element(), ElementType::kInt64);
    EXPECT_EQ(graph_.inputs()[1]->name(), "attention_mask");
    inputs_ = {Array("input_ids"), Array("attention_mask")};
  }
  Graph graph_;
  std::vector<Tensor> inputs_;
};

TEST_F(Bert, ReferenceIsPyTorch) {
  PassContext context;
  ASSERT_TRUE(RunPasses(graph_, StandardPipeline(), context).ok());
  int norms = 0, gelus = 0;
  for (const auto& node : graph_.nodes()) {
    norms += node->op() == Op::kLayerNormalization ? 1 : 0;
    gelus += node->op() == Op::kGelu ? 1 : 0;
  }
  EXPECT_EQ(norms, 2 * gelus + 1);
  const auto executor = ReferenceExecutor::Create(graph_);
  ASSERT_TRUE(executor.ok()) << MessageOf(executor.status());
  const auto outputs = (*executor)->RunBatch(inputs_);
  ASSERT_TRUE(outputs.ok()) << MessageOf(outputs.status());
  const double logits = Difference((*outputs)[0], Array("logits")),
               pooled = Difference((*outputs)[1], Array("pooled"));
  std::printf("reference: logits differ by %.2e, pooled by %.2e\n", logits, pooled);
  EXPECT_LT(logits, 1e-4);
  EXPECT_LT(pooled, 1e-4);
}

// In int8 the answers stay near PyTorch's; functional and cycle level give the same bits. A large
// network runs its first sequence at the functional level alone.
TEST_F(Bert, RunsOnTheMachine) {
  const bool large = std::getenv("KILN_BERT") != nullptr;
  std::vector<std::vector<Tensor>> sequences;
  for (int64_t n = 0; n < inputs_[0].shape()[0]; ++n) {
    std::vector<Tensor> one;
    for (const Tensor& input : inputs_) {
      const int64_t length = input.shape()[1];
      one.push_back(Tensor::View(input.type(), {1, length}, std::make_shared<Tensor>(input),
                                 input.bytes() + n * length * SizeOf(input.type())));
    }
    sequences.push_back(std::move(one));
  }
  auto prepared = Prepare(std::move(graph_), sequences);
  ASSERT_TRUE(prepared.ok()) << MessageOf(prepared.status());
  const auto program = CompileFor(*prepared, SquareConfig(large ? 32 : 8));
  ASSERT_TRUE(program.ok()) << MessageOf(program.status());
  int64_t on_host = 0, all = 0;
  for (const KernelInfo& kernel : (*program)->kernels()) {
    all += kernel.operations;
    if (kernel.unit == "host") on_host += kernel.operations;
  }
  const Batch batch{large ? sequences[0] : inputs_};
  const auto functional = RunFunctional(**program, batch, RunOptions{});
  ASSERT_TRUE(functional.ok()) << MessageOf(functional.status());
  Tensor logits = Array("logits");
  if (large)
    logits = Tensor::View(ElementType::kFloat32, {1, logits.shape()[1]},
                          std::make_shared<Tensor>(logits), logits.bytes());
  const double difference = Difference(functional->outputs[0], logits);
  std::printf("int8: logits differ by %.3f, %.4f %% of operations on the host\n%s", difference,
              100.0 * static_cast<double>(on_host) / static_cast<double>(all),
              large ? "" : KernelList(**program).c_str());
  EXPECT_LT(difference, 0.15);
  EXPECT_LT(static_cast<double>(on_host), 0.01 * static_cast<double>(all));
  if (large) return;
  const auto cycle = RunCycle(**program, batch, RunOptions{});
  ASSERT_TRUE(cycle.ok()) << MessageOf(cycle.status());
  for (size_t i = 0; i < functional->codes.size(); ++i)
    EXPECT_TRUE(functional->codes[i] == cycle->codes[i]) << i;
}

}  // namespace
}  // namespace kiln::systolic
