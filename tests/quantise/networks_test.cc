// Tests of trained networks, quantised by the ready-made recipes and simulated: predictions must
// not change.
#include <gtest/gtest.h>

#include "kiln/execute/reference.h"
#include "kiln/frontend/data_convert.h"
#include "kiln/frontend/onnx.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/accuracy.h"
#include "kiln/quantise/calibrate.h"
#include "kiln/quantise/quantise.h"
#include "kiln/quantise/simulate.h"
#include "tests/shared_folder.h"
#include "tests/test_data.h"

namespace kiln {
namespace {

struct NetworkCase {
  std::string_view name;
  std::string_view model;
  std::string_view calibration;
  std::string_view test;
  std::string_view preprocess;
  int64_t calibration_images;
  int64_t test_images;
  int64_t least_fp32;    // images that fp32 gets right, at least: what the reference outputs of the
                         // models say
  int64_t allowed_loss;  // images
  bool shared = false;   // whether the images are those of the shared folder
};

class Networks : public testing::TestWithParam<NetworkCase> {};

Tensor Scores(const Graph& graph, const Tensor& images) {
  const auto executor = ReferenceExecutor::Create(graph);
  KILN_CHECK(executor.ok());
  auto outputs = (*executor)->RunBatch(std::span(&images, 1));
  KILN_CHECK(outputs.ok());
  return (*outputs)[0];
}

TEST_P(Networks, Int8KeepsTheAccuracy) {
  const NetworkCase& c = GetParam();
  auto graph = ImportOnnx(TestData("models") / c.model);
  ASSERT_TRUE(graph.ok()) << graph.status();
  PassContext context;
  const Status passes = RunPasses(*graph, StandardPipeline(), context);
  ASSERT_TRUE(passes.ok()) << passes;
  const auto preprocess = ParsePreprocess(c.preprocess, "", "");
  ASSERT_TRUE(preprocess.ok()) << preprocess.status();
  const auto images_of = [&](const DataSet& set, int64_t first, int64_t count) {
    const auto converter =
        ImageConverter::Create(&set, *preprocess, *graph->inputs()[0], graph->source());
    KILN_CHECK(converter.ok());
    return *converter->MakeBatch(first, count);
  };
  const std::filesystem::path folder = c.shared ? SharedFolder() / "data" : TestData("mnist");
  if (c.shared && SharedFolder().empty()) GTEST_SKIP() << "needs KILN_SHARED";
  const auto calibration_set = LoadDataSet(folder / c.calibration);
  const auto test_set = LoadDataSet(folder / c.test);
  ASSERT_TRUE(calibration_set.ok() && test_set.ok());
  // The last images of the calibration file, which are not among those tested where both are the
  // same file.
  const Tensor calibration = images_of(
      *calibration_set, calibration_set->size() - c.calibration_images, c.calibration_images);
  const Tensor images = images_of(*test_set, 0, c.test_images);

  const auto data = Calibrate(*graph, std::span(&calibration, 1), c.calibration_images);
  ASSERT_TRUE(data.ok()) << data.status();
  const auto exact = TopK(Scores(*graph, images), test_set->labels());
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_GE(exact->correct, c.least_fp32);
  const auto quantised = Quantise(*graph, Int8Recipe(), *data);
  ASSERT_TRUE(quantised.ok()) << quantised.status();
  EXPECT_GT(CountQuantised(*quantised).weights, 1);
  const auto simulated = SimulateQuantisation(*quantised);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  const auto rounded = TopK(Scores(*simulated, images), test_set->labels());
  ASSERT_TRUE(rounded.ok()) << rounded.status();
  EXPECT_GE(rounded->correct, exact->correct - c.allowed_loss) << "of " << exact->correct;
}

INSTANTIATE_TEST_SUITE_P(
    Trained, Networks,
    testing::Values(NetworkCase{"resnet20", "resnet20_cifar10.onnx", "cifar10_train_calib.bin",
                                "cifar10_test_lossless.bin",
                                "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225", 64, 200,
                                180, 2, true},
                    NetworkCase{"mnist8", "mnist-8.onnx", "t264-images-idx3-ubyte",
                                "t264-images-idx3-ubyte", "none", 64, 200, 199, 2},
                    NetworkCase{"vit", "vit_mnist.onnx", "t264-images-idx3-ubyte",
                                "t264-images-idx3-ubyte", "scale=1/255,mean=0.1307,std=0.3081", 64,
                                200, 168, 3}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln
