// Trained networks on the systolic family: what runs where, and whether the results are right.
#include <filesystem>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ostream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kiln/execute/reference.h"
#include "kiln/frontend/onnx.h"
#include "kiln/ir/random_graph.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/systolic/compiled.h"
#include "tests/test_data.h"

namespace kiln::systolic {
namespace {

// Prints as its file.
struct Model {
  friend void PrintTo(const Model& model, std::ostream* out) { *out << model.file; }
  std::string file;
  double most_on_host;  // share of operations
  double error;         // relative to the float network's outputs, root of squares
};

class SystolicModels : public testing::TestWithParam<Model> {};

TEST_P(SystolicModels, CompilesAndRuns) {
  std::string path = "models/" + GetParam().file;
  if (!std::filesystem::exists(path)) path = TestData("models") / GetParam().file;
  auto graph = ImportOnnx(path);
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<std::vector<Tensor>> images;
  for (uint64_t seed = 0; seed < 4; ++seed) images.push_back(RandomInputs(*graph, seed));
  const auto prepared = Prepare(std::move(*graph), images);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto program = CompileFor(*prepared, SquareConfig(16));
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_LE((*program)->HostShare(), GetParam().most_on_host);
  if (testing::Test::HasFailure() || std::getenv("KILN_VERBOSE") != nullptr)
    std::printf("%s", KernelList(**program).c_str());
  std::printf("%s: host share %.4f, %zu kernels, %zu instructions\n", GetParam().file.c_str(),
              (*program)->HostShare(), (*program)->kernels().size(),
              (*program)->instructions().size());

  const auto executor = ReferenceExecutor::Create(*prepared);
  ASSERT_TRUE(executor.ok());
  const auto expected = (*executor)->Run(images[0]);
  ASSERT_TRUE(expected.ok());
  const auto result = RunCycle(**program, Batch{images[0]}, RunOptions{});
  ASSERT_TRUE(result.ok()) << result.status();
  const auto functional = RunFunctional(**program, Batch{images[0]}, RunOptions{});
  ASSERT_TRUE(functional.ok()) << functional.status();
  EXPECT_TRUE(functional->codes == result->codes) << "the functional and the cycle level differ";
  double error = 0, size = 0;
  for (size_t i = 0; i < expected->size(); ++i) {
    const auto got = result->outputs[i].data<float>(), want = (*expected)[i].data<float>();
    for (size_t j = 0; j < want.size(); ++j) {
      error += (got[j] - want[j]) * (got[j] - want[j]);
      size += want[j] * want[j];
    }
  }
  std::printf("relative error %.4f, %ld cycles\n", std::sqrt(error / size), result->trace.cycles);
  EXPECT_LT(std::sqrt(error / size), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(Trained, SystolicModels,
                         testing::Values(Model{"demo_fashion_mnist.onnx", 0.0, 0.1},
                                         Model{"resnet20_cifar10.onnx", 0.0, 0.05},
                                         Model{"resnet8_cifar10_mlperftiny.onnx", 0.0, 0.2},
                                         Model{"dscnn_kws_mlperftiny.onnx", 0.0, 0.05},
                                         Model{"mnist-8.onnx", 0.0, 0.05},
                                         Model{"vit_mnist.onnx", 0.0, 0.05}),
                         [](const auto& info) {
                           std::string name = info.param.file.substr(0, info.param.file.find('.'));
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace kiln::systolic
