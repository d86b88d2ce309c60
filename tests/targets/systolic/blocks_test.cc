// Sequence networks as PyTorch exports them, against PyTorch's own results: LSTMs whose states are
// an input and an output, and decoder blocks of LLaMA with angles that are constant, counted in the
// graph, or computed from positions of up to 2,005 (bench/export_blocks.py writes all files).
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "gtest/gtest.h"
#include "kiln/execute/reference.h"
#include "kiln/frontend/data_named.h"
#include "kiln/frontend/model.h"
#include "kiln/passes/pipeline.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/systolic/compiled.h"
#include "tests/test_data.h"

namespace kiln::systolic {
namespace {

// All samples of the values, in their order.
std::vector<Tensor> SamplesOf(const std::string& archive, std::span<Value* const> values) {
  std::vector<Tensor> tensors;
  const auto arrays = NamedArrays::Open(TestData("blocks") / archive);
  EXPECT_TRUE(arrays.ok()) << arrays.status();
  if (!arrays.ok()) return tensors;
  for (const Value* value : values) {
    const auto set = arrays->Read(arrays->Find(value->name()).value());
    EXPECT_TRUE(set.ok()) << set.status();
    std::vector<int64_t> dims = set->image_shape().dims();
    dims.insert(dims.begin(), set->size());
    Tensor& tensor = tensors.emplace_back(set->element(), Shape(std::move(dims)));
    std::memcpy(tensor.mutable_bytes(), set->Image(0).data(),
                static_cast<size_t>(tensor.num_bytes()));
  }
  return tensors;
}

// The greatest difference, as a share of the greatest number expected.
double ShareOfDifference(const Tensor& got, const Tensor& expected) {
  EXPECT_EQ(got.shape(), expected.shape());
  double difference = 0, size = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(std::isfinite(got.ValueAt(i))) << "element " << i;
    difference = std::max(difference, std::abs(got.ValueAt(i) - expected.ValueAt(i)));
    size = std::max(size, std::abs(expected.ValueAt(i)));
  }
  EXPECT_GT(size, 0);
  return difference / size;
}

struct Block {
  const char* name;
  size_t inputs, outputs;
  double int8_difference;  // at most, of any output
};

class Blocks : public testing::TestWithParam<Block> {
 protected:
  void SetUp() override {
    auto graph = LoadModel(TestData("blocks") / (std::string(GetParam().name) + ".onnx"));
    ASSERT_TRUE(graph.ok()) << MessageOf(graph.status());
    graph_ = *std::move(graph);
    ASSERT_EQ(graph_.inputs().size(), GetParam().inputs);
    ASSERT_EQ(graph_.outputs().size(), GetParam().outputs);
    inputs_ = SamplesOf(std::string(GetParam().name) + "_inputs.npz", graph_.inputs());
    expected_ = SamplesOf(std::string(GetParam().name) + "_outputs.npz", graph_.outputs());
  }
  bool is_llama() const { return std::string_view(GetParam().name).starts_with("llama"); }

  Graph graph_;
  std::vector<Tensor> inputs_, expected_;
};

TEST_P(Blocks, ReferenceIsPyTorch) {
  PassContext context;
  ASSERT_TRUE(RunPasses(graph_, StandardPipeline(), context).ok());
  std::map<std::string, std::set<std::string>> regions;  // by kind
  int norms = 0;
  for (const auto& node : graph_.nodes()) {
    norms += node->op() == Op::kRmsNormalization ? 1 : 0;
    const std::string& region = node->region();
    if (!region.empty()) regions[region.substr(0, region.find(' '))].insert(region);
  }
  EXPECT_EQ(norms, is_llama() ? 2 : 0);
  EXPECT_EQ(regions["rope"].size(), is_llama() ? 2u : 0u);  // of queries and of keys
  EXPECT_EQ(regions["swiglu"].size(), is_llama() ? 1u : 0u);
  EXPECT_EQ(regions["attention"].size(), is_llama() ? 1u : 0u);
  const auto executor = ReferenceExecutor::Create(graph_);
  ASSERT_TRUE(executor.ok()) << MessageOf(executor.status());
  const auto outputs = (*executor)->RunBatch(inputs_);
  ASSERT_TRUE(outputs.ok()) << MessageOf(outputs.status());
  for (size_t i = 0; i < expected_.size(); ++i)
    EXPECT_LT(ShareOfDifference((*outputs)[i], expected_[i]), 1e-5) << i;
}

// In int8 the answers stay near PyTorch's; functional and cycle level give the same bits.
TEST_P(Blocks, RunOnTheMachine) {
  std::vector<std::vector<Tensor>> samples;
  for (int64_t n = 0; n < inputs_[0].shape()[0]; ++n) {
    std::vector<Tensor>& one = samples.emplace_back();
    for (const Tensor& input : inputs_) {
      std::vector<int64_t> dims = input.shape().dims();
      dims[0] = 1;
      const int64_t bytes = input.num_bytes() / input.shape()[0];
      one.push_back(Tensor::View(input.type(), Shape(std::move(dims)),
                                 std::make_shared<Tensor>(input), input.bytes() + n * bytes));
    }
  }
  auto prepared = Prepare(std::move(graph_), samples);
  ASSERT_TRUE(prepared.ok()) << MessageOf(prepared.status());
  const auto program = CompileFor(*prepared, SquareConfig(8));
  ASSERT_TRUE(program.ok()) << MessageOf(program.status());
  const Batch batch{inputs_};
  const auto functional = RunFunctional(**program, batch, RunOptions{});
  ASSERT_TRUE(functional.ok()) << MessageOf(functional.status());
  const auto cycle = RunCycle(**program, batch, RunOptions{});
  ASSERT_TRUE(cycle.ok()) << MessageOf(cycle.status());
  ASSERT_EQ(functional->outputs.size(), expected_.size());
  for (size_t i = 0; i < expected_.size(); ++i) {
    EXPECT_TRUE(functional->codes[i] == cycle->codes[i]) << i;
    EXPECT_TRUE(functional->outputs[i] == cycle->outputs[i]) << i;
    const double difference = ShareOfDifference(functional->outputs[i], expected_[i]);
    std::printf("int8: output %zu differs by %.4f\n", i, difference);
    EXPECT_LT(difference, GetParam().int8_difference) << i;
  }
  std::printf("%s", KernelList(**program).c_str());
}

INSTANTIATE_TEST_SUITE_P(Exported, Blocks,
                         testing::Values(Block{"dtln", 2, 2, 0.02}, Block{"llama", 1, 1, 0.05},
                                         Block{"llama_positions", 2, 1, 0.05},
                                         Block{"llama_arange", 1, 1, 0.05}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln::systolic
